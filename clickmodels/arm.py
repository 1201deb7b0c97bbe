"""The auto-regressive click model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike
from scipy.special import expit

from ..common import checks
from .cells import PREFIX_SLOTS, prefix_cells, prefix_design
from .reading.prefixes import PrefixModel
from .registry import register
from .tablefit.examined_fit import ClickRegression, ExaminedFit

if TYPE_CHECKING:
    from .networks.prefix_networks import ARMNetwork


def load_network() -> type[ARMNetwork]:
    """Return the network of this model, imported late because torch takes a second."""
    from .networks.prefix_networks import ARMNetwork

    return ARMNetwork


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

    table_fit = ExaminedFit(prefix_cells, ClickRegression, load_network)

    def __init__(self, attractiveness: ArrayLike, weights: ArrayLike) -> None:
        self.weights = checks.finite(weights, "weights", 1).copy()
        if not 1 <= len(self.weights) <= PREFIX_SLOTS:
            raise ValueError(f"weights must have 1 to {PREFIX_SLOTS} entries")
        super().__init__(attractiveness, expit(prefix_design(len(self.weights)) @ self.weights))
