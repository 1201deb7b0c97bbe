"""Rankers learned from grades, where no query is scored by a model that saw it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...common import checks
from ...common.typing import Booleans, Floats, Integers
from ...data import World
from .boosting import fit_ranker

KINDS = ("tree", "lasso")
GROUPS = ("title", "body")
_MSLR_FEATURES, _MSLR_STATISTICS, _MSLR_FIELDS = 136, 25, 5
_FIELD = {"body": 0, "title": 2}  # of body, anchor, title, URL, whole document


def deal_queries(world: World, folds: int, seed: int) -> Integers:
    """Deal the queries into ``folds`` at random; return the fold of each, (Q,)."""
    folds = checks.positive_integer(folds, "folds", 2)
    if world.n_queries < folds:
        raise ValueError(f"folds is {folds}, but there are only {world.n_queries} queries")
    return np.random.default_rng(seed).permutation(world.n_queries) % folds


def cross_fit(world: World, fit: Callable[[Booleans], Any], seed: int, folds: int) -> Floats:
    """Return scores (Q, N), those of each fold predicted by a model of the other folds.

    ``fit(train)`` learns from the graded documents ``train`` (Q, N) and returns a function from
    features (n, F) to scores (n,). Deterministic by seed. Costs ``folds`` fits on
    (folds - 1) / folds of the documents.
    """
    assert world.features is not None
    fold = deal_queries(world, folds, seed)
    judged = world.candidates & (world.relevance >= 0)
    result = np.zeros(world.candidates.shape)
    for number in range(folds):
        train = judged & (fold != number)[:, None]
        if not train.any():
            raise ValueError("a ranker needs graded documents in every fold")
        out = world.candidates & (fold == number)[:, None]
        if out.any():
            result[out] = fit(train)(world.features[out])
    return result


def lambdamart_scores(world: World, seed: int = 0, folds: int = 2, trees: int = 100) -> Floats:
    """Return the scores (Q, N) of LightGBM's ranker, cross-fitted in ``folds``."""
    world.require_grades("LambdaMART needs")
    trees = checks.positive_integer(trees, "trees")
    if world.features is None:
        raise ValueError("LambdaMART needs a world with features")

    def fit(train: Booleans) -> Any:
        return fit_ranker(world, train, seed, n_estimators=trees).predict

    return cross_fit(world, fit, seed, folds)


def feature_group(world: World, group: str) -> Integers:
    """Return the indices of the features of ``group``, "title" or "body".

    With MSLR's 136 features these are the 25 statistics of that field. Any other number of
    features is dealt out: the first, third, … are "title", the second, fourth, … "body".
    """
    checks.choice(group, GROUPS, "group")
    number = 0 if world.features is None else world.features.shape[2]
    if number < len(GROUPS):
        raise ValueError(f"rankers of groups need at least two features, this world has {number}")
    if number == _MSLR_FEATURES:
        return _MSLR_FIELDS * np.arange(_MSLR_STATISTICS) + _FIELD[group]
    return np.arange(GROUPS.index(group), number, len(GROUPS))


def group_scores(world: World, seed: int, kind: str, group: str, folds: int = 2) -> Floats:
    """Return the grades (Q, N) that a cross-fitted regression on one group of features predicts.

    ``kind`` "tree" is a regression tree of depth 9 with at least 10 documents per leaf, "lasso" a
    linear model of standardised features with a penalty of 0.01.
    """
    checks.choice(kind, KINDS, "kind")
    world.require_grades(f"the ranker {kind}-{group} needs")
    columns = feature_group(world, group)

    def fit(train: Booleans) -> Any:
        assert world.features is not None
        model = _make_regression(kind, seed)
        model.fit(world.features[train][:, columns], world.relevance[train])
        return lambda features: model.predict(features[:, columns])

    return cross_fit(world, fit, seed, folds)


def _make_regression(kind: str, seed: int) -> Any:
    from sklearn.linear_model import Lasso
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeRegressor

    if kind == "tree":
        return DecisionTreeRegressor(max_depth=9, min_samples_leaf=10, random_state=seed)
    return make_pipeline(StandardScaler(), Lasso(alpha=0.01))
