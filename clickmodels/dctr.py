"""The click-through rate by query and document."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..common.random import Uniforms
from ..common.typing import Floats, Integers
from ..data import ClickLog, World
from .reading.independent import IndependentModel
from .reading.tables import Table
from .registry import register
from .saving import constructor_arguments
from .tablefit.counting import (
    check_counts,
    check_log,
    check_smoothing,
    count_by_pair,
    rate,
    smoothed_rate,
)


@register("dCTR")
class DCTR(IndependentModel):
    """Click-through rate by query-document pair (equation 2 of the robustness paper).

    Assumptions: clicks depend on query and document alone, never on the rank. What the logging
    policy showed high is therefore thought to be good.

    The rate is ``(c + smoothing) / (n + smoothing / prior)`` with c clicks, n impressions and the
    global click-through rate as ``prior``: a pair that was never shown has exactly the prior.
    ``relevance`` is this rate too, as in the released code; the paper smooths "when predicting
    clicks", but equation 2 makes the two one.

    Parameters
    ----------
    clicks, impressions : (Q, N)
        How often each pair was clicked and shown.
    smoothing : float
        The α of the paper's prior; 0 for none.

    Notes
    -----
    Memory is 24 bytes for each of Q × N pairs, shown or not.
    """

    pair_tables = frozenset({"clicks", "impressions"})

    def __init__(self, clicks: ArrayLike, impressions: ArrayLike, smoothing: float = 1.0) -> None:
        self.clicks, self.impressions = check_counts(clicks, impressions)
        self.smoothing = check_smoothing(smoothing)
        self.prior = float(rate(self.clicks.sum(), self.impressions.sum()))
        rates = smoothed_rate(self.clicks, self.impressions, self.prior, self.smoothing)
        self._rates = Table(rates, "click_rate")

    @classmethod
    def fit(cls, log: ClickLog, world: World, seed: int = 0, smoothing: float = 1.0) -> DCTR:
        """Count the log; nothing is random. Time grows with n K + Q N K."""
        check_log(log, world)
        return cls(*count_by_pair(log, world), smoothing)

    def for_documents(self, classes: Integers) -> DCTR:
        """Return the model in which documents (Q, N) have the rate of their class.

        The impressions of a class are shared out evenly among its documents; their clicks are
        such that no smoothing gives the class's rate, which was smoothed.
        """
        documents = np.bincount(classes.reshape(-1), minlength=self.shape[1])
        shown = self.impressions[0] / np.maximum(documents, 1)
        return DCTR((self.click_rate[0] * shown)[classes], shown[classes], smoothing=0.0)

    @property
    def click_rate(self) -> Floats:
        """P(C = 1) of each pair, (Q, N)."""
        return self._rates.values

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and candidate places."""
        return self.clicks.shape[0], self.clicks.shape[1]

    def state(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return constructor_arguments(self)

    def relevance(self) -> Floats:
        """Return the click rate, (Q, N)."""
        return self.click_rate

    def _probs(self, query: Integers, document: Integers, rank: Integers) -> Floats:
        return self._rates.columns(query, document)  # broadcasts, so it serves rows too

    def sample_page(self, query: int, ranking: list[int], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page."""
        draws = uniforms.take(len(ranking))
        return [draws[slot] < value for slot, value in enumerate(self._rates.page(query, ranking))]
