"""Ordering documents by scores or random keys, in batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .typing import Booleans, Floats, Integers

_INDEX_MASK = np.int64(0xFFFFFFFF)
_LAST = np.int64(0x7FFFFFFF) << np.int64(32)  # after every finite score
_PARTITION_FROM = 64  # a partial sort pays only for long lists


def order_by_scores(
    scores: NDArray[Any], slots: int, rng: np.random.Generator, candidates: Booleans | None = None
) -> Integers:
    """Return the best ``slots`` documents of each row, best first; ties in random order.

    Parameters
    ----------
    scores : (n, N) floats
        Finite; compared in float32.
    candidates : (n, N) bool, optional
        Which documents may be shown; a row with too few has trailing -1.

    Returns
    -------
    ranking : (n, min(slots, N)) int64

    Notes
    -----
    Score and index are packed into one int64, which sorts faster than an argsort. Random numbers
    are drawn only for rows that have a tie (two non-candidates near the cut count as one), so
    that the common case pays nothing for it.
    """
    keys = _score_keys(scores, candidates)
    ordered = _smallest(keys, slots)
    high = ordered >> 32
    tied = high[:, 1:] == high[:, :-1]
    if tied.any():
        rows = np.flatnonzero(tied.any(axis=1))
        index_bits = max(int(keys.shape[1] - 1).bit_length(), 1)
        noise = rng.integers(0, 1 << (32 - index_bits), size=(len(rows), keys.shape[1]))
        ordered[rows] = _smallest(keys[rows] | (noise << index_bits), slots)
        ordered[rows] &= ~(_INDEX_MASK & ~np.int64((1 << index_bits) - 1))
    ordered = ordered[:, :slots]
    ranking = ordered & _INDEX_MASK
    if candidates is not None:
        ranking[ordered >= _LAST] = -1
    return ranking


def order_by_keys(keys: Floats, slots: int) -> Integers:
    """Return the ``slots`` smallest of each row's positive ``keys`` (n, N), smallest first.

    The keys are random and continuous, so the index may take their lowest bits: it changes the
    order of two keys only if they agree to 40 bits. ``inf`` sorts last.
    """
    index_bits = np.int64((1 << max(int(keys.shape[1] - 1).bit_length(), 1)) - 1)
    packed = keys.view(np.int64) & ~index_bits
    packed |= np.arange(keys.shape[1])
    return _smallest(packed, slots)[:, :slots] & index_bits


def _score_keys(scores: NDArray[Any], candidates: Booleans | None) -> Integers:
    """Pack (n, N) scores and indices so that ascending keys are descending scores."""
    # Adding 0 turns -0.0 into 0.0; flipping the lower bits of negative floats orders the bits.
    bits = (scores.astype(np.float32) + np.float32(0)).view(np.int32)
    bits ^= (bits >> 31) & np.int32(0x7FFFFFFF)
    np.invert(bits, out=bits)
    keys = bits.astype(np.int64)
    keys <<= 32
    keys |= np.arange(scores.shape[1])
    if candidates is not None:
        keys = np.where(candidates, keys, _LAST | np.arange(scores.shape[1]))
    return keys


def _smallest(keys: Integers, slots: int) -> Integers:
    """Return the smallest ``slots + 1`` (or all) keys of each row in order; it may sort in place.

    One more than is shown, because the last shown may tie with the first that is not.
    """
    keep = slots + 1
    if keys.shape[1] > max(keep, _PARTITION_FROM):
        keys = np.partition(keys, keep, axis=1)[:, :keep]
        keys.sort(axis=1)
        return keys
    return np.sort(keys, axis=1)[:, :keep]
