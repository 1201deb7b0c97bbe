"""Counting where the slots of a log belong, for several weightings of its rows at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from ...data import ClickLog, World
from .cells import Cells, row_weights
from .places import SlotPlaces, cell_table

Floats = NDArray[np.float64]


class Placed:
    """The chosen slots of a log (n, K), each with the place in which it counts.

    Parameters
    ----------
    mask : (n, K) bool
    place : (n, K) integers
    size : int
        Number of places.
    """

    def __init__(self, mask: NDArray[np.bool_], place: NDArray[Any], size: int) -> None:
        places = place[mask]
        bounds = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        shape = (size, len(mask))
        # A column a row of the log, so nothing has to be sorted: the entries stand as they come.
        self._matrix = csc_array((np.ones(len(places)), places, bounds), shape=shape)

    def counts(self, weights: Floats) -> Floats:
        """Return the weighted counts (M, size) for M weightings of the rows (n, M): one pass."""
        return np.ascontiguousarray((self._matrix @ weights).T)


Integers = NDArray[np.int64]


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

    Costs a pass over the log.

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
        self.slots, self._log = log.slots, log
        shape = world.n_docs, world.n_queries * world.n_docs
        self._places = cell_table(log, *shape, cells) or SlotPlaces(log, *shape, cells)
        pair, cell, total, clicks = self._places.counted(row_weights(log))
        self.pairs, pair_index = _numbered(pair, shape[1])
        self.cells, cell_index = _numbered(cell)
        self.whole = PairCells(pair_index, cell_index, clicks, total - clicks)

    def counts(self, weights: Floats) -> list[PairCells]:
        """Return the counts for M weightings of the rows (n, M); what has no weight has no row."""
        log, place, size = self._log, self._places.places(), len(self.whole.pair)
        total = Placed(log.ranking >= 0, place, size).counts(weights)
        clicks = Placed(log.clicks, place, size).counts(weights)
        return [self._kept(*member) for member in zip(total, clicks, strict=True)]

    def _kept(self, total: Floats, clicks: Floats) -> PairCells:
        kept = total > 0
        clicks, total = clicks[kept], total[kept]
        return PairCells(self.whole.pair[kept], self.whole.cell[kept], clicks, total - clicks)


def _numbered(values: Integers, size: int | None = None) -> tuple[Integers, Integers]:
    """Return the distinct values, rising, and which of them each is."""
    present = np.zeros(int(values.max(initial=-1)) + 1 if size is None else size, dtype=bool)
    present[values] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[values]
