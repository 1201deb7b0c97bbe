"""Examination cells: what the examination of a slot depends on, numbered.

The rank (PBM), rank and latest click (UBM), the whole click prefix (ARM, CACM⊖).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...data import ClickLog

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class SlotCells(NamedTuple):
    """The cells of one slot: ``first + local`` of each page, of ``size`` that there can be.

    ``local`` is (n,), to be used before the next slot is asked for, or None where all pages have
    the same cell.
    """

    first: int
    size: int
    local: Integers | None


Cells = Callable[[NDArray[np.bool_]], Iterator[SlotCells]]  # from the clicks (n, K), slot by slot


def sums(place: Integers, weight: NDArray[Any] | None, size: int) -> Floats:
    """Return the sum of the weights at each place, (size,)."""
    return np.bincount(place, weight, size).astype(np.float64, copy=False)


def row_weights(log: ClickLog) -> Floats:
    """Return how many impressions each row of a log stands for, (n,)."""
    return np.ones(len(log)) if log.weight is None else log.weight


def rank_cells(clicks: NDArray[np.bool_]) -> Iterator[SlotCells]:
    """Yield the 0-based slot."""
    for slot in range(clicks.shape[1]):
        yield SlotCells(slot, 1, None)


def latest_cells(clicks: NDArray[np.bool_]) -> Iterator[SlotCells]:
    """Yield ``slot * K + rank of the latest click above`` (0 = none)."""
    slots = clicks.shape[1]
    latest = np.zeros(len(clicks), dtype=np.int64)
    for slot in range(slots):
        yield SlotCells(slot * slots, slot + 1, latest)
        np.copyto(latest, slot + 1, where=clicks[:, slot])


def prefix_cells(clicks: NDArray[np.bool_]) -> Iterator[SlotCells]:
    """Yield the number of the click prefix above each slot: see ``prefix_clicks``."""
    code = np.zeros(len(clicks), dtype=np.int64)
    for slot in range(clicks.shape[1]):
        yield SlotCells((1 << slot) - 1, 1 << slot, code)
        code = 2 * code + clicks[:, slot]


def cell_numbers(cells: Cells, clicks: NDArray[np.bool_]) -> Integers:
    """Return the cell of every slot, (n, K)."""
    numbers = np.empty(clicks.shape, dtype=np.int64)
    for slot, (first, _, local) in enumerate(cells(clicks)):
        numbers[:, slot] = first if local is None else first + local
    return numbers


def prefix_clicks(slots: int) -> tuple[NDArray[np.bool_], Integers]:
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


def click_vectors(slots: int) -> NDArray[np.bool_]:
    """Return all click vectors, (2^slots, slots); the first slot's click is the lowest bit."""
    return (np.arange(1 << slots)[:, None] >> np.arange(slots)) & 1 == 1
