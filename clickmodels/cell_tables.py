"""Where the slots of a log count, from a table of all click vectors.

A page's cells follow from its clicks alone, so a table of the 2^K click vectors has them all, and
a row of places is one look-up and two sums: no loop over slots, no copy of the log slot by slot.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from ..data import ClickLog
from ..data.cores import cores
from .cells import Cells, cell_numbers, click_vectors

_CHUNK = 1 << 14  # rows whose places are found at a time: they stay in the cache
_PART = 1 << 19  # rows that are counted at a time, at most
_MOST_SLOTS = 12  # of which there is a table
_DENSE = 1 << 24  # places, at most; and not many more than slots of the log

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def cell_table(log: ClickLog, n_docs: int, n_pairs: int, cells: Cells) -> CellTable | None:
    """Return the table of a log's cells, or None where it would be too large."""
    if log.slots > _MOST_SLOTS:
        return None
    numbers = cell_numbers(cells, click_vectors(log.slots))
    if 2 * len(np.unique(numbers)) * n_pairs > min(_DENSE, 16 * len(log) + (1 << 16)):
        return None
    return CellTable(log, n_docs, n_pairs, numbers)


class CellTable:
    """Places ``2 * (cell * pairs + pair) + clicked`` of a log's slots, empty ones after all others.

    Parameters
    ----------
    log : ClickLog
    n_docs, n_pairs : int
        Candidates a query, and pairs in all.
    cells : (2^K, K)
        The cell of each slot for each of the ``click_vectors``.
    """

    def __init__(self, log: ClickLog, n_docs: int, n_pairs: int, cells: Integers) -> None:
        self._log, self._n_docs, self._n_pairs = log, n_docs, n_pairs
        self._cells, number = np.unique(cells, return_inverse=True)
        self.size = len(self._cells) * n_pairs
        table = 2 * n_pairs * number.reshape(cells.shape) + click_vectors(log.slots)
        self._table = table.astype(np.int32)
        self._bits = (1 << np.arange(log.slots)).astype(np.float32)
        self._empty = bool((log.ranking[:, -1] < 0).any())  # empty slots only trail
        self._present: Integers = np.zeros(0, dtype=np.int64)

    def counted(self, weight: Floats) -> tuple[Integers, Integers, Floats, Floats]:
        """Return pair, cell, sum of the weights (n,) and that of clicks, for what occurs."""
        by_click = self._sums(weight).reshape(self.size, 2)
        total = by_click.sum(axis=1)
        self._present = present = np.flatnonzero(total)
        cell = self._cells[present // self._n_pairs]
        return present % self._n_pairs, cell, total[present], by_click[present, 1]

    def places(self) -> NDArray[np.int32]:
        """Return which of the rows of ``counted`` each slot counts in, (n, K)."""
        number = np.zeros(self.size + 1, dtype=np.int32)
        number[self._present] = np.arange(len(self._present))
        return number.take(self._keys(slice(0, len(self._log))) >> 1)

    def _sums(self, weight: Floats) -> Floats:
        """Return the sum of the weights (n,) at each place, (2 size,).

        Parts of rows are summed on a thread a core; how they are cut depends on n alone.
        """
        n, slots = len(weight), self._log.slots
        part = -(-n // -(-n // _PART))
        ones = np.ones(part * slots)
        bounds = np.arange(0, part * slots + 1, slots, dtype=np.int32)

        def added(rows: slice) -> Floats:
            length = rows.stop - rows.start
            entries = ones[: length * slots], self._keys(rows).ravel(), bounds[: length + 1]
            matrix = csc_array(entries, shape=(2 * self.size + 1, length))
            result: Floats = matrix @ weight[rows]
            return result

        total = np.zeros(2 * self.size + 1)
        rows = [slice(start, min(start + part, n)) for start in range(0, n, part)]
        with ThreadPoolExecutor(min(cores(), len(rows))) as pool:
            for some in pool.map(added, rows):
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
