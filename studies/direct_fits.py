"""Direct methods for growing logs: regressions of several rewards on the same pages."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..data import ClickLog, World
from ..evaluation.offpolicy.direct import slate_features

Floats = NDArray[np.floating]

# The trees' splits are drawn at random among thresholds, as in the paper's released code, which
# costs a tenth of the best ones.
TREE = {"splitter": "random", "max_depth": 10, "min_samples_leaf": 10, "random_state": 0}
ALPHAS = 12  # penalties that are tried for the lasso, over three orders of magnitude


def direct_values(
    methods: Sequence[str],
    log: ClickLog,
    rewards: Floats,
    slates: Sequence[NDArray[np.int64]],
    world: World,
    sizes: Sequence[int],
) -> list[tuple[str, int, NDArray[np.float64]]]:
    """Return what direct methods make of the beginnings of a log, one fit for all targets.

    Parameters
    ----------
    methods : sequence of str
        "dm-tree", "dm-lasso".
    log, rewards : ClickLog, (n, R)
    slates : T arrays (Q, K)
        What deterministic targets show.
    world : World
        Whose features are regressed on.
    sizes : sequence of int
        Of the beginnings: the first half is fitted to, the second says which queries are asked
        (equation 3).

    Returns
    -------
    Method, size and values (T, R).
    """
    if not sizes:
        return []
    features = world.standardised_features
    fitted = max(sizes) // 2
    pages = slate_features(log.query[:fitted], log.ranking[:fitted], features)
    queries = np.arange(world.n_queries)
    asked = np.concatenate([slate_features(queries, rows, features) for rows in slates])
    result = []
    for n in sizes:
        half = n // 2
        share = np.bincount(log.query[half:n], minlength=len(queries)) / (n - half)
        for method in methods:
            found = _METHODS[method](pages[:half], rewards[:half], asked)
            by_target = found.reshape(len(slates), len(queries), -1)
            result.append((method, n, np.einsum("q,tqr->tr", share, by_target)))
    return result


def tree_predictions(pages: Floats, rewards: Floats, asked: Floats) -> NDArray[np.float64]:
    """Return what regression trees, one a reward, predict for ``asked`` (q, F), as (q, R).

    ``pages`` are (n, F), ``rewards`` (n, R).
    """
    from sklearn.tree import DecisionTreeRegressor

    return np.column_stack([
        DecisionTreeRegressor(**TREE).fit(pages, reward).predict(asked) for reward in rewards.T
    ])  # fmt: skip


def lasso_predictions(pages: Floats, rewards: Floats, asked: Floats) -> NDArray[np.float64]:
    """Return what lasso regressions, one a reward, predict for ``asked`` (q, F), as (q, R).

    The penalty is the one, of ``ALPHAS``, that predicts the last quarter of the rows best from the
    others; with it the lasso is fitted to all rows. All rewards share the products of features.
    """
    train = max(3 * len(pages) // 4, 1)
    known, left = _Products(pages[:train], rewards[:train]), pages[train:]
    whole = _Products(pages, rewards)
    columns = []
    for which in range(rewards.shape[1]):
        penalties, path = known.path(which)
        if len(left):
            errors = known.predictions(left, path, which) - rewards[train:, which, None]
            best = int((errors**2).mean(axis=0).argmin())
        else:
            best = len(penalties) // 2
        _, fitted = whole.path(which, penalties[best : best + 1], path[:, best])
        columns.append(whole.predictions(asked, fitted, which)[:, 0])
    return np.column_stack(columns)


class _Products:
    """Centred products of features and rewards, all that a lasso needs of them."""

    def __init__(self, pages: Floats, rewards: Floats) -> None:
        self.n = len(pages)
        self.centre, self.level = pages.mean(axis=0), rewards.mean(axis=0)
        centred = pages - self.centre
        self.gram = (centred.T @ centred).astype(np.float64)
        self.rewards = np.asfortranarray(rewards - self.level, dtype=np.float64)
        self.moments = (centred.T @ self.rewards.astype(centred.dtype)).astype(np.float64)

    def path(
        self, which: int, alphas: Floats | None = None, start: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return penalties (A,) and the coefficients (F, A) of one reward's lasso with them."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import enet_path

        moments = np.ascontiguousarray(self.moments[:, which])
        top = max(float(np.abs(moments).max()) / self.n, 1e-12)
        tried = top * np.logspace(0.0, -3.0, ALPHAS) if alphas is None else alphas
        # enet_path reads the number of rows off X; the products stand for its content.
        rows = np.broadcast_to(np.float64(0.0), (self.n, len(moments)))
        with warnings.catch_warnings():
            # The smallest penalties need long, and are seldom the best.
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, coefficients, _ = enet_path(
                rows, self.rewards[:, which], l1_ratio=1.0, alphas=tried, precompute=self.gram,
                Xy=moments, coef_init=start, tol=1e-4, max_iter=500, check_input=False,
            )  # fmt: skip
        return tried, coefficients

    def predictions(self, asked: Floats, coefficients: Floats, which: int) -> Floats:
        """Return predictions (q, A) by coefficients (F, A)."""
        return (asked - self.centre) @ coefficients.astype(asked.dtype) + self.level[which]


_METHODS = {"dm-tree": tree_predictions, "dm-lasso": lasso_predictions}
