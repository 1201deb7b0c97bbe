"""Folding a log into counts by (query-document pair, examination cell).

Under the examination hypothesis P(click) = attractiveness of the pair × examination of the cell,
where the cell is what the model's examination depends on. Clicks and impressions by pair and cell
are then all that the likelihood needs, so fitting costs what is distinct in a log, not its length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data import ClickLog, World
from .cell_tables import cell_table
from .cells import Cells, row_weights
from .placed import Placed
from .slot_places import SlotPlaces

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


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
