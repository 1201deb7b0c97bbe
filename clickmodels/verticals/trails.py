"""Reading a page along a trail: UBM's recursion over its results in any order.

A trail lists the ranks of a page in the order in which they are read; the click state is the
place of the latest click in the trail, 0 = none yet. Arrays are laid out place by place, (K, n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common.typing import Booleans, Floats, Integers


@dataclass(frozen=True)
class Trail:
    """One way to read n pages, which is taken with a probability of its own by each.

    Attributes
    ----------
    weight : (n,)
        P(a page is read in this way).
    values : (K, n)
        Attractiveness of the result at each place; 0 where there is none, or it is not looked at.
    table : (K, K)
        Examination by place and place of the latest click, as in UBM.
    order : (K, n) or None
        The rank at each place; None = from the top.
    shift : (K, n) or None
        ``b`` of examination ``γ + (1 - γ) b`` at each place; None = 0.
    """

    weight: Floats
    values: Floats
    table: Floats
    order: Integers | None = None
    shift: Floats | None = None

    def click_of_states(self, place: int) -> Floats:
        """Return P(click at a place | place of the latest click), (place + 1, n)."""
        examined = self.table[place, : place + 1, None]
        if self.shift is not None:
            examined = examined + (1.0 - examined) * self.shift[place]
        return examined * self.values[place]

    def click_after(self, place: int, latest: Integers) -> Floats:
        """Return P(click at a place | the latest click is at ``latest``), (n,)."""
        examined = self.table[place].take(latest)
        if self.shift is not None:
            examined += (1.0 - examined) * self.shift[place]
        return examined * self.values[place]

    def along(self, by_rank: Booleans) -> Booleans:
        """Return what is laid out by rank, (K, n), by place."""
        return by_rank if self.order is None else np.take_along_axis(by_rank, self.order, axis=0)

    def marginals(self) -> Floats:
        """Return P(C_r = 1) by rank, (K, n): O(n K²)."""
        slots, n = self.values.shape
        state = np.zeros((slots + 1, n))  # P(the latest click is at this place)
        state[0] = 1.0
        result = np.empty((slots, n))
        for place in range(slots):
            clicked = state[: place + 1] * self.click_of_states(place)
            state[: place + 1] -= clicked
            state[place + 1] = result[place] = clicked.sum(axis=0)
        if self.order is None:
            return result
        by_rank = np.empty_like(result)
        np.put_along_axis(by_rank, self.order, result, axis=0)
        return by_rank

    def joint(self, clicks: Booleans) -> Floats:
        """Return P(clicks), (n,), of clicks by rank, (K, n): O(n K)."""
        return self._chain(self.along(clicks))[2]

    def prefixes(self, clicks: Booleans) -> tuple[Floats, Floats]:
        """Return P(c_<r) and P(c_<r, C_r = 1) for every rank r, (K, n) each.

        What lies below the prefix is summed out along the trail: O(n K³), or O(n K) from the top.
        """
        if self.order is None:
            return self._chain(clicks)[:2]
        slots, n = clicks.shape
        chances = [self.click_of_states(place) for place in range(slots)]
        happened = self.along(clicks)
        before, click = np.empty((slots, n)), np.empty((slots, n))
        known = np.ones(n)
        for rank in range(slots):
            own = self.order == rank
            may_click = happened | (self.order > rank)
            may_skip = ~happened | (self.order > rank)
            before[rank] = known
            click[rank] = _sum_out(chances, may_click | own, may_skip & ~own)
            skip = _sum_out(chances, may_click & ~own, may_skip | own)
            known = np.where(clicks[rank], click[rank], skip)
        return before, click

    def _chain(self, happened: Booleans) -> tuple[Floats, Floats, Floats]:
        """Return P(what happened before each place), the same and a click there, P(all), (n,)."""
        slots, n = happened.shape
        latest = np.zeros(n, dtype=np.int64)
        before, click = np.empty((slots, n)), np.empty((slots, n))
        known = np.ones(n)
        for place in range(slots):
            chance = self.click_after(place, latest)
            before[place] = known
            click[place] = known * chance
            known = known * np.where(happened[place], chance, 1.0 - chance)
            latest[happened[place]] = place + 1
        return before, click, known


def _sum_out(chances: list[Floats], may_click: Booleans, may_skip: Booleans) -> Floats:
    """Return the probability that each place does only what it may, (n,)."""
    slots, n = may_click.shape
    state = np.zeros((slots + 1, n))
    state[0] = 1.0
    for place, chance in enumerate(chances):
        clicked = state[: place + 1] * chance
        state[: place + 1] -= clicked
        state[: place + 1] *= may_skip[place]
        state[place + 1] = clicked.sum(axis=0) * may_click[place]
    return state.sum(axis=0)


def upwards_order(above: Integers, slots: int) -> Integers:
    """Return the trail up from the block, then down from it, (K, n): v-1, …, 0, v, …."""
    place = np.arange(slots)[:, None]
    return np.where(place < above, above - 1 - place, place)


def downwards_order(above: Integers, length: Integers, slots: int) -> Integers:
    """Return the trail down from the block, then from the top to it, (K, n): v, …, 0, …, v-1.

    ``length`` (n,) is how many results each page has; empty slots stay at the end.
    """
    place = np.arange(slots)[:, None]
    below = length - above
    order = np.where(place < below, above + place, place - below)
    return np.where(place < length, order, place)
