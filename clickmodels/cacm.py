"""CACM⊖, the context-aware click model without context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scipy.special import expit

from ..data import ClickLog, World
from .arm import check_slots
from .base import ClickModel
from .cells import fold, prefix_cells
from .examined import fit_examined
from .prefix import PrefixModel
from .registry import register

if TYPE_CHECKING:
    from .networks import Network

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
    def _fit_table(cls, log: ClickLog, world: World, seed: int) -> ClickModel:
        from .prefix_networks import GRUExamination
        from .training import seeded

        check_slots(log.slots, cls.name)
        counts = fold(log, world, prefix_cells, (1 << log.slots) - 1)
        with seeded(seed):
            examination = GRUExamination(log.slots, _HIDDEN, counts.cells)
        fitted = fit_examined(counts, world, examination)
        return cls(fitted.attractiveness, expit(examination.all_logits(fitted.theta)))

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        from .prefix_networks import CACMMinusNetwork

        check_slots(slots, cls.name)
        return CACMMinusNetwork(world, slots, embedding, hidden)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"attractiveness": self.attractiveness, "examination": self.examination}
