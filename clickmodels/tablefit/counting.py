"""Clicks and impressions of a log, counted: what the counting models are made of."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from ...common import checks
from ...common.typing import Booleans, Floats, Integers
from ...data import ClickLog, World
from ..pages import row_weights


class Counts(NamedTuple):
    """Weighted numbers of clicks and of impressions, laid out alike."""

    clicks: Floats
    impressions: Floats


class PairRankCounts(NamedTuple):
    """Counts by rank, of the P query-document pairs that were shown."""

    pairs: Integers  # (P,), query * N + document, rising
    clicks: Floats  # (P, K)
    impressions: Floats  # (P, K)


def check_log(log: ClickLog, world: World) -> None:
    """Raise unless ``log`` belongs to ``world`` and has an impression that counts."""
    log.check_world(world)
    shown = log.ranking[:, 0] >= 0  # empty slots only trail
    if not (shown.any() if log.weight is None else (shown & (log.weight > 0)).any()):
        raise ValueError("the log has no impressions to fit to")


def sums(place: Integers, weight: NDArray[Any] | None, size: int) -> Floats:
    """Return the sum of the weights at each place, (size,)."""
    return np.bincount(place, weight, size).astype(np.float64, copy=False)


class CountMatrix:
    """The chosen slots of a log (n, K), each with the place in which it counts.

    Parameters
    ----------
    mask : (n, K) bool
    place : (n, K) integers
    size : int
        Number of places.
    """

    def __init__(self, mask: Booleans, place: NDArray[Any], size: int) -> None:
        places = place[mask]
        bounds = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        shape = (size, len(mask))
        # One column per row of the log, so that nothing has to be sorted.
        self._matrix = csc_array((np.ones(len(places)), places, bounds), shape=shape)

    def counts(self, weights: Floats) -> Floats:
        """Return the weighted counts (M, size) for M weightings of the rows (n, M): one pass."""
        return np.ascontiguousarray((self._matrix @ weights).T)


def count_by_rank(log: ClickLog) -> Counts:
    """Return counts by rank, (K,); empty slots do not count. One pass over the log."""
    weight = row_weights(log)
    return Counts(weight @ log.clicks, weight @ (log.ranking >= 0))


def count_by_pair(log: ClickLog, world: World, rank_weight: ArrayLike | None = None) -> Counts:
    """Return counts by query and document, (Q, N); empty slots do not count.

    Parameters
    ----------
    log : ClickLog
    world : World
    rank_weight : (K,), optional
        What an impression, and a click, at each rank counts. Default 1.

    Notes
    -----
    Takes one ``bincount`` a rank: time grows with n K + Q N K, memory with n + Q N.
    """
    scale = np.ones(log.slots)
    if rank_weight is not None:
        scale = checks.finite(rank_weight, "rank_weight", 1)
        checks.same_shape(scale, (log.slots,), "rank_weight", "the log")
    n_pairs = world.n_queries * world.n_docs
    clicks, impressions = np.zeros(n_pairs), np.zeros(n_pairs)
    for rank in range(log.slots):
        pair, weight, clicked = _column(log, world, rank)
        # Counted first and scaled afterwards: equal counts stay equal in any order of the rows.
        clicks += scale[rank] * np.bincount(pair, weight * clicked, minlength=n_pairs)
        impressions += scale[rank] * np.bincount(pair, weight, minlength=n_pairs)
    shape = (world.n_queries, world.n_docs)
    return Counts(clicks.reshape(shape), impressions.reshape(shape))


def count_by_pair_and_rank(log: ClickLog, world: World) -> PairRankCounts:
    """Return counts by query, document and rank, for the pairs that were shown.

    Time grows with n K + Q N, memory with n + Q N + P K: only shown pairs have rows.
    """
    shown = np.zeros(world.n_queries * world.n_docs, dtype=bool)
    for rank in range(log.slots):
        pair, weight, _ = _column(log, world, rank)
        shown[pair[weight > 0]] = True
    pairs = np.flatnonzero(shown)
    row = np.cumsum(shown) - 1
    clicks, impressions = np.zeros((len(pairs), log.slots)), np.zeros((len(pairs), log.slots))
    for rank in range(log.slots):
        pair, weight, clicked = _column(log, world, rank)
        kept = weight > 0
        place, weight = row[pair[kept]], weight[kept]
        clicks[:, rank] = np.bincount(place, weight * clicked[kept], minlength=len(pairs))
        impressions[:, rank] = np.bincount(place, weight, minlength=len(pairs))
    return PairRankCounts(pairs, clicks, impressions)


def _column(log: ClickLog, world: World, rank: int) -> tuple[Integers, Floats, Booleans]:
    """Return pair, weight and click of each document shown at ``rank`` (0-based)."""
    document = log.ranking[:, rank]
    shown = np.flatnonzero(document >= 0)
    pair = log.query[shown].astype(np.int64) * world.n_docs + document[shown]
    weight = np.ones(len(shown)) if log.weight is None else log.weight[shown]
    return pair, weight, log.clicks[shown, rank]


def rate(clicks: ArrayLike, impressions: ArrayLike, otherwise: float = 0.0) -> Floats:
    """Return clicks / impressions; ``otherwise`` where there was no impression."""
    clicks, impressions = np.asarray(clicks, np.float64), np.asarray(impressions, np.float64)
    result = np.full(impressions.shape, otherwise)
    np.divide(clicks, impressions, out=result, where=impressions > 0)
    return np.minimum(result, 1.0)


def rank_rate(counts: Counts) -> Floats:
    """Return the click-through rate of each rank, (K,), given counts by rank.

    A rank that was never shown gets the rate over all ranks.
    """
    overall = float(rate(counts.clicks.sum(), counts.impressions.sum()))
    return rate(counts.clicks, counts.impressions, overall)


def smoothed_rate(
    clicks: ArrayLike, impressions: ArrayLike, prior: ArrayLike, smoothing: float
) -> Floats:
    """Return ``(clicks + smoothing) / (impressions + smoothing / prior)``; all broadcast.

    Without impressions it is exactly ``prior``, and with a prior of 0 it is 0.
    """
    clicks, impressions = np.asarray(clicks, np.float64), np.asarray(impressions, np.float64)
    prior = np.asarray(prior, np.float64)
    # The same fraction times prior, so that a prior of 0 divides nothing by 0.
    above, below = prior * (clicks + smoothing), prior * impressions + smoothing
    result = np.broadcast_to(prior, below.shape).copy()
    np.divide(above, below, out=result, where=(impressions > 0) & (below > 0))
    return np.minimum(result, 1.0)


def check_counts(clicks: ArrayLike, impressions: ArrayLike) -> Counts:
    """Return counts of two dimensions as read-only copies, after checking them."""
    counts = Counts(
        checks.finite(clicks, "clicks", 2).copy(),
        checks.finite(impressions, "impressions", 2).copy(),
    )
    checks.same_shape(counts.clicks, counts.impressions.shape, "clicks", "impressions")
    if counts.clicks.size == 0:
        raise ValueError(f"clicks is empty, shape {counts.clicks.shape}")
    if (counts.clicks < 0).any():
        raise ValueError("clicks must be at least 0")
    if (counts.clicks > counts.impressions).any():
        raise ValueError("clicks must be at most impressions")
    for array in counts:
        array.flags.writeable = False
    return counts


def check_smoothing(smoothing: float) -> float:
    """Return ``smoothing`` as a float that is at least 0."""
    value = float(checks.finite(smoothing, "smoothing", 0))
    if value < 0:
        raise ValueError(f"smoothing must be at least 0, not {value}")
    return value
