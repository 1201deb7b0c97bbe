"""The non-causal auto-regressive click model: it reads the click that it predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from ..common import checks
from ..common.typing import Floats
from .arm import ARM
from .base import CONDITIONAL, RANK, ClickModel
from .cells import own_prefix_cells
from .reading.attractiveness import WithAttractiveness
from .registry import register
from .tablefit.examined_fit import ClickRegression, ExaminedFit

if TYPE_CHECKING:
    from .networks.prefix_networks import ARMNCNetwork


def load_network() -> type[ARMNCNetwork]:
    """Return the network of this model, imported late because torch takes a second."""
    from .networks.prefix_networks import ARMNCNetwork

    return ARMNCNetwork


@register("ARM-NC")
class ARMNC(WithAttractiveness, ClickModel):
    """Non-causal ARM (the robustness paper, section 3.2.3): a warning, not a model to use.

    Assumptions: as ARM, but the logistic regression also reads the click on the rank itself, so
    its training task is degenerate and its perplexity means nothing (tables bracket it). It ranks
    and gives "conditionals", but it is not a distribution over clicks.

    Parameters
    ----------
    attractiveness : (Q, N)
    weights : (K + 1,)
        w_0 and the weights of the clicks on ranks 1 .. K.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({RANK, CONDITIONAL})
    table_fit = ExaminedFit(own_prefix_cells, ClickRegression, load_network)

    def __init__(self, attractiveness: ArrayLike, weights: ArrayLike) -> None:
        super().__init__(attractiveness)
        self.weights = checks.finite(weights, "weights", 1).copy()
        if len(self.weights) < 2:
            raise ValueError("weights must have at least 2 entries")

    @property
    def max_slots(self) -> int:
        """K."""
        return len(self.weights) - 1

    def read_as_causal(self) -> ARM:
        """Return the ARM with these parameters, one rank off: w_k weighs the click on rank k - 1.

        It was not trained to be one. The robustness paper's released evaluation does this: it feeds
        the clicks before a rank, moved on by one place, to weights that belong to the places.
        """
        return ARM(self.attractiveness, np.delete(self.weights, 1))

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> Floats:
        """Return "P(C_k = 1)" given c_1 .. c_k, the click itself included, (n, K)."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        seen = np.cumsum(clicks * self.weights[1 : clicks.shape[1] + 1], axis=1)
        return self._attractiveness.rows(query, ranking) * expit(self.weights[0] + seen)
