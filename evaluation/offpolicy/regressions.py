"""Regressions of rewards on the features of whole pages: trees and the lasso."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common import checks
from ...common.typing import Floats

Reals = NDArray[np.floating]  # pages may be of 32 bits
_ROUNDS = 500  # of coordinate descent; the weakest penalties need more, and are seldom the best
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Products:
    """Sums over rows, around ``centre`` and ``level``.

    Attributes
    ----------
    n : float
        Rows, by weight.
    centre, level : (F,), (R,)
        Means of features and rewards, or zeros.
    gram, moments, squares : (F, F), (F, R), (R,)
        Of features with each other, of features with rewards, and of rewards with themselves.
    """

    n: float
    centre: Reals
    level: Reals
    gram: Reals
    moments: Reals
    squares: Reals

    @staticmethod
    def from_rows(pages: Reals, rewards: Reals, weight: Reals) -> Products:
        """Return the products of ``pages`` (n, F) and ``rewards`` (n, R) by ``weight`` (n,).

        They are computed in the pages' precision, around the means.
        """
        n = float(weight.sum())
        centre, level = weight @ pages / n, weight @ rewards / n
        root = np.sqrt(weight)[:, None]
        features = (pages - centre.astype(pages.dtype)) * root.astype(pages.dtype)
        earned = (rewards - level) * root
        moments = features.T @ earned.astype(features.dtype)
        return Products(
            n, centre, level, (features.T @ features).astype(np.float64),
            moments.astype(np.float64), (earned**2).sum(axis=0),
        )  # fmt: skip

    def __add__(self, other: Products) -> Products:
        """Return the products of both parts' rows."""
        n = self.n + other.n
        share = self.n * other.n / n
        features, rewards = other.centre - self.centre, other.level - self.level
        return Products(
            n, (self.n * self.centre + other.n * other.centre) / n,
            (self.n * self.level + other.n * other.level) / n,
            self.gram + other.gram + share * np.outer(features, features),
            self.moments + other.moments + share * np.outer(features, rewards),
            self.squares + other.squares + share * rewards**2,
        )  # fmt: skip

    def around_zero(self) -> Products:
        """Return the products around zero, for a regression without an intercept."""
        return Products(
            self.n, np.zeros_like(self.centre), np.zeros_like(self.level),
            self.gram + self.n * np.outer(self.centre, self.centre),
            self.moments + self.n * np.outer(self.centre, self.level),
            self.squares + self.n * self.level**2,
        )  # fmt: skip

    def lasso(self, which: int, penalty: float, start: Reals | None = None) -> Reals:
        """Return one reward's coefficients (F,), searched from ``start``."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import enet_path

        # One row stands for all: the products are given, and penalties count by the row.
        row = np.zeros((1, len(self.centre)), order="F")
        reward = np.array([math.sqrt(self.squares[which])])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, coefficients, _ = enet_path(
                row, reward, l1_ratio=1.0, alphas=[penalty * self.n], precompute=self.gram,
                Xy=np.ascontiguousarray(self.moments[:, which]), coef_init=start, tol=_TOLERANCE,
                max_iter=_ROUNDS, check_input=False,
            )  # fmt: skip
        return coefficients[:, 0]

    def predictions(self, pages: Reals, coefficients: Reals, which: int) -> Reals:
        """Return the predictions for ``pages`` (q, F) by ``coefficients`` (F,), as (q,)."""
        return (pages - self.centre) @ coefficients + self.level[which]


# Splits are drawn at random among thresholds, as in the slates paper's released code: a tenth of
# the cost of looking for the best ones.
TREE = {"splitter": "random", "max_depth": 10, "min_samples_leaf": 10, "random_state": 0}
_PATIENCE = 2


class RewardTree:
    """Regression trees, one per reward.

    ``settings`` are scikit-learn's, on top of ``TREE``.
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = {**TREE, **settings}

    def fit(self, pages: Reals, rewards: Reals, sample_weight: Reals | None = None) -> RewardTree:
        """Fit to ``pages`` (n, F) and ``rewards`` (n, R)."""
        from sklearn.tree import DecisionTreeRegressor

        self.trees = [
            DecisionTreeRegressor(**self.settings).fit(pages, reward, sample_weight)
            for reward in rewards.T
        ]
        return self

    def predict(self, pages: Reals) -> Floats:
        """Return the rewards of ``pages`` (q, F), as (q, R)."""
        return np.column_stack([tree.predict(pages) for tree in self.trees])


