"""CACM⊖, the context-aware click model without context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scipy.special import expit

from ..data import World
from .base import ClickModel
from .reading.prefixes import PrefixModel, check_slots
from .registry import register
from .tablefit.examined_fit import Examination
from .tablefit.examined_strategy import Floats
from .tablefit.pair_counts import PairCellFold

if TYPE_CHECKING:
    from .networks.network import Network

_HIDDEN = 32


@register("CACM-minus")
class CACMMinus(PrefixModel):
    """CACM⊖ (the robustness paper, equation 14; Chen et al. 2020 without context).

    Assumptions: as in PBM, but examination is the output of a GRU that reads, rank by rank, the
    position and whether the rank before was clicked. Once fitted, the GRU is a table of all click
    prefixes.

    Parameters
    ----------
    attractiveness : (Q, N)
    examination : (2^K - 1,)
        By the number of the click prefix.
    """

    deterministic: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def _examination(cls, fold: PairCellFold, seed: int) -> Examination:
        from .networks.prefix_networks import GRUExamination
        from .networks.schedule import seeded

        with seeded(seed):
            return GRUExamination(fold.slots, _HIDDEN, fold.cells)

    @classmethod
    def _of_tables(
        cls, attractiveness: Floats, theta: Floats, examination: Any, fold: PairCellFold
    ) -> ClickModel:
        return cls(attractiveness, expit(examination.all_logits(theta)))

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        from .networks.prefix_networks import CACMMinusNetwork

        check_slots(slots, cls.name)
        return CACMMinusNetwork(world, slots, embedding, hidden)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"attractiveness": self.attractiveness, "examination": self.examination}
