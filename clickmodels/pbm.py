"""The position-based model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from ..common import checks
from ..common.random import Uniforms
from ..common.typing import Integers
from ..data import World
from .base import ClickModel, zero_after_impossible
from .registry import register
from .tablefit.cells import Cells, rank_cells
from .tablefit.examined_fit import Examination
from .tablefit.examined_strategy import ExaminedModel, Floats
from .tablefit.pair_counts import PairCellFold

if TYPE_CHECKING:
    from .networks.network import Network


@register("PBM")
class PBM(ExaminedModel):
    """Position-based model (Craswell et al. 2008; equations 7 and 8 of the robustness paper).

    Assumptions: a document is clicked if and only if it is examined and attractive; examination
    depends on the rank alone, attractiveness on query and document alone; slots are independent.

    Parameters
    ----------
    attractiveness : (Q, N)
    examination : (K,)
        By rank; pages may have fewer slots.
    """

    def __init__(self, attractiveness: ArrayLike, examination: ArrayLike) -> None:
        super().__init__(attractiveness)
        self.examination = checks.probabilities(examination, "examination", 1).copy()
        if not len(self.examination):
            raise ValueError("examination must have at least one rank")
        self.examination.flags.writeable = False
        self._examination_list = self.examination.tolist()

    @property
    def max_slots(self) -> int:
        """The length of ``examination``."""
        return len(self.examination)

    @classmethod
    def _cells(cls, slots: int) -> Cells:
        return rank_cells

    @classmethod
    def _of_tables(
        cls, attractiveness: Floats, theta: Floats, examination: Examination, fold: PairCellFold
    ) -> ClickModel:
        by_rank = np.full(fold.slots, 0.5)
        by_rank[fold.cells] = expit(theta)
        return cls(attractiveness, by_rank)

    @classmethod
    def _network(cls, world: World, slots: int, embedding: int, hidden: int) -> Network:
        from .networks.network import PBMNetwork

        return PBMNetwork(world, slots, embedding, hidden)

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"attractiveness": self.attractiveness, "examination": self.examination}

    def click_probs(self, query: ArrayLike, ranking: ArrayLike) -> NDArray[np.float64]:
        """Return attractiveness times examination, (n, K)."""
        query, ranking = self.checked_pages(query, ranking)
        return self._attractiveness.rows(query, ranking) * self.examination[: ranking.shape[1]]

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> NDArray[np.float64]:
        """Return ``click_probs``: clicks on other slots tell nothing."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        return zero_after_impossible(self.click_probs(query, ranking), clicks)

    def score_columns(
        self, query: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the expected clicks of pages laid out slot by slot, (K, n)."""
        return self.examination[: len(columns)] @ self._attractiveness.columns(query, columns)

    def sample_columns(
        self, query: NDArray[np.int64], columns: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Draw clicks, (K, n)."""
        probs = self._attractiveness.columns(query, columns)
        probs *= self.examination[: len(columns), None]
        return rng.random(columns.shape) < probs

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
