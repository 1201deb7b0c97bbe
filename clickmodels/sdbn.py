"""The simplified dynamic Bayesian network model."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..common.typing import Floats
from .reading.cascade import CascadeModel, SatisfiedReading
from .registry import register
from .tablefit.cascade_fit import CascadeFit
from .tablefit.continuation import Satisfying


@register("SDBN")
class SDBN(CascadeModel):
    """Simplified DBN (Chapelle and Zhang 2009): a DBN whose user never tires.

    Assumptions: as in DBN with a continuation probability of one: the user reads on until
    satisfied. Fitted with ``method="likelihood"`` (the default: a user may read on past the last
    click) or with the classical ``"counts"``, which take every last click for a satisfied one.
    ``"clicked"`` also leaves out pages without a click: the counts of the metric EBU (Yilmaz et
    al. 2010).

    Parameters
    ----------
    attractiveness : (Q, N)
    satisfaction : (Q, N)
        P(satisfied | clicked).
    """

    pair_tables = frozenset({"attractiveness", "satisfaction"})
    discouraging = frozenset({"satisfaction"})
    _reading: SatisfiedReading
    table_fit = CascadeFit(Satisfying(patient=True), methods=("likelihood", "counts", "clicked"))

    def __init__(self, attractiveness: ArrayLike, satisfaction: ArrayLike) -> None:
        super().__init__(attractiveness)
        self._reading = SatisfiedReading(self._attractiveness, satisfaction, 1.0)

    @property
    def satisfaction(self) -> Floats:
        """P(satisfied | clicked), (Q, N)."""
        return self._reading.satisfied.values

    def relevance(self) -> Floats:
        """Return attractiveness times satisfaction, (Q, N)."""
        return self._reading.satisfying.values
