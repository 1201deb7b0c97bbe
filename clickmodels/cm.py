"""The cascade model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..data import ClickLog
from .reading.cascade import CascadeModel, SatisfiedReading
from .registry import register
from .tablefit.cascade_fit import CascadeFit
from .tablefit.continuation import Leaving


def to_first_click(log: ClickLog) -> ClickLog:
    """Return the log with every page cut below its first click."""
    before = np.zeros(log.clicks.shape, dtype=bool)
    before[:, 1:] = np.logical_or.accumulate(log.clicks, axis=1)[:, :-1]
    ranking, clicks = np.where(before, -1, log.ranking), log.clicks & ~before
    return ClickLog(log.query, ranking, clicks, weight=log.weight)


@register("CM")
class CM(CascadeModel):
    """Cascade model (Craswell et al. 2008): the user clicks the first attractive document.

    Assumptions: the user reads from the top, clicks the first attractive document and leaves; a
    page with two clicks is impossible. Fitted in closed form, from each page down to its first
    click: what follows it is left out, as the model has no way to make it.

    Parameters
    ----------
    attractiveness : (Q, N)
    """

    table_fit = CascadeFit(Leaving(), methods=("counts",), cut=to_first_click)

    def __init__(self, attractiveness: ArrayLike) -> None:
        super().__init__(attractiveness)
        self._reading = SatisfiedReading(self._attractiveness, np.ones(self.shape), 1.0)
