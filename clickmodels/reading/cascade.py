"""Models of a user who reads from the top, and goes on or stops after each document."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common import checks
from ...common.random import Uniforms
from ...data import ClickLog, World
from ..base import ClickModel, zero_after_impossible
from ..tablefit.cascade_fit import METHODS, ChainFold, FittedChain, count_to_last_click, fit_chain
from ..tablefit.continuation import Continuation
from ..tablefit.strategy import StructuralModel, pair_table

Floats = NDArray[np.float64]


class ChainModel(StructuralModel):
    """Reading from the top: an examined document is clicked if attractive, then reading goes on.

    It goes on with probability ``after_skip`` after a skip, and after a click with a probability
    that the subclass gives by document or by rank (``after_click_columns``). Everything else
    follows by recursion over P(examined), in O(n K).
    """

    @classmethod
    def _continuation(cls) -> Continuation:
        """Return how reading goes on, to be fitted."""
        raise NotImplementedError(f"{cls.__name__} does not define _continuation()")

    @classmethod
    def _of_tables(
        cls, attractiveness: Floats, fitted: FittedChain, fold: ChainFold, world: World
    ) -> ClickModel:
        """Return the model of what was fitted."""
        raise NotImplementedError(f"{cls.__name__} does not define _of_tables()")

    @classmethod
    def _fold(cls, log: ClickLog, world: World) -> ChainFold:
        return ChainFold(log, world, cls._continuation().cells)

    @classmethod
    def _search(
        cls,
        fold: Any,
        counts: Any,
        seed: int,
        start: Any,
        method: str = "likelihood",
        **settings: Any,
    ) -> FittedChain:
        if checks.choice(method, METHODS, "method") == "counts":
            return count_to_last_click(counts, cls._continuation())
        return fit_chain(counts, cls._continuation(), start)

    @classmethod
    def _made(cls, fold: Any, fitted: Any, world: World) -> ClickModel:
        attractiveness = pair_table(fold.pairs, fitted.logits, fitted.attractive, world)
        return cls._of_tables(attractiveness, fitted, fold, world)

    @property
    def after_skip(self) -> float:
        """P(the next rank is examined | this one was, and was skipped)."""
        raise NotImplementedError(f"{type(self).__name__} does not define after_skip")

    def after_click_columns(self, query: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
        """Return P(the next rank is examined | a click here), (K, n), for pages slot by slot."""
        raise NotImplementedError(f"{type(self).__name__} does not define after_click_columns()")

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> Floats:
        """Return P(C_k = 1 | c_<k), (n, K), by filtering P(E_k = 1 | c_<k) down the page."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        values = self._attractiveness.columns(query, ranking.T)
        after_click = self.after_click_columns(query, ranking.T)
        examined = np.ones(len(query))
        probs = np.empty(values.shape)
        for slot in range(len(values)):
            probs[slot] = examined * values[slot]
            skipped = 1.0 - probs[slot]
            # A skip that could not happen leaves 0 / 0 here; zero_after_impossible settles it.
            after_skip = examined * (1.0 - values[slot]) / np.where(skipped > 0, skipped, 1.0)
            after_skip *= self.after_skip
            examined = np.where(clicks[:, slot], after_click[slot], after_skip)
        return zero_after_impossible(np.ascontiguousarray(probs.T), clicks)

    def click_probs(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(C_k = 1), (n, K), by forward recursion over P(E_k = 1)."""
        query, ranking = self.checked_pages(query, ranking)
        return np.ascontiguousarray(self._forward(query, ranking.T).T)

    def score_columns(self, query: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n)."""
        total: Floats = self._forward(query, columns).sum(axis=0)
        return total

    def _forward(self, query: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
        """Return P(C_k = 1), (K, n)."""
        values = self._attractiveness.columns(query, columns)
        goes_on = self._goes_on_columns(values, query, columns)
        examined = np.ones(len(query))
        for slot in range(len(values)):
            values[slot] *= examined
            examined *= goes_on[slot]
        return values

    def _goes_on_columns(
        self, values: Floats, query: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> Floats:
        """Return P(the next rank is examined | this one is), (K, n)."""
        result = self.after_click_columns(query, columns) - self.after_skip
        result *= values
        result += self.after_skip
        return result

    def sample_columns(
        self, query: NDArray[np.int64], columns: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Draw clicks, (K, n); one uniform a slot decides both the click and what follows."""
        uniforms = rng.random(columns.shape)
        values = self._attractiveness.columns(query, columns)
        clicks = uniforms < values
        # Given a click the uniform is below the value, given a skip it is above: what is left
        # of it, stretched, is uniform again.
        goes_on = uniforms < values * self.after_click_columns(query, columns)
        goes_on |= ~clicks & (uniforms < values + (1.0 - values) * self.after_skip)
        for slot in range(1, len(columns)):
            clicks[slot] &= goes_on[slot - 1]
            goes_on[slot] &= goes_on[slot - 1]
        return clicks

    def sample_page(self, query: int, ranking: list[int], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page."""
        values = self._attractiveness.page(query, ranking)
        after_click = self._after_click_page(query, ranking)
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

    def _after_click_page(self, query: int, ranking: list[int]) -> list[float]:
        """Return P(the next rank is examined | a click here) of one page."""
        raise NotImplementedError(f"{type(self).__name__} does not define _after_click_page()")
