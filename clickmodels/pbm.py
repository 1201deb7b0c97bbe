"""The position-based model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..common.random import Uniforms
from ..common.typing import Floats, Integers
from .cells import rank_cells
from .reading.attractiveness import WithAttractiveness, read_probabilities
from .reading.independent import IndependentModel
from .registry import register
from .tablefit.examined_fit import ExaminedFit


@register("PBM")
class PBM(WithAttractiveness, IndependentModel):
    """Position-based model (Craswell et al. 2008; equations 7 and 8 of the robustness paper).

    Assumptions: a document is clicked if and only if it is examined and attractive; examination
    depends on the rank alone, attractiveness on query and document alone; slots are independent.

    Parameters
    ----------
    attractiveness : (Q, N)
    examination : (K,)
        By rank; pages may have fewer slots.
    """

    table_fit = ExaminedFit(rank_cells)

    def __init__(self, attractiveness: ArrayLike, examination: ArrayLike) -> None:
        super().__init__(attractiveness)
        self.examination = read_probabilities(examination, "examination", 1)
        self._examination_list = self.examination.tolist()

    @property
    def max_slots(self) -> int:
        """The length of ``examination``."""
        return len(self.examination)

    def _probs(self, query: Integers, document: Integers, rank: Integers) -> Floats:
        return self._attractiveness.columns(query, document) * self.examination[rank]

    def score_columns(self, query: Integers, columns: Integers) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n)."""
        return self.examination[: len(columns)] @ self._attractiveness.columns(query, columns)

    def sample_page(self, query: int, ranking: list[int], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page."""
        values = self._attractiveness.page(query, ranking)
        examination, draws = self._examination_list, uniforms.take(len(ranking))
        return [draws[slot] < value * examination[slot] for slot, value in enumerate(values)]

    def best_rankings(self, rankings: Integers) -> Integers:
        """Put the k-th most attractive document on the k-th most examined rank, (n, K)."""
        best = rankings.copy()
        length = (rankings >= 0).sum(axis=1)
        for size in np.unique(length[length > 0]):  # short pages too
            rows = length == size
            ranks = np.argsort(-self.examination[:size], kind="stable")
            ordered = np.empty((int(rows.sum()), size), dtype=np.int64)
            ordered[:, ranks] = rankings[rows, :size]
            best[rows, :size] = ordered
        return best
