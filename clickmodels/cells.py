"""Examination cells: what the examination of a slot depends on, numbered.

The rank (PBM), rank and latest click (UBM), the whole click prefix (ARM, CACM⊖).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..common.typing import Booleans, Floats, Integers

PREFIX_SLOTS = 14  # a table of click prefixes has 2**14 - 1 entries at most


class SlotCells(NamedTuple):
    """The cells of one slot: ``first + local`` of each page, of ``size`` that there can be.

    ``local`` is (n,), or None where all pages have the same cell.
    """

    first: int
    size: int
    local: Integers | None


@dataclass(frozen=True)
class Cells:
    """What examination depends on: a way to number it, and the table that the numbers index.

    Attributes
    ----------
    walk : callable
        Yields the ``SlotCells`` of pages, slot by slot, from their clicks (n, K). By operators
        alone, so that it walks over tensors too.
    shape : callable
        Returns the shape of the table of examination for pages of K slots.
    most_slots : int, optional
        The longest page whose cells can be numbered.
    """

    walk: Callable[[Booleans], Iterator[SlotCells]]
    shape: Callable[[int], tuple[int, ...]]
    most_slots: int | None = None

    def __call__(self, clicks: Booleans) -> Iterator[SlotCells]:
        """Yield the cells of pages with these clicks (n, K), slot by slot."""
        return self.walk(clicks)


def _walk_ranks(clicks: Booleans) -> Iterator[SlotCells]:
    """Yield the 0-based slot."""
    for slot in range(clicks.shape[1]):
        yield SlotCells(slot, 1, None)


def _walk_latest(clicks: Booleans) -> Iterator[SlotCells]:
    """Yield ``slot * K + rank of the latest click above`` (0 = none)."""
    slots = clicks.shape[1]
    latest = 0 * clicks[:, 0]
    for slot in range(slots):
        yield SlotCells(slot * slots, slot + 1, latest)
        latest = latest + clicks[:, slot] * (slot + 1 - latest)


def _walk_prefixes(clicks: Booleans) -> Iterator[SlotCells]:
    """Yield the number of the click prefix above each slot: see ``prefix_clicks``."""
    code = 0 * clicks[:, 0]
    for slot in range(clicks.shape[1]):
        yield SlotCells((1 << slot) - 1, 1 << slot, code)
        code = 2 * code + clicks[:, slot]


def _walk_own_prefixes(clicks: Booleans) -> Iterator[SlotCells]:
    """Yield the number of the click prefix that ends with each slot's own click."""
    code = 0 * clicks[:, 0]
    for slot in range(clicks.shape[1]):
        code = 2 * code + clicks[:, slot]
        yield SlotCells((2 << slot) - 1, 2 << slot, code)


rank_cells = Cells(_walk_ranks, lambda slots: (slots,))
latest_cells = Cells(_walk_latest, lambda slots: (slots, slots))
prefix_cells = Cells(_walk_prefixes, lambda slots: ((1 << slots) - 1,), PREFIX_SLOTS)
own_prefix_cells = Cells(_walk_own_prefixes, lambda slots: ((2 << slots) - 1,), PREFIX_SLOTS)


def cell_numbers(cells: Cells, clicks: Booleans) -> Integers:
    """Return the cell of every slot, (n, K)."""
    numbers = np.empty(clicks.shape, dtype=np.int64)
    for slot, (first, _, local) in enumerate(cells(clicks)):
        numbers[:, slot] = first if local is None else first + local
    return numbers


def prefix_clicks(slots: int) -> tuple[Booleans, Integers]:
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


def prefix_design(slots: int) -> Floats:
    """Return a one and the clicks of every prefix shorter than ``slots``, (2^slots - 1, slots)."""
    clicks, _ = prefix_clicks(slots)
    return np.column_stack([np.ones(len(clicks)), clicks])


def all_clicks(slots: int) -> Booleans:
    """Return all 2^slots click vectors, (2^slots, slots) bool; the last slot varies fastest."""
    codes = np.arange(1 << slots)[:, None]
    return (codes >> np.arange(slots)[::-1]) & 1 == 1
