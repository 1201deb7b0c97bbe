"""CACM⊖, the context-aware click model without context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cells import prefix_cells
from .reading.prefixes import PrefixModel
from .registry import register
from .tablefit.examined_fit import Examination, ExaminedFit
from .tablefit.pair_counts import PairCellFold

if TYPE_CHECKING:
    from .networks.prefix_networks import CACMMinusNetwork


def gru_examination(fold: PairCellFold, seed: int) -> Examination:
    """Return a GRU as the examination of a fold's cells; torch is imported late."""
    from .tablefit.gru_examination import make_gru_examination

    return make_gru_examination(fold, seed)


def load_network() -> type[CACMMinusNetwork]:
    """Return the network of this model; torch is imported late."""
    from .networks.prefix_networks import CACMMinusNetwork

    return CACMMinusNetwork


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

    table_fit = ExaminedFit(prefix_cells, gru_examination, load_network, uses_network=True)
