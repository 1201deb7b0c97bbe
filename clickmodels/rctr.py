"""The click-through rate by rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..common.typing import Floats, Integers
from ..data import ClickLog, World
from .reading.attractiveness import read_probabilities
from .reading.independent import IndependentModel, WithWorldSize
from .registry import register
from .tablefit.counting import check_log, count_by_rank, rank_rate


@register("rCTR")
class RCTR(WithWorldSize, IndependentModel):
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
        super().__init__(n_queries, n_docs)
        self.click_rate = read_probabilities(click_rate, "click_rate", 1)

    @classmethod
    def fit(cls, log: ClickLog, world: World, seed: int = 0) -> RCTR:
        """Return clicks / impressions of each rank of the log; nothing is random.

        They are not smoothed. A rank at which the log never shows a document, though its rows
        have the slot, gets the rate over all ranks.
        """
        check_log(log, world)
        return cls(rank_rate(count_by_rank(log)), world.n_queries, world.n_docs)

    @property
    def max_slots(self) -> int:
        """The number of slots of the log."""
        return len(self.click_rate)

    def _probs(self, query: Integers, document: Integers, rank: Integers) -> Floats:
        return np.where(document >= 0, self.click_rate[rank], 0.0)
