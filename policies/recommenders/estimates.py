"""What recommenders think of items, and the rankings that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...common.ordering import order_by_scores
from ...common.typing import Booleans, Floats, Integers

_CELLS = 1 << 22  # estimates made at a time
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Estimates:
    """What a recommender has learned.

    Attributes
    ----------
    of_users : function
        Of users (b,) it gives the estimates of all items, (b, I): more is better, NaN = none.
    cells : int
        How many estimates (users times items) are best made at a time.
    """

    of_users: Callable[[Integers], Floats]
    cells: int = _CELLS


@dataclass(frozen=True)
class Ordering:
    """How estimates become a ranking.

    Attributes
    ----------
    rounding : str
        "float32", as Mahout keeps estimates, or "none" (float64).
    ties : str
        Items of equal estimates "random" or by "index".
    fill : bool
        Whether places that are left are filled with candidates without an estimate, at random.
    """

    rounding: str = "float32"
    ties: str = "random"
    fill: bool = False

    def top(
        self, estimates: Floats, candidates: Booleans, slots: int, rng: np.random.Generator
    ) -> Integers:
        """Return the best ``slots`` candidates of each row, (b, slots); -1 where there are none.

        Estimates and candidates are (b, N).
        """
        known = candidates & ~np.isnan(estimates)
        best = self._best(estimates, known, slots, rng)
        if self.fill:
            rest = order_by_scores(np.zeros(known.shape), slots, rng, candidates & ~known)
            best = np.hstack([best, rest])
            shown_first = np.argsort(best < 0, axis=1, kind="stable")
            best = np.take_along_axis(best, shown_first, axis=1)[:, :slots]
        missing = slots - best.shape[1]
        return np.pad(best, ((0, 0), (0, missing)), constant_values=-1) if missing > 0 else best

    def _best(
        self, estimates: Floats, known: Booleans, slots: int, rng: np.random.Generator
    ) -> Integers:
        scores = np.where(known, np.clip(estimates, -_LARGEST, _LARGEST), 0.0)
        if self.rounding == "float32":
            scores = scores.astype(np.float32)
            if self.ties == "random":
                return order_by_scores(scores, slots, rng, known)
        noise = rng.random(scores.shape) if self.ties == "random" else np.zeros(scores.shape)
        order = np.lexsort((noise, -scores, ~known), axis=1)[:, :slots]
        return np.where(np.take_along_axis(known, order, axis=1), order, -1)
