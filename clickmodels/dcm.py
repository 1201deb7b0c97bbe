"""The dependent click model."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .reading.attractiveness import read_probabilities
from .reading.cascade import CascadeModel, CascadeReading, RankRates
from .registry import register
from .tablefit.cascade_fit import CascadeFit
from .tablefit.continuation import ByRank


@register("DCM")
class DCM(CascadeModel):
    """Dependent click model (Guo et al. 2009): a cascade with several clicks.

    Assumptions: the user reads from the top; an examined document is clicked if attractive; after
    a click reading goes on with a probability that depends on the rank alone, after a skip always.
    Fitted with ``method="likelihood"`` (the default: a user may read on past the last click) or
    with the classical ``"counts"``, which take reading to end at the last click.

    Parameters
    ----------
    attractiveness : (Q, N)
    continuation : (K,)
        P(reading goes on | click), by rank; pages may have fewer slots. The last entry has no
        effect on pages of K slots.
    """

    table_fit = CascadeFit(ByRank(), methods=("likelihood", "counts"))

    def __init__(self, attractiveness: ArrayLike, continuation: ArrayLike) -> None:
        super().__init__(attractiveness)
        self.continuation = read_probabilities(continuation, "continuation", 1)
        self._reading = CascadeReading(self._attractiveness, 1.0, RankRates(self.continuation))

    @property
    def max_slots(self) -> int:
        """The length of ``continuation``."""
        return len(self.continuation)
