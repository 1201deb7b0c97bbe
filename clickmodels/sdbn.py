"""The simplified dynamic Bayesian network model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import ArrayLike

from ..data import World
from .base import ClickModel
from .dbn import DBN
from .registry import register
from .tablefit.continuation import Satisfying

if TYPE_CHECKING:
    from .networks.network import Network


@register("SDBN")
class SDBN(DBN):
    """Simplified DBN (Chapelle and Zhang 2009): a DBN whose user never tires.

    Assumptions: as in DBN with a continuation probability of one: the user reads on until
    satisfied. Fitted with ``method="likelihood"`` (the default: a user may read on past the last
    click) or with the classical ``"counts"``, which take every last click for a satisfied one.

    Parameters
    ----------
    attractiveness : (Q, N)
    satisfaction : (Q, N)
        P(satisfied | clicked).
    """

    table_settings: ClassVar[frozenset[str]] = frozenset({"method"})

    def __init__(self, attractiveness: ArrayLike, satisfaction: ArrayLike) -> None:
        super().__init__(attractiveness, satisfaction, 1.0)

    @classmethod
    def _continuation(cls) -> Satisfying:
        return Satisfying(patient=True)

    @classmethod
    def _of_satisfaction(
        cls, attractiveness: ArrayLike, satisfaction: ArrayLike, goes_on: float
    ) -> ClickModel:
        return cls(attractiveness, satisfaction)

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        from .networks.cascade_networks import SDBNNetwork

        return SDBNNetwork(world, embedding, hidden)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"attractiveness": self.attractiveness, "satisfaction": self.satisfaction}
