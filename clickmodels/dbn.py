"""The dynamic Bayesian network model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common import checks
from ..common.random import Uniforms
from ..data import World
from .base import ClickModel
from .reading.attractiveness import Table
from .reading.cascade import ChainModel
from .registry import register
from .tablefit.cascade_fit import ChainFold, FittedChain
from .tablefit.continuation import Satisfying
from .tablefit.strategy import pair_table

if TYPE_CHECKING:
    from .networks.network import Network


@register("DBN")
class DBN(ChainModel):
    """Dynamic Bayesian network (Chapelle and Zhang 2009; the robustness paper, equations 10, 11).

    Assumptions: the user reads from the top; an examined document is clicked if attractive; a
    clicked one may satisfy, which ends the page; otherwise reading goes on with probability
    ``continuation``. Relevance is attractiveness times satisfaction.

    Parameters
    ----------
    attractiveness : (Q, N)
    satisfaction : (Q, N)
        P(satisfied | clicked).
    continuation : float
    """

    def __init__(
        self, attractiveness: ArrayLike, satisfaction: ArrayLike, continuation: float
    ) -> None:
        super().__init__(attractiveness)
        self._satisfaction = Table(satisfaction, "satisfaction")
        checks.same_shape(self.satisfaction, self.shape, "satisfaction", "attractiveness")
        self.continuation = float(checks.probabilities(continuation, "continuation", 0))
        # P(attractive and satisfying): one uniform decides click and satisfaction together.
        self._relevance = Table(self.attractiveness * self.satisfaction, "relevance")
        self._goes_on = Table(self.continuation * (1.0 - self.relevance()), "continuation")

    @property
    def satisfaction(self) -> NDArray[np.float64]:
        """P(satisfied | clicked), (Q, N)."""
        return self._satisfaction.values

    @classmethod
    def _continuation(cls) -> Satisfying:
        return Satisfying(patient=False)

    @classmethod
    def _of_tables(
        cls,
        attractiveness: NDArray[np.float64],
        fitted: FittedChain,
        fold: ChainFold,
        world: World,
    ) -> ClickModel:
        assert isinstance(fitted.continuation, Satisfying)
        logits, goes_on = fitted.continuation.split(fitted.theta)
        satisfaction = pair_table(fold.pairs, logits, fitted.continuation.satisfied, world)
        return cls._of_satisfaction(attractiveness, satisfaction, goes_on)

    @classmethod
    def _of_satisfaction(
        cls, attractiveness: ArrayLike, satisfaction: ArrayLike, goes_on: float
    ) -> ClickModel:
        return cls(attractiveness, satisfaction, goes_on)

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        from .networks.cascade_networks import DBNNetwork

        return DBNNetwork(world, embedding, hidden)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {
            "attractiveness": self.attractiveness,
            "satisfaction": self.satisfaction,
            "continuation": self.continuation,
        }

    def relevance(self) -> NDArray[np.float64]:
        """Return attractiveness times satisfaction, (Q, N)."""
        return self._relevance.values

    @property
    def after_skip(self) -> float:
        """The continuation probability."""
        return self.continuation

    def after_click_columns(
        self, query: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return P(not satisfied) times the continuation probability, (K, n)."""
        return self.continuation * (1.0 - self._satisfaction.columns(query, columns))

    def score_columns(
        self, query: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the expected clicks of pages laid out slot by slot, (K, n)."""
        values = self._attractiveness.columns(query, columns)
        goes_on = self._goes_on.columns(query, columns)
        total, examined = values[0].copy(), goes_on[0].copy()
        for slot in range(1, len(values)):
            values[slot] *= examined
            total += values[slot]
            examined *= goes_on[slot]
        return total

    def sample_columns(
        self, query: NDArray[np.int64], columns: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Draw clicks, (K, n); one uniform a slot, and one a page for how far reading goes."""
        uniforms = rng.random(columns.shape)
        patience = rng.random(columns.shape[1])
        clicks = uniforms < self._attractiveness.columns(query, columns)
        goes_on = uniforms >= self._relevance.columns(query, columns)
        reach = 1.0
        for slot in range(1, len(columns)):
            reach *= self.continuation  # P(patience < reach) = continuation ** slot
            goes_on[slot] &= goes_on[slot - 1]
            clicks[slot] &= goes_on[slot - 1]
            clicks[slot] &= patience < reach
        return clicks

    def sample_page(self, query: int, ranking: list[int], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page."""
        values = self._attractiveness.page(query, ranking)
        satisfying = self._relevance.page(query, ranking)
        clicks = [False] * len(ranking)
        patience, *draws = uniforms.take(len(ranking) + 1)
        reach = 1.0
        for slot, uniform in enumerate(draws):
            if uniform < values[slot]:
                clicks[slot] = True
                if uniform < satisfying[slot]:
                    break
            reach *= self.continuation
            if patience >= reach:
                break
        return clicks
