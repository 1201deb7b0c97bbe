"""Ids of documents: each text once, and flat, so that a long list of one query pads no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common.typing import Integers

_TEXT = np.dtypes.StringDType()
_BLOCK = 1 << 25  # bytes of the padded array that are made at a time


class DocumentIds:
    """The ids of a world's documents, seen as an array of texts, (Q, N).

    ``ids[query, document]`` is a text (arrays of indices give arrays), ``ids[query]`` a row,
    ``numpy.asarray(ids)`` the whole padded array. Kept are the distinct texts and, for each query,
    their numbers up to its last id that is not empty: O(ids + characters), not O(Q N).

    Parameters
    ----------
    names : (D,) texts
        Distinct.
    codes : (P,) integers
        Indices into ``names``, query after query.
    starts : (Q + 1,) integers
        Where each query's begin in ``codes``. Of two, all queries have the same documents, which
        are then kept once.
    n_docs : int
        N.
    n_queries : int, optional
        Q, where it does not follow from ``starts``.
    """

    names: NDArray[Any]
    codes: Integers
    starts: Integers
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __init__(
        self,
        names: ArrayLike,
        codes: ArrayLike,
        starts: ArrayLike,
        n_docs: int,
        n_queries: int | None = None,
    ) -> None:
        texts = np.asarray(names, dtype=_TEXT)
        parts = {"names": texts, "codes": np.asarray(codes), "starts": np.asarray(starts)}
        for name, array in parts.items():
            view = array.view()  # the caller's array stays writable
            view.flags.writeable = False
            self.__dict__[name] = view
        steps = np.diff(self.starts)
        bounds = [*self.starts[:1], *self.starts[-1:]]
        if bounds != [0, len(self.codes)] or (steps < 0).any() or (steps > n_docs).any():
            raise ValueError("starts must rise from 0 to the number of codes, by at most n_docs")
        if len(self.codes) and not 0 <= self.codes.min() <= self.codes.max() < len(texts):
            raise ValueError("codes must be indices of names")
        n_rows = len(self.starts) - 1
        if n_queries not in (None, n_rows) and n_rows != 1:
            raise ValueError(f"starts has {n_rows} queries, not {n_queries}")
        self.__dict__["shape"] = (n_rows if n_queries is None else int(n_queries), int(n_docs))
        longest = int(np.strings.str_len(texts).max(initial=1))
        self.__dict__["dtype"] = np.dtype(f"U{longest}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"ids of documents are read-only: {name} cannot be set")

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by the arguments, so that the arrays stay read-only."""
        return DocumentIds, (self.names, self.codes, self.starts, self.shape[1], self.shape[0])

    @property
    def repeats(self) -> bool:
        """Whether all queries have the same documents, kept once."""
        return len(self.starts) == 2

    @classmethod
    def from_array(cls, texts: NDArray[np.str_]) -> DocumentIds:
        """Return the ids of a padded array, (Q, N)."""
        filled = texts != ""
        lengths = np.where(
            filled.any(axis=1), texts.shape[1] - np.argmax(filled[:, ::-1], axis=1), 0
        )
        kept = np.arange(texts.shape[1]) < lengths[:, None]
        names, codes = np.unique(texts[kept], return_inverse=True)
        return cls(names, codes.astype(np.int32), _starts(lengths), texts.shape[1])

    @classmethod
    def from_pairs(
        cls,
        names: ArrayLike,
        query: Integers,
        place: Integers,
        name: Integers,
        shape: tuple[int, int],
    ) -> DocumentIds:
        """Return the ids of P pairs: ``names[name[i]]`` is document ``place[i]`` of ``query[i]``.

        The places of each query are 0, 1, … without a gap.
        """
        lengths = np.bincount(query, minlength=shape[0])
        starts = _starts(lengths)
        codes = np.empty(len(query), dtype=np.int32)
        codes[starts[query] + place] = name
        return cls(names, codes, starts, shape[1])

    @classmethod
    def repeated(cls, names: ArrayLike, n_queries: int) -> DocumentIds:
        """Return the ids of a world in which document i of every query is ``names[i]``."""
        texts = np.asarray(names, dtype=_TEXT)
        return cls(texts, np.arange(len(texts), dtype=np.int32), [0, len(texts)], len(texts),
                   n_queries)  # fmt: skip

    def numbers(self) -> Integers:
        """Return the index in ``names`` of each document, (Q, N), -1 beyond a query's last.

        One row, (1, N), stands for all queries where they have the same documents.
        """
        lengths = np.diff(self.starts)
        result = np.full((len(lengths), self.shape[1]), -1)
        result[np.arange(self.shape[1]) < lengths[:, None]] = self.codes
        return result

    def __setitem__(self, index: Any, value: Any) -> None:
        raise ValueError("ids of documents are read-only")

    def __len__(self) -> int:
        """Return the number of queries Q."""
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """Return one text, or an array of them."""
        query, document = _as_pair(index)
        outer = isinstance(document, slice)
        documents = np.arange(self.shape[1])[document] if outer else np.asarray(document)
        if isinstance(query, slice):
            queries = np.arange(self.shape[0])[query]
            queries = queries.reshape(-1, *[1] * documents.ndim)
        else:
            queries = np.asarray(query)[..., None] if outer else np.asarray(query)
        queries, documents = np.broadcast_arrays(queries, documents)
        for given, size, what in (
            (queries, self.shape[0], "query"),
            (documents, self.shape[1], "document"),
        ):
            if given.size and (given.min() < -size or given.max() >= size):
                raise IndexError(f"{what} index out of bounds for {size}")
        queries, documents = queries % self.shape[0], documents % self.shape[1]
        rows = np.zeros_like(queries) if self.repeats else queries
        begin, end = self.starts[rows], self.starts[rows + 1]
        there = documents < end - begin
        result = np.zeros(queries.shape, dtype=self.dtype)
        result[there] = self.names[self.codes[(begin + documents)[there]]].astype(self.dtype)
        return str(result) if result.ndim == 0 else result

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the padded array, (Q, N)."""
        blocks = list(self.blocks())
        whole = np.concatenate(blocks) if blocks else np.zeros(self.shape, dtype=self.dtype)
        return whole if dtype is None else whole.astype(dtype)

    def __eq__(self, other: object) -> Any:
        return np.asarray(self) == (np.asarray(other) if isinstance(other, DocumentIds) else other)

    __hash__ = None  # type: ignore[assignment]

    def tolist(self) -> list[list[str]]:
        """Return lists of texts, one per query."""
        rows: list[list[str]] = np.asarray(self).tolist()
        return rows

    def blocks(self) -> Iterator[NDArray[np.str_]]:
        """Yield the padded array in pieces of some rows."""
        rows = max(_BLOCK // max(self.shape[1] * self.dtype.itemsize, 1), 1)
        first = np.tile(self[:1], (min(rows, self.shape[0]), 1)) if self.repeats else None
        for start in range(0, self.shape[0], rows):
            end = min(start + rows, self.shape[0])
            yield self[np.arange(start, end)] if first is None else first[: end - start]


def _as_pair(index: Any) -> tuple[Any, Any]:
    """Return an index as one of queries and one of documents; masks become indices."""
    if isinstance(index, tuple):
        if len(index) != 2:
            raise IndexError(f"ids have two dimensions, query and document, not {len(index)}")
        query, document = map(_without_mask, index)
        return query, document
    if not isinstance(index, slice):
        mask = np.asarray(index)
        if mask.dtype == bool and mask.ndim == 2:
            query, document = np.nonzero(mask)
            return query, document
    return _without_mask(index), slice(None)


def _without_mask(index: Any) -> Any:
    if isinstance(index, slice) or (array := np.asarray(index)).dtype != bool:
        return index
    if array.ndim != 1:
        raise IndexError(f"a mask of {array.ndim} dimensions for one dimension")
    return np.flatnonzero(array)


def _starts(lengths: Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
