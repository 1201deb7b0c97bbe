"""The cascade model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..data import ClickLog, World
from .base import ClickModel
from .dbn import DBN
from .registry import register
from .tablefit.cascade_fit import ChainFold, FittedChain
from .tablefit.continuation import Satisfying

if TYPE_CHECKING:
    from .networks.network import Network


@register("CM")
class CM(DBN):
    """Cascade model (Craswell et al. 2008): the user clicks the first attractive document.

    Assumptions: the user reads from the top, clicks the first attractive document and leaves; a
    page with two clicks is impossible. Fitted in closed form, from each page down to its first
    click: what follows it is left out, as the model has no way to make it.

    Parameters
    ----------
    attractiveness : (Q, N)
    """

    def __init__(self, attractiveness: ArrayLike) -> None:
        values = np.asarray(attractiveness)
        super().__init__(values, np.ones(values.shape), 1.0)

    @classmethod
    def _continuation(cls) -> Satisfying:
        return Satisfying(patient=True)

    @classmethod
    def _fold(cls, log: ClickLog, world: World) -> ChainFold:
        return super()._fold(_to_first_click(log), world)

    @classmethod
    def _search(
        cls,
        fold: Any,
        counts: Any,
        seed: int,
        start: Any,
        method: str = "counts",
        **settings: Any,
    ) -> FittedChain:
        return super()._search(fold, counts, seed, start, method)

    @classmethod
    def _seen(cls, fold: Any, counts: Any, world: World) -> None:
        return None  # the counts leave out what stands below a first click

    @classmethod
    def _of_satisfaction(
        cls, attractiveness: ArrayLike, satisfaction: ArrayLike, goes_on: float
    ) -> ClickModel:
        return cls(attractiveness)

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        from .networks.cascade_networks import CMNetwork

        return CMNetwork(world, embedding, hidden)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"attractiveness": self.attractiveness}


def _to_first_click(log: ClickLog) -> ClickLog:
    """Return the log with every page cut below its first click."""
    before = np.zeros(log.clicks.shape, dtype=bool)
    before[:, 1:] = np.logical_or.accumulate(log.clicks, axis=1)[:, :-1]
    ranking, clicks = np.where(before, -1, log.ranking), log.clicks & ~before
    return ClickLog(log.query, ranking, clicks, weight=log.weight)
