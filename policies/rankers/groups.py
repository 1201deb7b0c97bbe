"""Lasso and tree rankers that see one of two disjoint groups of features: title or body."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common import checks
from ...common.typing import Booleans, Floats, Integers
from ...data import World
from .folds import cross_fitted

KINDS = ("tree", "lasso")
GROUPS = ("title", "body")
_MSLR_FEATURES, _MSLR_STATISTICS, _MSLR_FIELDS = 136, 25, 5
_FIELD = {"body": 0, "title": 2}  # of body, anchor, title, URL, whole document


def feature_group(world: World, group: str) -> Integers:
    """Return which features are of ``group``, "title" or "body", counted from 0.

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
    """Return the grades (Q, N) that a regression on one group of features predicts.

    No query is scored by a model that saw it: see ``cross_fitted``. ``kind`` "tree" is a
    regression tree of depth 9 with at least 10 documents a leaf, "lasso" a linear model of
    standardised features with a penalty of 0.01.
    """
    checks.choice(kind, KINDS, "kind")
    columns = feature_group(world, group)

    def scores(train: Booleans, out: Booleans) -> Floats:
        assert world.features is not None
        model = _regression(kind, seed)
        model.fit(world.features[train][:, columns], world.relevance[train])
        predicted: Floats = model.predict(world.features[out][:, columns])
        return predicted

    return cross_fitted(world, scores, seed, folds)


def _regression(kind: str, seed: int) -> Any:
    from sklearn.linear_model import Lasso
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeRegressor

    if kind == "tree":
        return DecisionTreeRegressor(max_depth=9, min_samples_leaf=10, random_state=seed)
    return make_pipeline(StandardScaler(), Lasso(alpha=0.01))
