"""Counts of a log by query-document pair and examination cell, for several weightings of its rows.

Where a slot counts follows from its document and its page's clicks. On short pages a table of the
2^K click vectors has the cells of all pages, so that a row of places is one look-up and two sums,
without a loop over slots; on longer ones places are found slot by slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from ...common.runtime import cores
from ...common.typing import Booleans, Floats, Integers
from ...data import ClickLog, World
from ..cells import Cells, all_clicks, cell_numbers
from ..pages import row_weights
from .counting import CountMatrix, sums

_CHUNK = 1 << 14  # rows whose places are found at a time: they stay in the cache
_PART = 1 << 19  # rows that are counted at a time, at most
_MOST_SLOTS = 12  # of which there is a table
_DENSE = 1 << 24  # places, at most; and not many more than slots of the log
_COUNTED = 1 << 25  # count by bincount up to this many places per slot, by sorting beyond


@dataclass(frozen=True)
class PairCells:
    """Counts of a log, one row for each pair and cell that occurs; all arrays are (m,).

    ``pair`` and ``cell`` index the ``pairs`` and ``cells`` of the fold.
    """

    pair: Integers
    cell: Integers
    clicks: Floats
    skips: Floats

    def shown(self, n_pairs: int) -> Booleans:
        """Return which of the pairs have a count, (P,)."""
        present = np.zeros(n_pairs, dtype=bool)
        present[self.pair] = True
        return present


class PairCellFold:
    """A log's places in the counts by pair and cell: what all bootstraps of the log share.

    Costs a pass over the log.

    Attributes
    ----------
    pairs : (P,)
        ``query * N + document`` of the pairs shown, rising.
    cells : (C,)
        The cells that occur, rising.
    kind : Cells
        What the cells are.
    slots : int
        K.
    whole : PairCells
        The counts of the log itself.
    """

    def __init__(self, log: ClickLog, world: World, cells: Cells) -> None:
        self.kind, self.slots, self._log = cells, log.slots, log
        shape = world.n_docs, world.n_queries * world.n_docs
        self._places = place_table(log, *shape, cells) or SlotPlaces(log, *shape, cells)
        pair, cell, total, clicks = self._places.count(row_weights(log))
        self.pairs, pair_index = number_values(pair, shape[1])
        self.cells, cell_index = number_values(cell)
        self.whole = PairCells(pair_index, cell_index, clicks, total - clicks)

    def counts(self, weights: Floats) -> list[PairCells]:
        """Return the counts for M weightings of the rows (n, M); what has no weight has no row."""
        log, place, size = self._log, self._places.places(), len(self.whole.pair)
        total = CountMatrix(log.ranking >= 0, place, size).counts(weights)
        clicks = CountMatrix(log.clicks, place, size).counts(weights)
        return [self._with_weight(*member) for member in zip(total, clicks, strict=True)]

    def _with_weight(self, total: Floats, clicks: Floats) -> PairCells:
        kept = total > 0
        clicks, total = clicks[kept], total[kept]
        return PairCells(self.whole.pair[kept], self.whole.cell[kept], clicks, total - clicks)


def number_values(values: Integers, size: int | None = None) -> tuple[Integers, Integers]:
    """Return the distinct values, rising, and which of them each is."""
    present = np.zeros(int(values.max(initial=-1)) + 1 if size is None else size, dtype=bool)
    present[values] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[values]


def place_table(log: ClickLog, n_docs: int, n_pairs: int, cells: Cells) -> PlaceTable | None:
    """Return the table of a log's cells, or None where it would be too large."""
    if log.slots > _MOST_SLOTS:
        return None
    numbers = cell_numbers(cells, _click_vectors(log.slots))
    if 2 * len(np.unique(numbers)) * n_pairs > min(_DENSE, 16 * len(log) + (1 << 16)):
        return None
    return PlaceTable(log, n_docs, n_pairs, numbers)


def _click_vectors(slots: int) -> Booleans:
    """Return all click vectors, (2^slots, slots); the first slot's click is the lowest bit."""
    return all_clicks(slots)[:, ::-1]


