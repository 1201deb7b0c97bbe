"""Products of features and rewards: all that a lasso needs of its data."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
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
    centre: Floats
    level: Floats
    gram: Floats
    moments: Floats
    squares: Floats

    @staticmethod
    def of(pages: Floats, rewards: Floats, weight: Floats) -> Products:
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

    def lasso(self, which: int, penalty: float, start: Floats | None = None) -> Floats:
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

    def predictions(self, pages: Floats, coefficients: Floats, which: int) -> Floats:
        """Return the predictions for ``pages`` (q, F) by ``coefficients`` (F,), as (q,)."""
        return (pages - self.centre) @ coefficients + self.level[which]
