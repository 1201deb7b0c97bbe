"""Checks of arguments: each raises an error that names the argument and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .typing import Booleans, Floats

_CHUNK = 8192  # rows that are compared at once, so that they stay in cache


def integers(value: ArrayLike, name: str, ndim: int) -> NDArray[Any]:
    """Return ``value`` as an integer array with ``ndim`` dimensions, without copying one."""
    array = _array(value, name)
    if array.dtype.kind not in "iu" and array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integers, not {array.dtype}")
    return _with_ndim(array, name, ndim)


def booleans(value: ArrayLike, name: str, ndim: int) -> Booleans:
    """Return ``value`` as a boolean array; integers are taken when all of them are 0 or 1."""
    array = _array(value, name)
    if array.dtype != np.bool_:
        if array.size and not np.isin(array, (0, 1)).all():
            raise ValueError(f"{name} must be boolean (or 0 and 1)")
        array = array.astype(np.bool_)
    return _with_ndim(array, name, ndim)


def finite(value: ArrayLike, name: str, ndim: int, dtype: Any = np.float64) -> NDArray[Any]:
    """Return ``value`` as a float array in which every number is finite."""
    array = _numbers(value, name, ndim, dtype)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has a value that is not finite{_where(~np.isfinite(array))}")
    return array


def scores(value: ArrayLike, name: str) -> Floats:
    """Return ``value`` as (Q, N) floats: finite, or -inf where there is no candidate."""
    array = _numbers(value, name, 2, np.float64)
    wrong = np.isnan(array) | (array == np.inf)
    if wrong.any():
        raise ValueError(f"{name} must be finite, or -inf for no candidate{_where(wrong)}")
    return array


def probabilities(value: ArrayLike, name: str, ndim: int) -> Floats:
    """Return ``value`` as a float array with every number in [0, 1]."""
    array = finite(value, name, ndim)
    outside = (array < 0) | (array > 1)
    if outside.any():
        raise ValueError(f"{name} must be within [0, 1]{_where(outside)}")
    return array


def same_shape(array: NDArray[Any], shape: Sequence[int], name: str, like: str) -> None:
    """Raise unless ``array`` has the shape that ``like`` asks for."""
    if array.shape != tuple(shape):
        raise ValueError(f"{name} has shape {array.shape}, but {like} needs {tuple(shape)}")


def positive_integer(value: Any, name: str, minimum: int = 1) -> int:
    """Return ``value`` as an int that is at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} must be an integer, not {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {value}")
    return int(value)


def choice(value: str, options: Sequence[str], name: str) -> str:
    """Return ``value`` if it is one of ``options``."""
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(options)}, not {value!r}")
    return value


def rankings(
    ranking: NDArray[Any], query: NDArray[Any], n_queries: int, n_docs: int, name: str = "ranking"
) -> None:
    """Raise unless queries and documents are known, and empty slots (-1) only trail.

    Costs one pass over ``ranking`` (n, K). Repeated documents are for ``find_repeats``.
    """
    if query.size and (query.min() < 0 or query.max() >= n_queries):
        row = int(np.flatnonzero((query < 0) | (query >= n_queries))[0])
        raise ValueError(f"query[{row}] is {query[row]}, but there are {n_queries} queries")
    if not ranking.size:
        return
    lowest, highest = ranking.min(), ranking.max()
    if lowest < -1 or highest >= n_docs:
        row, slot = np.argwhere((ranking < -1) | (ranking >= n_docs))[0]
        raise ValueError(
            f"{name}[{row}, {slot}] is {ranking[row, slot]}, but a query has {n_docs} candidates "
            "(-1 is an empty slot)"
        )
    if lowest == -1:
        gaps = (ranking[:, :-1] == -1) & (ranking[:, 1:] != -1)
        if gaps.any():
            row, slot = np.argwhere(gaps)[0]
            raise ValueError(f"{name}[{row}, {slot}] is empty but a later slot is not")


def find_repeats(ranking: NDArray[Any]) -> Booleans:
    """Return which rows of ``ranking`` (n, K) show a document twice, (n,). Costs O(n K²)."""
    found = np.zeros(len(ranking), dtype=bool)
    for start in range(0, len(ranking), _CHUNK):
        slots = np.ascontiguousarray(ranking[start : start + _CHUNK].T)
        for slot, documents in enumerate(slots):
            again = (slots[:slot] == documents).any(axis=0)
            found[start : start + _CHUNK] |= again & (documents >= 0)
    return found


def _array(value: ArrayLike, name: str) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} is not an array: {error}") from error


def _numbers(value: ArrayLike, name: str, ndim: int, dtype: Any) -> NDArray[Any]:
    array = _array(value, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, not {array.dtype}")
    with np.errstate(over="ignore"):  # a number that overflows becomes infinite
        return _with_ndim(array.astype(dtype, copy=False), name, ndim)


def _with_ndim(array: NDArray[Any], name: str, ndim: int) -> NDArray[Any]:
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), not shape {array.shape}")
    return array


def _where(mask: Booleans) -> str:
    index = np.argwhere(mask)[0]
    return f" (first at index {tuple(int(i) for i in index)})" if index.size else ""
