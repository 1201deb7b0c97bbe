"""Folding a log into counts by (query-document pair, examination cell).

Under the examination hypothesis P(click) = attractiveness of the pair × examination of the cell,
where the cell is what the model's examination depends on: the rank (PBM), rank and latest click
(UBM), the whole click prefix (ARM, CACM⊖). Clicks and impressions by pair and cell are then all
that the likelihood needs, so fitting costs what is distinct in a log, not its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data import ClickLog, World
from .placed import Placed

_DENSE = 1 << 25  # count by bincount up to this many places a slot, by sorting beyond

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


@dataclass(frozen=True)
class PairCells:
    """Counts of a log, one row for each pair and cell that occurs; all arrays are (m,).

    ``pair`` and ``cell`` index the ``pairs`` and ``cells`` of the fold.
    """

    pair: Integers
    cell: Integers
    clicks: Floats
    skips: Floats

    def shown(self, n_pairs: int) -> NDArray[np.bool_]:
        """Return which of the pairs have a count, (P,)."""
        present = np.zeros(n_pairs, dtype=bool)
        present[self.pair] = True
        return present


class PairCellFold:
    """A log's places in the counts by pair and cell: what all bootstraps of the log share.

    Costs a pass over the log, slot by slot, so that a slot's counts stay in the cache.

    Attributes
    ----------
    pairs : (P,)
        ``query * N + document`` of the pairs shown, rising.
    cells : (C,)
        The cells that occur, rising.
    slots : int
        K.
    whole : PairCells
        The counts of the log itself.
    """

    def __init__(self, log: ClickLog, world: World, cells: Cells) -> None:
        self.slots, self._log, self._cells = log.slots, log, cells
        self._n_docs, self._n_pairs = world.n_docs, world.n_queries * world.n_docs
        weight = row_weights(log)
        self._present: list[Integers] = []  # the keys that occur, slot by slot
        pair, cell, total, clicks = [], [], [], []
        for keys in self._keys():
            slot_total, slot_clicks, present = keys.counted(weight)
            self._present.append(present)
            pair.append(present % self._n_pairs)
            cell.append(keys.first + present // self._n_pairs)
            total.append(slot_total)
            clicks.append(slot_clicks)
        self.pairs, pair_index = _numbered(np.concatenate(pair), self._n_pairs)
        self.cells, cell_index = _numbered(np.concatenate(cell))
        clicked = np.concatenate(clicks)
        skipped = np.concatenate(total) - clicked
        self.whole = PairCells(pair_index, cell_index, clicked, skipped)

    def counts(self, weights: Floats) -> list[PairCells]:
        """Return the counts for M weightings of the rows (n, M); what has no weight has no row."""
        log, start = self._log, 0
        place = np.empty(log.ranking.shape, dtype=np.int32)
        for slot, (keys, present) in enumerate(zip(self._keys(), self._present, strict=True)):
            place[:, slot] = keys.placed(present).key
            place[:, slot] += start
            start += len(present)
        total = Placed(log.ranking >= 0, place, start).counts(weights)
        clicks = Placed(log.clicks, place, start).counts(weights)
        return [self._kept(*member) for member in zip(total, clicks, strict=True)]

    def _kept(self, total: Floats, clicks: Floats) -> PairCells:
        kept = total > 0
        clicks, total = clicks[kept], total[kept]
        return PairCells(self.whole.pair[kept], self.whole.cell[kept], clicks, total - clicks)

    def _keys(self) -> Iterator[_SlotKeys]:
        """Yield the key ``local cell * pairs + pair`` of every document shown, slot by slot."""
        log = self._log
        start = log.query.astype(np.int64) * self._n_docs
        columns = np.ascontiguousarray(log.ranking.T)
        clicks = np.ascontiguousarray(log.clicks.T)
        empty = bool((columns[-1] < 0).any())  # empty slots only trail
        for slot, (first, size, local) in enumerate(self._cells(clicks.T)):
            key = start + columns[slot]
            if local is not None:
                key += local * self._n_pairs
            rows = np.flatnonzero(columns[slot] >= 0) if empty else None
            clicked = np.flatnonzero(clicks[slot])
            yield _SlotKeys(first, size * self._n_pairs, key, rows, clicked)


@dataclass(frozen=True)
class _SlotKeys:
    """Where the pages of a log (n,) count with one slot; ``rows`` that show something, or all."""

    first: int
    size: int
    key: Integers
    rows: Integers | None
    clicked: Integers

    @property
    def _dense(self) -> bool:
        """Whether counting at all places is cheaper than sorting the keys."""
        return self.size <= min(_DENSE, 64 * len(self.key) + (1 << 16))

    def counted(self, weight: Floats) -> tuple[Floats, Floats, Integers]:
        """Return the sums of weights, those of clicks, and the keys that they belong to."""
        if not self._dense:
            present = np.unique(self.key if self.rows is None else self.key[self.rows])
            return *self.placed(present).sums(weight, len(present)), present
        total, clicks = self.sums(weight, self.size)
        present = np.flatnonzero(total)
        return total[present], clicks[present], present

    def sums(self, weight: Floats, size: int) -> tuple[Floats, Floats]:
        """Return the sum of weights at each place and that of the clicks, (size,) each."""
        clicks = sums(self.key[self.clicked], weight[self.clicked], size)
        if self.rows is None:
            return sums(self.key, weight, size), clicks
        return sums(self.key[self.rows], weight[self.rows], size), clicks

    def placed(self, present: Integers) -> _SlotKeys:
        """Return this with places among the ``present`` keys for keys."""
        if not self._dense:
            place = np.minimum(np.searchsorted(present, self.key), max(len(present) - 1, 0))
        else:
            number = np.zeros(self.size, dtype=np.int32)
            number[present] = np.arange(len(present))
            place = number.take(self.key, mode="clip")
        return _SlotKeys(self.first, self.size, place.astype(np.int64), self.rows, self.clicked)


def _numbered(values: Integers, size: int | None = None) -> tuple[Integers, Integers]:
    """Return the distinct values, rising, and which of them each is."""
    present = np.zeros(int(values.max(initial=-1)) + 1 if size is None else size, dtype=bool)
    present[values] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[values]


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