class RewardLasso:
    """Lasso regressions, one per reward, which share the products of features.

    Parameters
    ----------
    penalties : int or sequence of float
        The penalties to try (scikit-learn's ``alpha``): these, or so many from the largest that
        matters down to a thousandth of it.
    intercept : bool
    seed : int
        Of the quarter of the rows that chooses the penalty; with the best one the lasso is fitted
        to all rows.

    Notes
    -----
    Costs O(n F²) once and then O(F²) per round of coordinate descent.
    """

    def __init__(
        self, penalties: int | Sequence[float] = 12, intercept: bool = True, seed: int = 0
    ) -> None:
        if isinstance(penalties, int):
            checks.positive_integer(penalties, "penalties")
        elif not (len(penalties) and min(penalties) > 0):
            raise ValueError(f"penalties must be above 0, not {penalties}")
        self.penalties, self.intercept, self.seed = penalties, intercept, seed

    def fit(self, pages: Reals, rewards: Reals, sample_weight: Reals | None = None) -> RewardLasso:
        """Fit to ``pages`` (n, F) and ``rewards`` (n, R)."""
        weight = np.ones(len(pages)) if sample_weight is None else np.asarray(sample_weight)
        order = np.random.default_rng(self.seed).permutation(len(pages))
        middle = max(3 * len(pages) // 4, 1)
        seen, left = order[:middle], order[middle:]
        known = Products.from_rows(pages[seen], rewards[seen], weight[seen])
        whole = known
        if len(left):
            whole = known + Products.from_rows(pages[left], rewards[left], weight[left])
        self._products = whole if self.intercept else whole.around_zero()
        known = known if self.intercept else known.around_zero()
        self.coefficients, self.chosen = [], []
        for which in range(rewards.shape[1]):
            penalties = self._list_penalties(known, which)
            unseen = (pages[left], rewards[left, which], weight[left])
            penalty, start = _choose_penalty(known, which, penalties, *unseen)
            self.coefficients.append(self._products.lasso(which, penalty, start))
            self.chosen.append(penalty)
        return self

    def _list_penalties(self, products: Products, which: int) -> Floats:
        if not isinstance(self.penalties, int):
            return np.sort(np.array(self.penalties, dtype=np.float64))[::-1]
        top = float(np.abs(products.moments[:, which]).max()) / products.n
        return max(top, 1e-12) * np.logspace(0.0, -3.0, self.penalties)

    def predict(self, pages: Reals) -> Floats:
        """Return the rewards of ``pages`` (q, F), as (q, R)."""
        return np.column_stack([
            self._products.predictions(pages, coefficients, which)
            for which, coefficients in enumerate(self.coefficients)
        ])  # fmt: skip


def _choose_penalty(
    products: Products, which: int, penalties: Floats, pages: Reals, rewards: Reals, weight: Reals
) -> tuple[float, Reals | None]:
    """Return the best of falling ``penalties`` on rows that were left out, and its coefficients.

    The weaker a penalty, the longer it takes: no more are tried after ``_PATIENCE`` in a row that
    were not better. Without rows to judge by it is the middle one.
    """
    if not len(rewards):
        return float(penalties[len(penalties) // 2]), None
    best: tuple[float, Reals | None] = (float(penalties[0]), None)
    lowest, since, coefficients = np.inf, 0, None
    for penalty in penalties.tolist():
        coefficients = products.lasso(which, penalty, coefficients)
        predicted = products.predictions(pages, coefficients, which)
        error = float(weight @ (predicted - rewards) ** 2)
        since += 1
        if error < lowest:
            lowest, best, since = error, (penalty, coefficients), 0
        if since == _PATIENCE:
            break
    return best
