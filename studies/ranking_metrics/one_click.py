"""A user with position bias who clicks at most once on a page."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ...clickmodels import PBM, ClickModel
from ...common.typing import Booleans, Floats, Integers


class OneClick(ClickModel):
    """The position-based model, except that a click on one slot rules the others out.

    The product d at rank r is clicked with probability a_d · e_r, as in PBM; slots are not
    independent, but exclude one another, because the paper assumes at most one click on a page.
    So a product's click-through rate at a rank depends on nothing else on the page.

    Parameters
    ----------
    attractiveness : (Q, N)
    examination : (K,)
        By rank. Its sum times the largest attractiveness must not exceed 1.
    """

    def __init__(self, attractiveness: ArrayLike, examination: ArrayLike) -> None:
        self.independent = PBM(attractiveness, examination)
        most = self.independent.relevance().max() * self.independent.examination.sum()
        if most > 1.0 + 1e-12:
            raise ValueError(
                f"attractiveness and examination give a page up to {most:.3g} expected clicks, "
                "but it has one at most"
            )

    @property
    def max_slots(self) -> int:
        """The length of ``examination``."""
        return self.independent.max_slots

    def relevance(self) -> Floats:
        """Return the attractiveness, (Q, N)."""
        return self.independent.relevance()

    def click_probs(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(C_k = 1), (n, K)."""
        return self.independent.click_probs(query, ranking)

    def score_columns(self, query: Integers, columns: Integers) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n)."""
        return self.independent.score_columns(query, columns)

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> Floats:
        """Return P(C_k = 1 | c_1 .. c_{k-1}), (n, K): 0 after a click."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        probs = self.click_probs(query, ranking)
        before = np.cumsum(probs, axis=1) - probs
        after_click = np.cumsum(clicks, axis=1) - clicks > 0
        left = np.where(before < 1.0, 1.0 - before, 1.0)
        result: Floats = np.where(after_click, 0.0, np.minimum(probs / left, 1.0))
        return result

    def sample_columns(self, query: Integers, columns: Integers, rng: Generator) -> Booleans:
        """Draw clicks, (K, n): one uniform number for each page says which slot, if any."""
        probs = self.independent.click_probs(query, columns.T).T
        ends = np.cumsum(probs, axis=0)
        drawn = rng.random(len(query))
        clicks: Booleans = (drawn < ends) & (drawn >= ends - probs)
        return clicks