class PlaceTable:
    """Places ``2 * (cell * pairs + pair) + clicked`` of a log's slots, empty ones after all others.

    Parameters
    ----------
    log : ClickLog
    n_docs, n_pairs : int
        Candidates per query, and pairs in all.
    cells : (2^K, K)
        The cell of each slot for each of the ``_click_vectors``.
    """

    def __init__(self, log: ClickLog, n_docs: int, n_pairs: int, cells: Integers) -> None:
        self._log, self._n_docs, self._n_pairs = log, n_docs, n_pairs
        self._cells, number = np.unique(cells, return_inverse=True)
        self.size = len(self._cells) * n_pairs
        table = 2 * n_pairs * number.reshape(cells.shape) + _click_vectors(log.slots)
        self._table = table.astype(np.int32)
        self._bits = (1 << np.arange(log.slots)).astype(np.float32)
        self._empty = bool((log.ranking[:, -1] < 0).any())  # empty slots only trail
        self._present: Integers = np.zeros(0, dtype=np.int64)

    def count(self, weight: Floats) -> tuple[Integers, Integers, Floats, Floats]:
        """Return pair, cell, sum of the weights (n,) and that of clicks, for what occurs."""
        by_click = self._sums(weight).reshape(self.size, 2)
        total = by_click.sum(axis=1)
        self._present = present = np.flatnonzero(total)
        cell = self._cells[present // self._n_pairs]
        return present % self._n_pairs, cell, total[present], by_click[present, 1]

    def places(self) -> NDArray[np.int32]:
        """Return which of the rows of ``count`` each slot counts in, (n, K)."""
        number = np.zeros(self.size + 1, dtype=np.int32)
        number[self._present] = np.arange(len(self._present))
        return number.take(self._keys(slice(0, len(self._log))) >> 1)

    def _sums(self, weight: Floats) -> Floats:
        """Return the sum of the weights (n,) at each place, (2 size,).

        Parts of rows are summed on one thread per core; how they are cut depends on n alone.
        """
        n, slots = len(weight), self._log.slots
        part = -(-n // -(-n // _PART))
        ones = np.ones(part * slots)
        bounds = np.arange(0, part * slots + 1, slots, dtype=np.int32)

        def sum_part(rows: slice) -> Floats:
            length = rows.stop - rows.start
            entries = ones[: length * slots], self._keys(rows).ravel(), bounds[: length + 1]
            matrix = csc_array(entries, shape=(2 * self.size + 1, length))
            result: Floats = matrix @ weight[rows]
            return result

        total = np.zeros(2 * self.size + 1)
        rows = [slice(start, min(start + part, n)) for start in range(0, n, part)]
        with ThreadPoolExecutor(min(cores(), len(rows))) as pool:
            for some in pool.map(sum_part, rows):
                total += some
        return total[:-1]

    def _keys(self, rows: slice) -> NDArray[np.int32]:
        """Return the places of some rows, (rows, K)."""
        log = self._log
        result = np.empty((rows.stop - rows.start, log.slots), dtype=np.int32)
        for start in range(rows.start, rows.stop, _CHUNK):
            some = slice(start, min(start + _CHUNK, rows.stop))
            code = (log.clicks[some].astype(np.float32) @ self._bits).astype(np.intp)
            key = self._table.take(code, axis=0, mode="clip")
            key += 2 * log.ranking[some].astype(np.int32)
            key += (2 * self._n_docs * log.query[some].astype(np.int32))[:, None]
            if self._empty:
                key[log.ranking[some] < 0] = 2 * self.size
            result[some.start - rows.start : some.stop - rows.start] = key
        return result


class SlotPlaces:
    """Places of a log's slots by pair and cell, found slot by slot.

    A slot's counts are small enough for the cache, or else its keys are sorted.

    Parameters
    ----------
    log : ClickLog
    n_docs, n_pairs : int
        Candidates per query, and pairs in all.
    cells : Cells
    """

    def __init__(self, log: ClickLog, n_docs: int, n_pairs: int, cells: Cells) -> None:
        self._log, self._n_docs, self._n_pairs, self._cells = log, n_docs, n_pairs, cells
        self._present: list[Integers] = []  # the keys that occur, slot by slot

    def count(self, weight: Floats) -> tuple[Integers, Integers, Floats, Floats]:
        """Return pair, cell, sum of the weights (n,) and that of clicks, for what occurs."""
        self._present, found = [], []
        for keys in self._keys():
            total, clicks, present = keys.count(weight)
            self._present.append(present)
            cell = keys.first + present // self._n_pairs
            found.append((present % self._n_pairs, cell, total, clicks))
        pair, cells, totals, clicked = map(np.concatenate, zip(*found, strict=True))
        return pair, cells, totals, clicked

    def places(self) -> NDArray[np.int32]:
        """Return which of the rows of ``count`` each slot counts in, (n, K)."""
        place, start = np.empty(self._log.ranking.shape, dtype=np.int32), 0
        for slot, (keys, present) in enumerate(zip(self._keys(), self._present, strict=True)):
            place[:, slot] = keys.number_keys(present).key
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
        return self.size <= min(_COUNTED, 64 * len(self.key) + (1 << 16))

    def count(self, weight: Floats) -> tuple[Floats, Floats, Integers]:
        """Return the sums of weights, those of clicks, and the keys that they belong to."""
        if not self._dense:
            present = np.unique(self.key if self.rows is None else self.key[self.rows])
            return *self.number_keys(present).sums(weight, len(present)), present
        total, clicks = self.sums(weight, self.size)
        present = np.flatnonzero(total)
        return total[present], clicks[present], present

    def sums(self, weight: Floats, size: int) -> tuple[Floats, Floats]:
        """Return the sum of weights at each place and that of the clicks, (size,) each."""
        clicks = sums(self.key[self.clicked], weight[self.clicked], size)
        if self.rows is None:
            return sums(self.key, weight, size), clicks
        return sums(self.key[self.rows], weight[self.rows], size), clicks

    def number_keys(self, present: Integers) -> _SlotKeys:
        """Return this with places among the ``present`` keys for keys."""
        if not self._dense:
            place = np.minimum(np.searchsorted(present, self.key), max(len(present) - 1, 0))
        else:
            number = np.zeros(self.size, dtype=np.int32)
            number[present] = np.arange(len(present))
            place = number.take(self.key, mode="clip")
        return _SlotKeys(self.first, self.size, place.astype(np.int64), self.rows, self.clicked)
