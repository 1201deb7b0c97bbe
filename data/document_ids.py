"""Ids of documents: each text once, and flat, so that a long list of one query pads no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common.typing import Integers

_TEXT = np.dtypes.StringDType()
_BLOCK = 1 << 20  # cells of the padded array that are made at a time


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
        Where each query's begin in ``codes``.
    n_docs : int
        N.
    """

    def __init__(self, names: ArrayLike, codes: NDArray[Any], starts: Integers, n_docs: int) -> None:
        self.names = np.asarray(names, dtype=_TEXT)
        self.codes, self.starts = np.asarray(codes), np.asarray(starts)
        self.shape = (len(self.starts) - 1, int(n_docs))
        lengths = np.strings.str_len(self.names) if len(self.names) else np.ones(1, dtype=np.int64)
        self.dtype = np.dtype(f"U{max(int(lengths.max()), 1)}")
        for array in (self.names, self.codes, self.starts):
            array.flags.writeable = False

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

    def __setitem__(self, index: Any, value: Any) -> None:
        raise ValueError("ids of documents are read-only")

    def __len__(self) -> int:
        """Return the number of queries Q."""
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """Return one text, or an array of them."""
        if not isinstance(index, tuple):
            return self[index, slice(None)]
        query, document = index
        if isinstance(query, slice):
            query = np.arange(self.shape[0])[query][:, None]
        elif not np.isscalar(query) and isinstance(document, slice):
            query = np.asarray(query)[..., None]
        if isinstance(document, slice):
            document = np.arange(self.shape[1])[document]
        queries, documents = np.broadcast_arrays(
            *(np.asarray(given) for given in (query, document))
        )
        for given, size, what in (
            (queries, self.shape[0], "query"),
            (documents, self.shape[1], "document"),
        ):
            if given.size and (given.min() < -size or given.max() >= size):
                raise IndexError(f"{what} index out of bounds for {size}")
        queries, documents = queries % self.shape[0], documents % self.shape[1]
        begin, end = self.starts[queries], self.starts[queries + 1]
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
        rows = max(_BLOCK // max(self.shape[1], 1), 1)
        for start in range(0, self.shape[0], rows):
            yield self[np.arange(start, min(start + rows, self.shape[0]))]


def _starts(lengths: Integers) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
