"""LambdaMART, cross-fitted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..data import World, checks
from .boosting import boosted_ranker, predicted
from .folds import cross_fitted


def lambdamart_scores(
    world: World, seed: int = 0, folds: int = 2, trees: int = 100
) -> NDArray[np.float64]:
    """Return scores (Q, N) of LightGBM's ranker, none from a model that saw the query.

    Queries are dealt into ``folds`` at random; each fold is scored by a model trained on the
    others. Deterministic by seed. Costs ``folds`` fits on (folds - 1) / folds of the documents.
    """
    trees = checks.positive_integer(trees, "trees")
    if world.features is None:
        raise ValueError("LambdaMART needs a world with features")

    def scores(train: NDArray[np.bool_], out: NDArray[np.bool_]) -> NDArray[np.float64]:
        assert world.features is not None
        model = boosted_ranker(world, train, seed=seed, n_estimators=trees)
        return predicted(model, world.features[out])

    return cross_fitted(world, scores, seed, folds)
