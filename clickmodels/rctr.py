"""The click-through rate by rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Floats, Integers
from ..data import ClickLog, World
from .reading.independent import IndependentModel
from .registry import register
from .tablefit.counting import check_log, count_by_rank, rank_rate


@register("rCTR")
class RCTR(IndependentModel):
    """Click-through rate by rank (Craswell et al. 2008; below equation 3 of the robustness paper).

    Assumptions: clicks depend on the rank alone. ``relevance`` is 0 everywhere: all documents tie.

    Parameters
    ----------
    click_rate : (K,)
        By rank; pages may have fewer slots.
    n_queries, n_docs : int
        The world's.
    """

    def __init__(self, click_rate: ArrayLike, n_queries: int, n_docs: int) -> None:
        self.click_rate = checks.probabilities(click_rate, "click_rate", 1).copy()
        if self.click_rate.size == 0:
            raise ValueError("click_rate must have at least one rank")
        self.click_rate.flags.writeable = False
        self._shape = (
            checks.positive_integer(n_queries, "n_queries"),
            checks.positive_integer(n_docs, "n_docs"),
        )

    @classmethod
    def fit(cls, log: ClickLog, world: World, seed: int = 0) -> RCTR:
        """Return clicks / impressions of each rank of the log; nothing is random.

        They are not smoothed. A rank at which the log never shows a document, though its rows
        have the slot, gets the rate over all ranks.
        """
        check_log(log, world)
        return cls(rank_rate(count_by_rank(log)), world.n_queries, world.n_docs)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and candidate places."""
        return self._shape

    @property
    def max_slots(self) -> int:
        """The number of slots of the log."""
        return len(self.click_rate)

    def relevance(self) -> Floats:
        """Return zeros, (Q, N): all documents tie."""
        return np.broadcast_to(0.0, self._shape)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        n_queries, n_docs = self._shape
        return {"click_rate": self.click_rate, "n_queries": n_queries, "n_docs": n_docs}

    def _probs(self, query: Integers, document: Integers, rank: Integers) -> Floats:
        return np.where(document >= 0, self.click_rate[rank], 0.0)
