"""Where the slots of a log count, slot by slot: for any number of slots and cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data import ClickLog
from .cells import Cells, sums

_DENSE = 1 << 25  # count by bincount up to this many places a slot, by sorting beyond

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class SlotPlaces:
    """Places of a log's slots by pair and cell, found slot by slot.

    A slot's counts are small enough for the cache, or else its keys are sorted.

    Parameters
    ----------
    log : ClickLog
    n_docs, n_pairs : int
        Candidates a query, and pairs in all.
    cells : Cells
    """

    def __init__(self, log: ClickLog, n_docs: int, n_pairs: int, cells: Cells) -> None:
        self._log, self._n_docs, self._n_pairs, self._cells = log, n_docs, n_pairs, cells
        self._present: list[Integers] = []  # the keys that occur, slot by slot

    def counted(self, weight: Floats) -> tuple[Integers, Integers, Floats, Floats]:
        """Return pair, cell, sum of the weights (n,) and that of clicks, for what occurs."""
        self._present, found = [], []
        for keys in self._keys():
            total, clicks, present = keys.counted(weight)
            self._present.append(present)
            cell = keys.first + present // self._n_pairs
            found.append((present % self._n_pairs, cell, total, clicks))
        pair, cells, totals, clicked = map(np.concatenate, zip(*found, strict=True))
        return pair, cells, totals, clicked

    def places(self) -> NDArray[np.int32]:
        """Return which of the rows of ``counted`` each slot counts in, (n, K)."""
        place, start = np.empty(self._log.ranking.shape, dtype=np.int32), 0
        for slot, (keys, present) in enumerate(zip(self._keys(), self._present, strict=True)):
            place[:, slot] = keys.placed(present).key
            place[:, slot] += start
            start += len(present)
        return place

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
