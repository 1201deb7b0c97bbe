"""The auto-regressive click model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from ..common import checks
from ..data import World
from .base import PREFIX_SLOTS, ClickModel
from .reading.prefixes import PrefixModel, check_slots
from .registry import register
from .tablefit.cells import prefix_clicks
from .tablefit.examined_fit import Examination, LinearExamination
from .tablefit.examined_strategy import Floats
from .tablefit.pair_counts import PairCellFold

if TYPE_CHECKING:
    from .networks.network import Network


@register("ARM")
class ARM(PrefixModel):
    """Auto-regressive click model (the robustness paper, equation 15).

    Assumptions: as in PBM, but examination is a logistic regression on the clicks above, with one
    weight for each absolute rank: logit = w_0 + w_1 c_1 + … + w_{r-1} c_{r-1}. Skips do not
    matter.

    Parameters
    ----------
    attractiveness : (Q, N)
    weights : (K,)
        w_0 and the weights of the clicks on ranks 1 .. K-1.
    """

    def __init__(self, attractiveness: ArrayLike, weights: ArrayLike) -> None:
        self.weights = checks.finite(weights, "weights", 1).copy()
        if not 1 <= len(self.weights) <= PREFIX_SLOTS:
            raise ValueError(f"weights must have 1 to {PREFIX_SLOTS} entries")
        super().__init__(attractiveness, expit(design(len(self.weights)) @ self.weights))

    @classmethod
    def _examination(cls, fold: PairCellFold, seed: int) -> Examination:
        return LinearExamination(len(fold.cells), design(fold.slots)[fold.cells])

    @classmethod
    def _of_tables(
        cls, attractiveness: Floats, theta: Floats, examination: Examination, fold: PairCellFold
    ) -> ClickModel:
        return cls(attractiveness, theta)

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        from .networks.prefix_networks import ARMNetwork

        check_slots(slots, cls.name)
        return ARMNetwork(world, slots, embedding, hidden)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"attractiveness": self.attractiveness, "weights": self.weights}


def design(slots: int) -> NDArray[np.float64]:
    """Return what the weights multiply for every click prefix, (2^slots - 1, slots)."""
    clicks, _ = prefix_clicks(slots)
    return np.column_stack([np.ones(len(clicks)), clicks])
