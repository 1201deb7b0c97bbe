"""Drawing clicks on pages with and without a block: first how a page is read, then its clicks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from ...common.typing import Booleans, Floats, Integers


class BlockTables:
    """Probabilities by type and position of the block, looked up for pages; 0 without a block.

    ``attention``, ``satisfied``, ``blind`` and ``upwards`` are (T, K+1).
    """

    def __init__(
        self, attention: Floats, satisfied: Floats, blind: Floats, upwards: Floats | None = None
    ) -> None:
        n_types, self._positions = attention.shape
        self._none = n_types * self._positions
        self.attention = _close(attention)
        self.satisfied = _close(satisfied) if satisfied.any() else None
        self.blind = _close(blind) if blind.any() else None
        self.upwards = None if upwards is None else _close(upwards)

    def cells(self, types: Integers, positions: Integers) -> Integers:
        """Return the places of pages' blocks in the tables, (n,); -1 in either is no block."""
        cells = types * self._positions + positions
        return np.where((types < 0) | (positions < 0), self._none, cells)

    def draw(self, types: Integers, positions: Integers, rng: Generator) -> Readers:
        """Draw how pages are read, from their blocks, (n,) each."""
        cells = self.cells(types, positions)
        n = len(cells)
        noticed = rng.random(n) < self.attention.take(cells)
        satisfied = first = upwards = None
        if self.satisfied is not None:
            satisfied = noticed & (rng.random(n) < self.satisfied.take(cells))
        if self.blind is not None:
            blind = noticed & (rng.random(n) < self.blind.take(cells))
            first = np.where(blind, positions, 0)
        if satisfied is not None:
            first = np.where(satisfied, self._positions, 0 if first is None else first)
        if self.upwards is not None:
            upwards = rng.random(n) < self.upwards.take(cells)
        return Readers(cells, positions, noticed, satisfied, first, upwards)


@dataclass(frozen=True)
class Readers:
    """How n pages are read, (n,) each.

    Attributes
    ----------
    cells : integers
        Places of the blocks in ``BlockTables``.
    positions : integers
        Of the blocks; meaningless where they are not noticed.
    noticed : bool
    satisfied : bool, or None where nobody is
        By the block, so that there is no click.
    first : integers, or None where it is always 0
        The highest rank that is looked at: below the block for the blind, none for the satisfied.
    upwards : bool or None
        Whether reading goes up from the block.
    """

    cells: Integers
    positions: Integers
    noticed: Booleans
    satisfied: Booleans | None
    first: Integers | None
    upwards: Booleans | None


def _close(table: Floats) -> Floats:
    """Return a table flat, and a 0 for pages without a block."""
    return np.append(table.reshape(-1), 0.0)


def draw_from_top(
    values: Floats, table: Floats, shift: Floats, start: Integers, readers: Readers,
    factor: Floats | None, rng: Generator,
) -> Booleans:  # fmt: skip
    """Draw clicks, (K, n), of pages that are read from the top.

    Parameters
    ----------
    values : (K, n)
        Attractiveness by rank; it is written over.
    table : (K', K')
        Examination γ.
    shift : (M,)
    start : (n,)
        Rank r is examined with γ + (1 - γ) b, b = ``shift[start + r]``.
    factor : (n,), optional
        Of b.
    """
    uniforms = rng.random(values.shape)
    clicks = np.empty(values.shape, dtype=bool)
    latest = np.zeros(values.shape[1], dtype=np.int64)
    for rank in range(len(values)):
        chance = table[rank].take(latest)
        more = shift.take(start + rank)
        if factor is not None:
            more *= factor
        more *= 1.0 - chance
        chance += more
        chance *= values[rank]
        if readers.first is not None:
            chance *= readers.first <= rank
        np.less(uniforms[rank], chance, out=clicks[rank])
        np.copyto(latest, rank + 1, where=clicks[rank])
    return clicks


def draw_along(
    values: Floats, tables: Floats, order: Integers, readers: Readers, rng: Generator
) -> Booleans:
    """Draw clicks by rank, (K, n), of pages that are read along trails.

    Parameters
    ----------
    values : (K, n)
        Attractiveness by rank.
    tables : (2, K', K')
        Examination of who does not notice the block, and of who does.
    order : (K, n)
        The rank at each place of the trail.
    """
    slots, n = values.shape
    size = tables.shape[1]
    uniforms = rng.random(values.shape)
    flat_values, page = values.reshape(-1), np.arange(n)
    flat, start = tables.reshape(-1), readers.noticed * (size * size)
    latest = np.zeros(n, dtype=np.int64)
    clicks = np.empty(values.shape, dtype=bool)
    flat_clicks = clicks.reshape(-1)
    for place in range(slots):
        where = order[place] * n
        where += page
        chance = flat.take(start + latest)
        chance *= flat_values.take(where)
        if readers.first is not None:
            chance *= readers.first <= order[place]
        clicked = uniforms[place] < chance
        flat_clicks[where] = clicked
        np.copyto(latest, place + 1, where=clicked)
        start += size  # the next place's row of the table
    return clicks
