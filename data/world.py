"""A world: queries, their candidate documents, relevance grades, features and frequencies."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common import checks
from ..common.storage import load_arrays, save_arrays
from ..common.typing import Booleans, Floats, Integers
from .document_ids import DocumentIds
from .world_arguments import check_doc_ids, check_features, check_ids, check_probs, check_types

if TYPE_CHECKING:
    from .log import ClickLog

FEATURE_CLIP = 10.0
# The constructor's arguments, which are all that a world holds: copies and pickles go by these.
ARGUMENTS = (
    "relevance", "features", "query_probs", "candidates", "query_ids", "doc_ids", "max_grade",
    "name", "vertical",
)  # fmt: skip
VERTICALS = ("news", "images", "video", "location")  # the types of blocks with a name, from 0 on
# In the fingerprint, where they are given.
INDEXED = ("relevance", "candidates", "features", "query_ids", "doc_ids", "vertical")


class World:
    """Queries with graded candidate documents. Frozen, validated, shared and never deep-copied.

    Parameters
    ----------
    relevance : (Q, N) integers
        Grades ``0 .. max_grade``; -1 = unjudged, or no such candidate.
    features : (Q, N, F) floats, optional
        Kept as float32; a read-only float32 array is shared instead of copied.
    query_probs : (Q,), optional
        How often each query is asked; sums to one. Uniform by default.
    candidates : (Q, N) bool, optional
        Which documents may be shown. Default ``relevance >= 0``.
    query_ids : (Q,), optional
        The queries' names outside; kept as strings.
    doc_ids : (Q, N), optional
        The documents' names outside; kept flat (see ``DocumentIds``), ``doc_ids[q, d]`` is a
        text.
    max_grade : int
        The highest grade there can be.
    name : str
        For people; not part of the fingerprint.
    vertical : (Q,) integers, optional
        The type of each query's vertical block, from 0 on (0 news, 1 images, 2 video, 3 location;
        others are free); -1 = none. Kept as int32.

    Notes
    -----
    Arrays are made read-only. The fingerprint covers what the indices mean (grades, features, ids,
    candidates and, where given, verticals), not how often a query is asked. ``restricted_to``
    keeps it: a restricted world has the same indices, so what was fitted to one fits the other.
    """

    relevance: NDArray[np.int8]
    features: NDArray[np.float32] | None
    query_probs: Floats
    candidates: Booleans
    query_ids: NDArray[np.str_] | None
    doc_ids: DocumentIds | None
    max_grade: int
    name: str
    vertical: NDArray[np.int32] | None

    def __init__(
        self,
        relevance: ArrayLike,
        features: ArrayLike | None = None,
        query_probs: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
        query_ids: Sequence[Any] | NDArray[Any] | None = None,
        doc_ids: Sequence[Sequence[Any]] | NDArray[Any] | DocumentIds | None = None,
        max_grade: int = 4,
        name: str = "",
        vertical: ArrayLike | None = None,
    ) -> None:
        max_grade = checks.positive_integer(max_grade, "max_grade")
        if max_grade > 30:
            raise ValueError(f"max_grade must be at most 30, not {max_grade}")
        grades = checks.integers(relevance, "relevance", 2)
        if 0 in grades.shape:
            raise ValueError(f"relevance has shape {grades.shape}: there must be a query and a doc")
        outside = (grades < -1) | (grades > max_grade)
        if outside.any():
            query, doc = np.argwhere(outside)[0]
            raise ValueError(
                f"relevance[{query}, {doc}] is {grades[query, doc]}, outside -1..{max_grade}"
            )
        shape = grades.shape
        shown = grades >= 0 if candidates is None else checks.booleans(candidates, "candidates", 2)
        checks.same_shape(shown, shape, "candidates", "relevance")
        probs = check_probs(query_probs, shown)
        self._set("relevance", grades.astype(np.int8))  # copies: the caller's stay writable
        self._set("candidates", shown.copy())
        self._set("query_probs", probs)
        self._set("features", None if features is None else check_features(features, shape))
        self._set("query_ids", check_ids(query_ids, "query_ids", shape[:1]))
        self._set("doc_ids", check_doc_ids(doc_ids, shape))
        self._set("max_grade", max_grade)
        self._set("name", str(name))
        self._set("vertical", None if vertical is None else check_types(vertical, shape[0]))

    def _set(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        self.__dict__[name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a World is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a World is frozen: {name} cannot be deleted")

    def __copy__(self) -> World:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be worked out again, so that workers get no more than they need."""
        kept = (*ARGUMENTS, "fingerprint")
        return {name: self.__dict__[name] for name in kept if name in self.__dict__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            self._set(name, value)

    def __repr__(self) -> str:
        features = "no" if self.features is None else self.features.shape[2]
        label = f"{self.name}: " if self.name else ""
        verticals = ""
        if self.vertical is not None:
            verticals = f"verticals of {int((self.vertical >= 0).sum())} queries, "
        return (
            f"World({label}{self.n_queries} queries, up to {self.n_docs} candidates, "
            f"{features} features, {verticals}fingerprint {self.fingerprint[:8]})"
        )

    @property
    def n_queries(self) -> int:
        """Number of queries Q."""
        return self.relevance.shape[0]

    @property
    def n_docs(self) -> int:
        """Number of candidate places N of each query (padded)."""
        return self.relevance.shape[1]

    @cached_property
    def n_candidates(self) -> Integers:
        """Number of candidates of each query, (Q,)."""
        return self.candidates.sum(axis=1)

    @cached_property
    def gain(self) -> Floats:
        """``(2**rel - 1) / (2**max_grade - 1)`` as (Q, N); 0 where there is no grade."""
        grades = np.maximum(self.relevance, 0).astype(np.float64)
        gain = (2.0**grades - 1.0) / (2.0**self.max_grade - 1.0)
        gain.flags.writeable = False
        return gain

    @cached_property
    def standardised_features(self) -> NDArray[np.float32]:
        """Features with mean 0 and variance 1 over candidates, clipped to ±10, (Q, N, F).

        Constant features and places without a candidate are 0.
        """
        if self.features is None:
            raise ValueError("this world has no features; use observation='ids'")
        rows = self.features[self.candidates].astype(np.float64)
        spread = rows.std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        result = np.zeros(self.features.shape, dtype=np.float32)
        scaled = np.clip((rows - rows.mean(axis=0)) / scale, -FEATURE_CLIP, FEATURE_CLIP)
        result[self.candidates] = scaled
        result.flags.writeable = False
        return result

    @cached_property
    def fingerprint(self) -> str:
        """What the indices of this world mean, as 64 hexadecimal digits."""
        digest = hashlib.sha256(f"clickgym world 1 {self.max_grade}".encode())
        for name in INDEXED:
            array = self.__dict__[name]
            if array is not None:
                digest.update(f"{name} {array.shape} {array.dtype.str}".encode())
                for part in array.blocks() if isinstance(array, DocumentIds) else (array,):
                    digest.update(np.ascontiguousarray(part).data.cast("B"))
        return digest.hexdigest()

    @property
    def has_grades(self) -> bool:
        """Whether any document has a grade."""
        return bool((self.relevance >= 0).any())

    @cached_property
    def has_ratings(self) -> bool:
        """Whether the grades are ratings: 1 to 5 with ``max_grade=5``, and nothing has a 0.

        A document without a rating has -1. Worlds of ``Ratings.world`` are like this.
        """
        return self.max_grade == 5 and self.has_grades and not (self.relevance == 0).any()

    def require_grades(self, what: str) -> None:
        """Raise unless this world has grades; ``what`` begins the sentence: "nDCG needs".

        Grades of some queries or documents are enough: the others count as grade 0.
        """
        if not self.has_grades:
            raise ValueError(
                f"{what} grades, and this world has none (as one that was read from a log without "
                "judgements)"
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the world as one safetensors file, atomically: data, so loading runs no code."""
        arrays: dict[str, NDArray[Any]] = {
            name: self.__dict__[name]
            for name in ("relevance", "features", "query_probs", "candidates", "vertical")
            if self.__dict__[name] is not None
        }
        if self.query_ids is not None:
            arrays |= _encode_texts("query_ids", self.query_ids)
        if self.doc_ids is not None:
            arrays |= _encode_texts("doc_ids", self.doc_ids.names)
            arrays |= {"doc_codes": self.doc_ids.codes, "doc_starts": self.doc_ids.starts}
        header = {
            "max_grade": self.max_grade, "name": self.name, "fingerprint": self.fingerprint,
        }  # fmt: skip
        save_arrays(path, "world", header, arrays)

    @staticmethod
    def is_saved(path: str | os.PathLike[str]) -> bool:
        """Return whether a file looks like one written by ``save``, and not like a text."""
        with Path(path).open("rb") as file:
            start = file.read(9)
        return start[8:] == b"{"  # safetensors: eight bytes of length, then a header in JSON

    @staticmethod
    def load(path: str | os.PathLike[str]) -> World:
        """Read a world written by ``save``; anything else is an error that names the file."""
        header, arrays = load_arrays(path, "world")
        try:
            probs = arrays["query_probs"]
            query_ids = _decode_texts("query_ids", arrays)
            names = _decode_texts("doc_ids", arrays)
            doc_ids = None
            if names is not None:
                codes, starts = arrays.pop("doc_codes"), arrays.pop("doc_starts")
                n_queries, n_docs = arrays["relevance"].shape
                doc_ids = DocumentIds(names, codes, starts, n_docs, n_queries)
            world = World(
                **arrays,
                query_ids=query_ids,
                doc_ids=doc_ids,
                max_grade=header["max_grade"],
                name=header["name"],
            )
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: does not make a world: {error}") from error
        world._set("query_probs", probs)  # to the last bit, not scaled once more
        return world.with_fingerprint(header["fingerprint"])

    def check_fingerprint(self, fingerprint: str | None, what: str) -> None:
        """Raise if ``fingerprint`` (of a model, log or policy) is another world's."""
        if fingerprint is not None and fingerprint != self.fingerprint:
            raise ValueError(
                f"{what} belongs to another world: its fingerprint is {fingerprint[:12]}…, "
                f"this world's is {self.fingerprint[:12]}…"
            )

    def restricted_to(self, log: ClickLog, at_least: float | None = None) -> World:
        """Return this world with only the documents that ``log`` showed as candidates.

        Indices and fingerprint stay the same; ``query_probs`` become the log's frequencies.

        Parameters
        ----------
        log : ClickLog
        at_least : float, optional
            On how many impressions (by weight) a document must have been shown; without it, once.
            A query that has no such document is not asked any more.
        """
        log.check_world(self)
        weight = np.ones(len(log)) if log.weight is None else log.weight
        counts = np.bincount(log.query, weights=weight, minlength=self.n_queries)
        rows, slots = np.nonzero((log.ranking >= 0) & (weight > 0)[:, None])
        place = log.query[rows].astype(np.int64) * self.n_docs + log.ranking[rows, slots]
        times = np.bincount(place, weight[rows], self.n_queries * self.n_docs)
        shown = (times > 0).reshape(self.n_queries, self.n_docs) & self.candidates
        if not counts.sum() > 0:
            raise ValueError("log has no impressions to restrict the world to")
        if at_least is not None:
            least = float(checks.finite(at_least, "at_least", 0))
            if least < 0:
                raise ValueError(f"at_least must be at least 0, not {least}")
            shown &= times.reshape(shown.shape) >= least
            counts = np.where(shown.any(axis=1), counts, 0.0)
            if not counts.any():
                raise ValueError(f"log shows no document {least:g} times")
        return self.with_candidates(shown, counts / counts.sum())

    def with_candidates(self, candidates: ArrayLike, query_probs: ArrayLike) -> World:
        """Return this world with other candidates and query frequencies; the fingerprint stays.

        ``candidates`` is (Q, N), ``query_probs`` (Q,), 0 where a query has none left.
        """
        same = {name: self.__dict__[name] for name in ARGUMENTS}
        result = World(**{**same, "candidates": candidates, "query_probs": query_probs})
        return result.with_fingerprint(self.fingerprint)

    def with_vertical(self, vertical: ArrayLike | None) -> World:
        """Return this world with a type of vertical block for each query, (Q,), -1 = none.

        It is another world, with a fingerprint of its own: logs and models of this one do not fit.
        """
        return World(**{**{name: self.__dict__[name] for name in ARGUMENTS}, "vertical": vertical})

    def with_queries(self, queries: ArrayLike) -> World:
        """Return the world whose query i is ``queries[i]`` (Q,) of this one, as a bootstrap has it.

        Frequencies belong to places, not to queries, and stay. It is another world; names of
        queries and documents are left out, because a query may be there twice.
        """
        chosen = checks.integers(queries, "queries", 1)
        checks.same_shape(chosen, (self.n_queries,), "queries", "relevance")
        if ((chosen < 0) | (chosen >= self.n_queries)).any():
            raise ValueError(f"queries must be from 0 to {self.n_queries - 1}")
        rows: dict[str, Any] = {
            name: None if value is None else value[chosen]
            for name in ("relevance", "features", "candidates", "vertical")
            for value in [self.__dict__[name]]
        }
        if rows["features"] is not None:
            rows["features"].flags.writeable = False  # shared instead of copied
        return World(
            **rows, query_probs=self.query_probs, max_grade=self.max_grade, name=self.name
        )

    def with_fingerprint(self, fingerprint: str) -> World:
        """Return this world under a fingerprint that does not come from its arrays."""
        result = World.__new__(World)
        result.__dict__.update(self.__dict__)
        result.__dict__["fingerprint"] = fingerprint
        return result


def _encode_texts(name: str, texts: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return texts as bytes and the places where each ends, which files can hold."""
    encoded = [text.encode() for text in texts.tolist()]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {
        f"{name}_bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{name}_ends": ends,
    }


def _decode_texts(name: str, arrays: dict[str, NDArray[Any]]) -> list[str] | None:
    if f"{name}_ends" not in arrays:
        return None
    joined, ends = arrays.pop(f"{name}_bytes").tobytes(), arrays.pop(f"{name}_ends").tolist()
    starts = [0, *ends[:-1]]
    if (ends or [0])[-1] != len(joined) or any(map(int.__gt__, starts, ends)):
        raise ValueError(f"{name}_ends do not fit {name}_bytes")
    return [joined[start:end].decode() for start, end in zip(starts, ends, strict=True)]
