"""The global click-through rate."""

from __future__ import annotations

import numpy as np

from ..common import checks
from ..common.typing import Floats, Integers
from ..data import ClickLog, World
from .reading.independent import IndependentModel, WithWorldSize
from .registry import register
from .tablefit.counting import check_log, count_by_rank, rate


@register("CTR")
class CTR(WithWorldSize, IndependentModel):
    """Global click-through rate: one number for every document at every rank.

    Assumptions: clicks do not depend on anything. It is the least that a model must beat.
    ``relevance`` is 0 everywhere: all documents tie.

    Parameters
    ----------
    click_rate : float
    n_queries, n_docs : int
        The world's.
    """

    def __init__(self, click_rate: float, n_queries: int, n_docs: int) -> None:
        super().__init__(n_queries, n_docs)
        self.click_rate = float(checks.probabilities(click_rate, "click_rate", 0))

    @classmethod
    def fit(cls, log: ClickLog, world: World, seed: int = 0) -> CTR:
        """Return clicks / impressions of the log; nothing is random."""
        check_log(log, world)
        clicks, impressions = count_by_rank(log)
        click_rate = float(rate(clicks.sum(), impressions.sum()))
        return cls(click_rate, world.n_queries, world.n_docs)

    def _probs(self, query: Integers, document: Integers, rank: Integers) -> Floats:
        return np.where(document >= 0, self.click_rate, 0.0)
