"""The click chain model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from ..common import checks
from ..data import World
from .base import ClickModel
from .reading.attractiveness import Table
from .reading.cascade import ChainModel
from .registry import register
from .tablefit.cascade_fit import ChainFold, FittedChain
from .tablefit.continuation import ByRelevance

if TYPE_CHECKING:
    from .networks.network import Network

Floats = NDArray[np.float64]


@register("CCM")
class CCM(ChainModel):
    """Click chain model (Guo et al. 2009).

    Assumptions: the user reads from the top; an examined document is clicked if attractive; after
    a skip reading goes on with probability τ₁, after a click with τ₂ (1 - a) + τ₃ a, where a is
    the attractiveness of the clicked document: one number a document says both how often it is
    clicked and how much it satisfies. Guo et al. integrate over it; here it is a parameter.

    Parameters
    ----------
    attractiveness : (Q, N)
    continuation : (3,)
        τ₁ after a skip, τ₂ after a click on an irrelevant document, τ₃ on a relevant one.
    """

    def __init__(self, attractiveness: ArrayLike, continuation: ArrayLike) -> None:
        super().__init__(attractiveness)
        self.continuation = checks.probabilities(continuation, "continuation", 1).copy()
        checks.same_shape(self.continuation, (3,), "continuation", "this model")
        self.continuation.flags.writeable = False
        skip, irrelevant, relevant = self.continuation.tolist()
        self._after_skip = skip
        table = irrelevant + (relevant - irrelevant) * self.attractiveness
        self._after_click = Table(np.clip(table, 0.0, 1.0), "continuation")

    @classmethod
    def _continuation(cls) -> ByRelevance:
        return ByRelevance()

    @classmethod
    def _of_tables(
        cls, attractiveness: Floats, fitted: FittedChain, fold: ChainFold, world: World
    ) -> ClickModel:
        return cls(attractiveness, expit(fitted.theta))

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        from .networks.cascade_networks import CCMNetwork

        return CCMNetwork(world, embedding, hidden)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"attractiveness": self.attractiveness, "continuation": self.continuation}

    @property
    def after_skip(self) -> float:
        """τ₁."""
        return self._after_skip

    def after_click_columns(self, query: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
        """Return τ₂ (1 - a) + τ₃ a of each document, (K, n)."""
        return self._after_click.columns(query, columns)

    def _after_click_page(self, query: int, ranking: list[int]) -> list[float]:
        return self._after_click.page(query, ranking)
