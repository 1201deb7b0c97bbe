"""The auto-regressive click model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from ..data import ClickLog, World, checks
from .base import PREFIX_SLOTS, ClickModel
from .cells import fold, prefix_cells, prefix_clicks
from .examined import LinearExamination, fit_examined
from .prefix import PrefixModel
from .registry import register

if TYPE_CHECKING:
    from .networks import Network


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
    def _fit_table(cls, log: ClickLog, world: World, seed: int) -> ClickModel:
        check_slots(log.slots, cls.name)
        counts = fold(log, world, prefix_cells, (1 << log.slots) - 1)
        examination = LinearExamination(len(counts.cells), design(log.slots)[counts.cells])
        fitted = fit_examined(counts, world, examination)
        return cls(fitted.attractiveness, fitted.theta)

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        from .prefix_networks import ARMNetwork

        check_slots(slots, cls.name)
        return ARMNetwork(world, slots, embedding, hidden)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"attractiveness": self.attractiveness, "weights": self.weights}


def design(slots: int) -> NDArray[np.float64]:
    """Return what the weights multiply for every click prefix, (2^slots - 1, slots)."""
    clicks, _ = prefix_clicks(slots)
    return np.column_stack([np.ones(len(clicks)), clicks])


def check_slots(slots: int, name: str) -> None:
    """Raise if pages are too long for a table of click prefixes."""
    if slots > PREFIX_SLOTS:
        raise ValueError(f"{name} takes pages of up to {PREFIX_SLOTS} slots, the log has {slots}")
