"""Folding a log into counts by (query-document pair, examination cell).

Under the examination hypothesis P(click) = attractiveness of the pair × examination of the cell,
where the cell is what the model's examination depends on: the rank (PBM), rank and latest click
(UBM), the whole click prefix (ARM, CACM⊖). Clicks and impressions by pair and cell are then all
that the likelihood needs, so fitting costs what is distinct in a log, not its length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import ClickLog, World

Cells = Callable[[NDArray[np.bool_]], NDArray[np.int64]]
_DENSE = 1 << 25  # count by bincount up to this many places, by sorting beyond


@dataclass(frozen=True)
class PairCells:
    """Counts of a log, one row for each pair and cell that occurs; all arrays are (m,).

    ``pair`` and ``cell`` index ``pairs`` (sorted ``query * N + document``) and ``cells`` (sorted).
    """

    pair: NDArray[np.int64]
    cell: NDArray[np.int64]
    clicks: NDArray[np.float64]
    skips: NDArray[np.float64]
    pairs: NDArray[np.int64]
    cells: NDArray[np.int64]


def fold(log: ClickLog, world: World, cells: Cells, n_cells: int) -> PairCells:
    """Count clicks and skips by pair and cell.

    ``cells`` gives the cell of every slot, (n, K), from the clicks (n, K).
    """
    shown = log.ranking >= 0
    pair = (log.query[:, None].astype(np.int64) * world.n_docs + log.ranking)[shown]
    key = pair * n_cells + cells(log.clicks)[shown]
    clicked = log.clicks[shown]
    weight: NDArray[Any] | None = None
    if log.weight is not None:
        weight = np.broadcast_to(log.weight[:, None], shown.shape)[shown]
        positive = weight > 0
        key, clicked, weight = key[positive], clicked[positive], weight[positive]
    distinct, place = _distinct(key, world.n_queries * world.n_docs * n_cells)
    total = sums(place, weight, len(distinct))
    clicks = sums(place, clicked if weight is None else clicked * weight, len(distinct))
    pairs, pair_index = np.unique(distinct // n_cells, return_inverse=True)
    used, cell_index = np.unique(distinct % n_cells, return_inverse=True)
    return PairCells(pair_index, cell_index, clicks, total - clicks, pairs, used)


def sums(
    place: NDArray[np.int64], weight: NDArray[Any] | None, size: int
) -> NDArray[np.float64]:
    """Return the sum of the weights at each place, (size,)."""
    return np.bincount(place, weight, size).astype(np.float64, copy=False)


def _distinct(
    key: NDArray[np.int64], places: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys in order and each key's place among them."""
    if places > _DENSE:
        distinct, place = np.unique(key, return_inverse=True)
        return distinct, place
    present = np.bincount(key, minlength=places) > 0
    distinct = np.flatnonzero(present)
    number = np.cumsum(present) - 1
    return distinct, number[key]


def rank_cells(clicks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the 0-based slot, (n, K)."""
    return np.broadcast_to(np.arange(clicks.shape[1]), clicks.shape)


def latest_cells(clicks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return ``slot * K + rank of the latest click above`` (0 = none), (n, K)."""
    slots = clicks.shape[1]
    ranks = np.where(clicks, np.arange(1, slots + 1), 0)
    latest = np.zeros(clicks.shape, dtype=np.int64)
    latest[:, 1:] = np.maximum.accumulate(ranks, axis=1)[:, :-1]
    return np.arange(slots) * slots + latest


def prefix_cells(clicks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of the click prefix above each slot, (n, K): see ``prefix_clicks``."""
    code = np.zeros(len(clicks), dtype=np.int64)
    cells = np.empty(clicks.shape, dtype=np.int64)
    for slot in range(clicks.shape[1]):
        cells[:, slot] = (1 << slot) - 1 + code
        code = 2 * code + clicks[:, slot]
    return cells


def prefix_clicks(slots: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return all prefixes shorter than ``slots``: clicks (2^slots - 1, slots - 1), lengths.

    A prefix of length ``r`` has number ``2^r - 1 + code``, ``code`` being its clicks as a binary
    number, the first click highest; its clicks beyond ``r`` are False.
    """
    length = np.repeat(np.arange(slots), 1 << np.arange(slots))
    code = np.arange((1 << slots) - 1) - ((1 << length) - 1)
    place = np.arange(slots - 1)
    shift = length[:, None] - 1 - place
    clicks = (shift >= 0) & ((code[:, None] >> np.maximum(shift, 0)) & 1 == 1)
    return clicks, length
