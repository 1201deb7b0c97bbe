"""The non-causal auto-regressive click model: it reads the click that it predicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from ..common import checks
from ..data import World
from .arm import design
from .base import CONDITIONAL, RANK, ClickModel
from .reading.prefixes import check_slots
from .registry import register
from .tablefit.cells import Cells, SlotCells
from .tablefit.examined_fit import Examination, LinearExamination
from .tablefit.examined_strategy import ExaminedModel, Floats
from .tablefit.pair_counts import PairCellFold

if TYPE_CHECKING:
    from .networks.network import Network


@register("ARM-NC")
class ARMNC(ExaminedModel):
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

    def __init__(self, attractiveness: ArrayLike, weights: ArrayLike) -> None:
        super().__init__(attractiveness)
        self.weights = checks.finite(weights, "weights", 1).copy()
        if len(self.weights) < 2:
            raise ValueError("weights must have at least 2 entries")

    @property
    def max_slots(self) -> int:
        """K."""
        return len(self.weights) - 1

    @classmethod
    def _cells(cls, slots: int) -> Cells:
        check_slots(slots, cls.name)
        return _cells_with_own_click

    @classmethod
    def _examination(cls, fold: PairCellFold, seed: int) -> Examination:
        return LinearExamination(len(fold.cells), design(fold.slots + 1)[fold.cells])

    @classmethod
    def _of_tables(
        cls, attractiveness: Floats, theta: Floats, examination: Examination, fold: PairCellFold
    ) -> ClickModel:
        return cls(attractiveness, theta)

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        from .networks.prefix_networks import ARMNCNetwork

        return ARMNCNetwork(world, slots, embedding, hidden)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"attractiveness": self.attractiveness, "weights": self.weights}

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> NDArray[np.float64]:
        """Return "P(C_k = 1)" given c_1 .. c_k, the click itself included, (n, K)."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        seen = np.cumsum(clicks * self.weights[1 : clicks.shape[1] + 1], axis=1)
        return self._attractiveness.rows(query, ranking) * expit(self.weights[0] + seen)


def _cells_with_own_click(clicks: NDArray[np.bool_]) -> Iterator[SlotCells]:
    """Yield the number of the prefix that ends with each slot's own click."""
    code = np.zeros(len(clicks), dtype=np.int64)
    for slot in range(clicks.shape[1]):
        code = 2 * code + clicks[:, slot]
        yield SlotCells((2 << slot) - 1, 2 << slot, code)
