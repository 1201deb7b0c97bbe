"""The user browsing model."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ..common.random import Uniforms
from ..common.typing import Booleans, Floats, Integers
from .base import ClickModel
from .cells import latest_cells
from .pages import check_pages, zero_after_impossible
from .reading.attractiveness import WithAttractiveness, read_probabilities
from .registry import register
from .tablefit.examined_fit import ExaminedFit


@register("UBM")
class UBM(WithAttractiveness, ClickModel):
    """User browsing model (Dupret and Piwowarski 2008; equation 9 of the robustness paper).

    Assumptions: as in PBM, but examination depends on the rank and on the rank of the latest
    click above it.

    Parameters
    ----------
    attractiveness : (Q, N)
    examination : (K, K)
        ``[r, r']`` for the slot ``r`` (0-based), with ``r' = 0`` when nothing was clicked yet,
        else the 1-based rank of the latest click. Entries with ``r' > r`` are never read.
    """

    reads_down = True
    table_fit = ExaminedFit(latest_cells)

    def __init__(self, attractiveness: ArrayLike, examination: ArrayLike) -> None:
        super().__init__(attractiveness)
        self.examination = read_probabilities(examination, "examination", 2)
        rows, columns = self.examination.shape
        if rows != columns:
            raise ValueError(f"examination must be square, not {self.examination.shape}")
        self._examination_list = self.examination.tolist()

    @property
    def max_slots(self) -> int:
        """The size of ``examination``."""
        return len(self.examination)

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> Floats:
        """Return attractiveness times the examination that the latest click gives, (n, K)."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        slots = ranking.shape[1]
        latest = np.zeros(ranking.shape, dtype=np.int64)
        ranks = np.where(clicks, np.arange(1, slots + 1), 0)
        latest[:, 1:] = np.maximum.accumulate(ranks, axis=1)[:, :-1]
        probs = self._attractiveness.rows(query, ranking)
        probs *= self.examination[np.arange(slots), latest]
        return zero_after_impossible(probs, clicks)

    def click_probs(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(C_k = 1), (n, K), by recursion over the rank of the latest click: O(n K²)."""
        query, ranking = check_pages(self, query, ranking)
        return np.ascontiguousarray(self.click_columns(query, ranking.T).T)

    def score_columns(self, query: Integers, columns: Integers) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n)."""
        return self.click_columns(query, columns).sum(axis=0)

    def click_columns(self, query: Integers, columns: Integers) -> Floats:
        """Return P(C_k = 1) of pages laid out slot by slot, (K, n), without checks."""
        slots, n = columns.shape
        values = self._attractiveness.columns(query, columns)
        latest = np.empty((slots + 1, n))  # P(the latest click so far is at this rank)
        latest[0] = 1.0
        result, clicked = np.empty((slots, n)), np.empty((slots, n))
        for slot in range(slots):
            ranks = slot + 1
            state, examined = latest[:ranks], self.examination[slot, :ranks]
            np.matmul(examined, state, out=result[slot])
            result[slot] *= values[slot]
            moved = np.multiply(examined[:, None], values[slot], out=clicked[:ranks])
            moved *= state
            state -= moved
            latest[ranks] = result[slot]
        return result

    def sample_columns(self, query: Integers, columns: Integers, rng: Generator) -> Booleans:
        """Draw clicks, (K, n)."""
        values = self._attractiveness.columns(query, columns)
        uniforms = rng.random(columns.shape)
        clicks = np.empty(columns.shape, dtype=bool)
        latest = np.zeros(columns.shape[1], dtype=np.int64)
        for slot in range(len(columns)):
            values[slot] *= self.examination[slot].take(latest)
            np.less(uniforms[slot], values[slot], out=clicks[slot])
            latest[clicks[slot]] = slot + 1
        return clicks

    def sample_page(self, query: int, ranking: list[int], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page."""
        values = self._attractiveness.page(query, ranking)
        clicks = [False] * len(ranking)
        latest = 0
        for slot, uniform in enumerate(uniforms.take(len(ranking))):
            if uniform < values[slot] * self._examination_list[slot][latest]:
                clicks[slot] = True
                latest = slot + 1
        return clicks
