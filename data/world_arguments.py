"""What a world is made of, checked before it is made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common import checks
from ..common.typing import Booleans, Floats
from .document_ids import DocumentIds


def check_probs(query_probs: ArrayLike | None, candidates: Booleans) -> Floats:
    """Return the frequencies of queries (Q,), equal ones by default; they sum to one."""
    empty = ~candidates.any(axis=1)
    n_queries = len(candidates)
    if query_probs is None:
        probs = np.full(n_queries, 1.0 / n_queries)
    else:
        probs = checks.probabilities(query_probs, "query_probs", 1).copy()
        checks.same_shape(probs, (n_queries,), "query_probs", "relevance")
        if abs(probs.sum() - 1.0) > 1e-6:
            raise ValueError(f"query_probs must sum to 1, not {probs.sum():.8g}")
        probs /= probs.sum()
    asked = empty & (probs > 0)
    if asked.any():
        query = int(np.flatnonzero(asked)[0])
        raise ValueError(f"query {query} has no candidates (candidates[{query}] is all False)")
    return probs


def check_types(given: ArrayLike, n_queries: int) -> NDArray[np.int32]:
    """Return the type of each query's block, (Q,), -1 for none."""
    types = checks.integers(given, "vertical", 1)
    checks.same_shape(types, (n_queries,), "vertical", "relevance")
    outside = (types < -1) | (types > np.iinfo(np.int32).max)
    if outside.any():
        query = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"vertical[{query}] is {types[query]}, but must be a type from 0 on, or -1 for none"
        )
    return types.astype(np.int32)


def check_features(given: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return features (Q, N, F), which the caller cannot change later."""
    array = checks.finite(given, "features", 3, np.float32)
    checks.same_shape(array, (*shape, array.shape[2]), "features", "relevance")
    if array.shape[2] == 0:
        raise ValueError(f"features has shape {array.shape}: there must be a feature, or None")
    # A read-only array is shared; one that the caller can still change is not. A tensor or an
    # array of a subclass comes as a view of its memory.
    shared = array is given or array.base is not None
    return array.copy() if shared and array.flags.writeable else array


def check_doc_ids(value: Any, shape: tuple[int, ...]) -> DocumentIds | None:
    """Return the ids of documents (Q, N) in their compact form; None stays None."""
    if isinstance(value, DocumentIds):
        if value.shape != shape:
            raise ValueError(f"doc_ids has shape {value.shape}, but relevance needs {shape}")
        return value
    array = check_ids(value, "doc_ids", shape)
    return None if array is None else DocumentIds.from_array(array)


def check_ids(value: Any, name: str, shape: tuple[int, ...]) -> NDArray[np.str_] | None:
    """Return ids as texts of the shape that relevance gives them; None stays None."""
    if value is None:
        return None
    try:
        array = np.asarray(value).astype(np.str_)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} is not an array: {error}") from error
    checks.same_shape(array, shape, name, "relevance")
    longest = max(int(np.strings.str_len(array).max()), 1)
    return array.astype(f"U{longest}")  # equal ids have equal bytes, however they were kept before
