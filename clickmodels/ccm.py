"""The click chain model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from .reading.attractiveness import read_probabilities
from .reading.cascade import CascadeModel, CascadeReading
from .reading.tables import Table
from .registry import register
from .tablefit.cascade_fit import CascadeFit
from .tablefit.continuation import ByRelevance


@register("CCM")
class CCM(CascadeModel):
    """Click chain model (Guo et al. 2009).

    Assumptions: the user reads from the top; an examined document is clicked if attractive; after
    a skip reading goes on with probability τ₁, after a click with τ₂ (1 - a) + τ₃ a, where a is
    the attractiveness of the clicked document: one number per document says both how often it is
    clicked and how much it satisfies. Guo et al. integrate over it; here it is a parameter.

    Parameters
    ----------
    attractiveness : (Q, N)
    continuation : (3,)
        τ₁ after a skip, τ₂ after a click on an irrelevant document, τ₃ on a relevant one.
    """

    table_fit = CascadeFit(ByRelevance())

    def __init__(self, attractiveness: ArrayLike, continuation: ArrayLike) -> None:
        super().__init__(attractiveness)
        self.continuation = read_probabilities(continuation, "continuation", 1)
        checks.same_shape(self.continuation, (3,), "continuation", "this model")
        skip, irrelevant, relevant = self.continuation.tolist()
        after_click = irrelevant + (relevant - irrelevant) * self.attractiveness
        table = Table(np.clip(after_click, 0.0, 1.0), "continuation")
        self._reading = CascadeReading(self._attractiveness, skip, table)
