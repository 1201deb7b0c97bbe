"""The dependent click model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from ..common import checks
from ..data import World
from .base import ClickModel
from .reading.cascade import ChainModel
from .registry import register
from .tablefit.cascade_fit import ChainFold, FittedChain
from .tablefit.continuation import ByRank

if TYPE_CHECKING:
    from .networks.network import Network

Floats = NDArray[np.float64]


@register("DCM")
class DCM(ChainModel):
    """Dependent click model (Guo et al. 2009): a cascade with several clicks.

    Assumptions: the user reads from the top; an examined document is clicked if attractive; after
    a click reading goes on with a probability that depends on the rank alone, after a skip always.
    Fitted with ``method="likelihood"`` (the default: a user may read on past the last click) or
    with the classical ``"counts"``, which take reading to end at the last click.

    Parameters
    ----------
    attractiveness : (Q, N)
    continuation : (K,)
        P(reading goes on | click), by rank; pages may have fewer slots. The last entry has no
        effect on pages of K slots.
    """

    table_settings: ClassVar[frozenset[str]] = frozenset({"method"})

    def __init__(self, attractiveness: ArrayLike, continuation: ArrayLike) -> None:
        super().__init__(attractiveness)
        self.continuation = checks.probabilities(continuation, "continuation", 1).copy()
        if not len(self.continuation):
            raise ValueError("continuation must have at least one rank")
        self.continuation.flags.writeable = False
        self._continuation_list = self.continuation.tolist()

    @property
    def max_slots(self) -> int:
        """The length of ``continuation``."""
        return len(self.continuation)

    @classmethod
    def _continuation(cls) -> ByRank:
        return ByRank()

    @classmethod
    def _of_tables(
        cls, attractiveness: Floats, fitted: FittedChain, fold: ChainFold, world: World
    ) -> ClickModel:
        return cls(attractiveness, expit(fitted.theta))

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        from .networks.cascade_networks import DCMNetwork

        return DCMNetwork(world, slots, embedding, hidden)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"attractiveness": self.attractiveness, "continuation": self.continuation}

    @property
    def after_skip(self) -> float:
        """One: reading always goes on after a skip."""
        return 1.0

    def after_click_columns(self, query: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
        """Return the continuation probability of each rank, (K, n)."""
        return np.broadcast_to(self.continuation[: len(columns), None], columns.shape)

    def _after_click_page(self, query: int, ranking: list[int]) -> list[float]:
        return self._continuation_list
