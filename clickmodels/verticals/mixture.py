"""The likelihood of pages that are read in one of several ways, and its derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.typing import Booleans, Floats, Integers
from ..tablefit.counting import sums

_CHUNK = 4096  # pages worked on at once, so that they stay in the cache
_LEAST = 1e-300  # the smallest probability of a page


class Slopes(NamedTuple):
    """A log-likelihood and its derivatives.

    Attributes
    ----------
    value : float
    pairs : (P,)
        By the logarithm of each pair's attractiveness.
    cells : list of arrays, one per way
        By the logarithm of each cell's examination.
    shares : (G, W)
        By the share of each way in each group of pages.
    """

    value: float
    pairs: Floats
    cells: list[Floats]
    shares: Floats


@dataclass(frozen=True)
class MixedPages:
    """Pages whose clicks are attractiveness × examination, in one of W ways to read each.

    They are laid out slot by slot, (K, n).

    Attributes
    ----------
    pair : (K, n) int32
        Which pair each slot shows, 0 .. P-1; P where it is empty.
    clicks : (K, n) bool
    weight : (n,)
    group : (n,) int32
        Pages of one group have the same shares of ways.
    cells : tuple of (K, n) int32, one per way
        Which examination each slot has when its page is read in that way.
    sizes : tuple of int
        The number of cells of each way.
    n_pairs : int
        P.
    """

    pair: NDArray[np.int32]
    clicks: Booleans
    weight: Floats
    group: NDArray[np.int32]
    cells: tuple[NDArray[np.int32], ...]
    sizes: tuple[int, ...]
    n_pairs: int

    def part(self, rows: Integers) -> MixedPages:
        """Return some of the pages."""
        return MixedPages(
            self.pair[:, rows], self.clicks[:, rows], self.weight[rows], self.group[rows],
            tuple(cells[:, rows] for cells in self.cells), self.sizes, self.n_pairs,
        )  # fmt: skip

    def clicks_by_pair(self) -> Floats:
        """Return the weighted clicks of each pair, (P,)."""
        return self._count(self.pair, self.n_pairs + 1)[:-1]

    def clicks_by_cell(self, way: int) -> Floats:
        """Return the weighted clicks in each cell of a way, if all pages were read so."""
        return self._count(self.cells[way], self.sizes[way])

    def pages_by_group(self, size: int) -> Floats:
        """Return the weighted pages of the first groups, (size,)."""
        return sums(self.group.astype(np.int64), self.weight, size + 1)[:size]

    def _count(self, places: NDArray[np.int32], size: int) -> Floats:
        slots, rows = np.nonzero(self.clicks)
        return sums(places[slots, rows].astype(np.int64), self.weight[rows], size)

    def slopes(
        self, attractiveness: Floats, tables: Sequence[Floats], shares: Floats, pool: Executor
    ) -> Slopes:
        """Return the log-likelihood of all pages and its derivatives: O(n K W).

        Parameters
        ----------
        attractiveness : (P,)
        tables : sequence of arrays, one per way
            The examination of each cell.
        shares : (G, W)
            P(way) of each group.
        pool : Executor
            Threads that work on chunks of pages; their sums are added in order.
        """
        values = np.append(attractiveness, 0.0)
        chunks = [slice(start, start + _CHUNK) for start in range(0, len(self.group), _CHUNK)]
        total = Slopes(
            0.0, np.zeros(self.n_pairs), [np.zeros(size) for size in self.sizes],
            np.zeros(shares.shape),
        )  # fmt: skip
        for part in pool.map(lambda rows: self._slopes(rows, values, tables, shares), chunks):
            total = Slopes(total.value + part.value, *total[1:])
            np.add(total.pairs, part.pairs, out=total.pairs)
            np.add(total.shares, part.shares, out=total.shares)
            for cells, own in zip(total.cells, part.cells, strict=True):
                cells += own
        return total

    def _slopes(
        self, rows: slice, values: Floats, tables: Sequence[Floats], shares: Floats
    ) -> Slopes:
        pair, happened = self.pair[:, rows].astype(np.int64), self.clicks[:, rows].astype(float)
        group, weight = self.group[rows].astype(np.int64), self.weight[rows]
        attractive, skipped = values.take(pair), 1.0 - happened
        cells = [each[:, rows].astype(np.int64) for each in self.cells]
        joint = np.empty((len(self.cells), len(group)))  # P(clicks | way)
        slopes = []
        for way, (own, table) in enumerate(zip(cells, tables, strict=True)):
            click = table.take(own)
            click *= attractive
            skip = 1.0 - click
            joint[way] = np.abs(click - skipped).prod(axis=0)  # P(what happened), slot by slot
            np.subtract(happened, click, out=click)  # d log P / d log(click), once divided
            click /= skip
            slopes.append(click)
        page = np.maximum((shares[group].T * joint).sum(axis=0), _LEAST)
        value = float((weight * np.log(page)).sum())
        joint *= weight / page
        by_share = np.stack([sums(group, each, len(shares)) for each in joint], axis=1)
        joint *= shares[group].T  # how likely each way is, given the page's clicks
        by_cell, by_slot = [], np.zeros(pair.shape)
        for way, slope in enumerate(slopes):
            slope *= joint[way]
            by_slot += slope
            by_cell.append(sums(cells[way].reshape(-1), slope.reshape(-1), self.sizes[way]))
        by_pair = sums(pair.reshape(-1), by_slot.reshape(-1), self.n_pairs + 1)[:-1]
        return Slopes(value, by_pair, by_cell, by_share)


def latest_cells(clicks: Booleans) -> NDArray[np.int32]:
    """Return ``place * K + place of the latest click`` (0 = none) of each place, (n, K)."""
    n, slots = clicks.shape
    result = np.empty((n, slots), dtype=np.int32)
    latest = np.zeros(n, dtype=np.int32)
    for place in range(slots):
        result[:, place] = place * slots + latest
        latest[clicks[:, place]] = place + 1
    return result


def trail_cells(clicks: Booleans, order: Integers) -> NDArray[np.int32]:
    """Return the cells of a trail by rank, (n, K); ``order`` (n, K) is the rank at each place."""
    along = latest_cells(np.take_along_axis(clicks, order, axis=1))
    result = np.empty_like(along)
    np.put_along_axis(result, order, along, axis=1)
    return result
