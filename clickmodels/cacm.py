"""CACM⊖, the context-aware click model without context."""

from __future__ import annotations

from typing import Any

from .reading.prefixes import PrefixModel
from .registry import network_class, register
from .tablefit.cells import prefix_cells
from .tablefit.examined_fit import Examination, ExaminedFit
from .tablefit.pair_counts import PairCellFold


def gru_examination(fold: PairCellFold, seed: int) -> Examination:
    """Return the GRU of the registered network as the examination of a fold's cells."""
    network: Any = network_class("CACM-minus")
    examination: Examination = network.examination_of(fold, seed)
    return examination


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

    table_fit = ExaminedFit(prefix_cells, gru_examination, uses_network=True)
