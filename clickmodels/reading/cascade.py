"""Models of a user who reads from the top, and goes on or stops after each document."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ...common.random import Uniforms
from ...common.typing import Booleans, Floats, Integers
from ..base import ClickModel
from ..pages import check_pages, zero_after_impossible
from .attractiveness import WithAttractiveness
from .tables import Table, as_table


class AfterClick(Protocol):
    """P(the next rank is examined | a click here): a ``Table`` by document, or ``RankRates``."""

    def columns(self, query: Integers, columns: Integers) -> Floats:
        """Return it for pages laid out slot by slot, (K, n)."""

    def page(self, query: int, ranking: list[int]) -> list[float]:
        """Return it for one page."""


class RankRates:
    """Probabilities by rank (K,), the same for every document; pages may have fewer slots."""

    def __init__(self, rates: Floats) -> None:
        self._rates, self._list = rates, rates.tolist()

    def columns(self, query: Integers, columns: Integers) -> Floats:
        """Return them for pages laid out slot by slot, (K, n)."""
        return np.broadcast_to(self._rates[: len(columns), None], columns.shape)

    def page(self, query: int, ranking: list[int]) -> list[float]:
        """Return them for one page."""
        return self._list


class CascadeReading:
    """Reading from the top: an examined document is clicked if attractive, then reading goes on.

    It goes on with probability ``after_skip`` after a skip and ``after_click`` after a click.
    Everything follows by recursion over P(examined), in O(n K). Pages are given slot by slot,
    (K, n), and are not checked.
    """

    def __init__(self, attractive: Table, after_skip: float, after_click: AfterClick) -> None:
        self.attractive, self.after_skip, self.after_click = attractive, after_skip, after_click

    def conditionals(self, query: Integers, columns: Integers, clicks: Booleans) -> Floats:
        """Return P(C_k = 1 | c_<k), (K, n), by filtering P(E_k = 1 | c_<k) down the page."""
        values = self.attractive.columns(query, columns)
        after_click = self.after_click.columns(query, columns)
        examined = np.ones(len(query))
        probs = np.empty(values.shape)
        for slot in range(len(values)):
            probs[slot] = examined * values[slot]
            skipped = 1.0 - probs[slot]
            # A skip that could not happen leaves 0 / 0 here; zero_after_impossible settles it.
            after_skip = examined * (1.0 - values[slot]) / np.where(skipped > 0, skipped, 1.0)
            after_skip *= self.after_skip
            examined = np.where(clicks[slot], after_click[slot], after_skip)
        return probs

    def marginals(self, query: Integers, columns: Integers) -> Floats:
        """Return P(C_k = 1), (K, n), by forward recursion over P(E_k = 1)."""
        values = self.attractive.columns(query, columns)
        goes_on = self.after_click.columns(query, columns) - self.after_skip
        goes_on *= values
        goes_on += self.after_skip
        examined = np.ones(len(query))
        for slot in range(len(values)):
            values[slot] *= examined
            examined *= goes_on[slot]
        return values

    def satisfactions(self, query: Integers, columns: Integers) -> Floats:
        """Return P(C_k = 1, satisfied), (K, n): a click after which reading ends satisfies."""
        return self.marginals(query, columns) * (1.0 - self.after_click.columns(query, columns))

    def scores(self, query: Integers, columns: Integers) -> Floats:
        """Return the expected clicks of each page, (n,)."""
        total: Floats = self.marginals(query, columns).sum(axis=0)
        return total

    def sample(self, query: Integers, columns: Integers, rng: Generator) -> Booleans:
        """Draw clicks, (K, n); one uniform per slot decides both the click and what follows."""
        uniforms = rng.random(columns.shape)
        values = self.attractive.columns(query, columns)
        clicks = uniforms < values
        # Given a click the uniform is below the value, given a skip it is above: what is left
        # of it, stretched, is uniform again.
        goes_on = uniforms < values * self.after_click.columns(query, columns)
        goes_on |= ~clicks & (uniforms < values + (1.0 - values) * self.after_skip)
        for slot in range(1, len(columns)):
            clicks[slot] &= goes_on[slot - 1]
            goes_on[slot] &= goes_on[slot - 1]
        return clicks

    def sample_page(self, query: int, ranking: list[int], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page."""
        values = self.attractive.page(query, ranking)
        after_click = self.after_click.page(query, ranking)
        clicks = [False] * len(ranking)
        for slot, uniform in enumerate(uniforms.take(len(ranking))):
            value = values[slot]
            if uniform < value:
                clicks[slot] = True
                if uniform >= value * after_click[slot]:
                    break
            elif uniform >= value + (1.0 - value) * self.after_skip:
                break
        return clicks


