"""The dynamic Bayesian network model."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Floats
from .reading.cascade import CascadeModel, SatisfiedReading
from .registry import register
from .tablefit.cascade_fit import CascadeFit
from .tablefit.continuation import Satisfying


@register("DBN")
class DBN(CascadeModel):
    """Dynamic Bayesian network (Chapelle and Zhang 2009; the robustness paper, equations 10, 11).

    Assumptions: the user reads from the top; an examined document is clicked if attractive; a
    clicked one may satisfy, which ends the page; otherwise reading goes on with probability
    ``continuation``. Relevance is attractiveness times satisfaction.

    Parameters
    ----------
    attractiveness : (Q, N)
    satisfaction : (Q, N)
        P(satisfied | clicked).
    continuation : float
    """

    pair_tables = frozenset({"attractiveness", "satisfaction"})
    discouraging = frozenset({"satisfaction"})
    _reading: SatisfiedReading
    table_fit = CascadeFit(Satisfying(patient=False))

    def __init__(
        self, attractiveness: ArrayLike, satisfaction: ArrayLike, continuation: float
    ) -> None:
        super().__init__(attractiveness)
        self.continuation = float(checks.probabilities(continuation, "continuation", 0))
        self._reading = SatisfiedReading(self._attractiveness, satisfaction, self.continuation)

    @property
    def satisfaction(self) -> Floats:
        """P(satisfied | clicked), (Q, N)."""
        return self._reading.satisfied.values

    def relevance(self) -> Floats:
        """Return attractiveness times satisfaction, (Q, N)."""
        return self._reading.satisfying.values