class Satisfaction:
    """P(satisfied | clicked), (Q, N), as what it leaves of P(reading goes on) after a click."""

    def __init__(self, satisfaction: ArrayLike, shape: tuple[int, int], goes_on: float) -> None:
        self.table, self._goes_on = as_table(satisfaction, "satisfaction"), goes_on
        if self.table.shape != shape:
            raise ValueError(
                f"satisfaction has shape {self.table.shape}, but attractiveness needs {shape}"
            )

    def columns(self, query: Integers, columns: Integers) -> Floats:
        """Return P(not satisfied) times P(reading goes on), (K, n)."""
        return self._goes_on * (1.0 - self.table.columns(query, columns))

    def page(self, query: int, ranking: list[int]) -> list[float]:
        """Return P(not satisfied) times P(reading goes on), of one page."""
        return [self._goes_on * (1.0 - value) for value in self.table.page(query, ranking)]


class SatisfiedReading(CascadeReading):
    """Reading until satisfied by a clicked document, or tired: ``goes_on`` after each rank."""

    def __init__(self, attractive: Table, satisfaction: ArrayLike, goes_on: float) -> None:
        satisfied = Satisfaction(satisfaction, attractive.shape, goes_on)
        super().__init__(attractive, goes_on, satisfied)
        self.satisfied = satisfied.table
        # P(attractive and satisfying): one uniform decides click and satisfaction together.
        self.satisfying = attractive.change(np.multiply, self.satisfied)
        self._goes_on = self.satisfying.change(lambda values: goes_on * (1.0 - values))

    def satisfactions(self, query: Integers, columns: Integers) -> Floats:
        """Return P(C_k = 1, satisfied), (K, n); a user who tires after a click is not satisfied."""
        return self.marginals(query, columns) * self.satisfied.columns(query, columns)

    def scores(self, query: Integers, columns: Integers) -> Floats:
        """Return the expected clicks of each page, (n,)."""
        values = self.attractive.columns(query, columns)
        goes_on = self._goes_on.columns(query, columns)
        total, examined = values[0].copy(), goes_on[0].copy()
        for slot in range(1, len(values)):
            values[slot] *= examined
            total += values[slot]
            examined *= goes_on[slot]
        return total

    def sample(self, query: Integers, columns: Integers, rng: Generator) -> Booleans:
        """Draw clicks, (K, n); one uniform per slot, and one per page for how far reading goes."""
        uniforms = rng.random(columns.shape)
        patience = rng.random(columns.shape[1])
        clicks = uniforms < self.attractive.columns(query, columns)
        goes_on = uniforms >= self.satisfying.columns(query, columns)
        reach = 1.0
        for slot in range(1, len(columns)):
            reach *= self.after_skip  # P(patience < reach) = after_skip ** slot
            goes_on[slot] &= goes_on[slot - 1]
            clicks[slot] &= goes_on[slot - 1]
            clicks[slot] &= patience < reach
        return clicks

    def sample_page(self, query: int, ranking: list[int], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page."""
        values = self.attractive.page(query, ranking)
        satisfying = self.satisfying.page(query, ranking)
        clicks = [False] * len(ranking)
        patience, *draws = uniforms.take(len(ranking) + 1)
        reach = 1.0
        for slot, uniform in enumerate(draws):
            if uniform < values[slot]:
                clicks[slot] = True
                if uniform < satisfying[slot]:
                    break
            reach *= self.after_skip
            if patience >= reach:
                break
        return clicks


class CascadeModel(WithAttractiveness, ClickModel):
    """A model that reads from the top; its constructor says how, in ``self._reading``."""

    reads_down = True
    _reading: CascadeReading

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> Floats:
        """Return P(C_k = 1 | c_<k), (n, K), by filtering P(E_k = 1 | c_<k) down the page."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        probs = self._reading.conditionals(query, ranking.T, clicks.T)
        return zero_after_impossible(np.ascontiguousarray(probs.T), clicks)

    def click_probs(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(C_k = 1), (n, K), by forward recursion over P(E_k = 1)."""
        query, ranking = check_pages(self, query, ranking)
        return np.ascontiguousarray(self._reading.marginals(query, ranking.T).T)

    def satisfying_clicks(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(click at rank k, and the user is satisfied by it), (n, K)."""
        query, ranking = check_pages(self, query, ranking)
        return np.ascontiguousarray(self._reading.satisfactions(query, ranking.T).T)

    def score_columns(self, query: Integers, columns: Integers) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n)."""
        return self._reading.scores(query, columns)

    def sample_columns(self, query: Integers, columns: Integers, rng: Generator) -> Booleans:
        """Draw clicks, (K, n)."""
        return self._reading.sample(query, columns, rng)

    def sample_page(self, query: int, ranking: list[int], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page."""
        return self._reading.sample_page(query, ranking, uniforms)
