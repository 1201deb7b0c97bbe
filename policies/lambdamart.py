"""LambdaMART, cross-fitted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..data import World, checks


def lambdamart_scores(
    world: World, seed: int = 0, folds: int = 2, trees: int = 100
) -> NDArray[np.float64]:
    """Return scores (Q, N) of LightGBM's ranker, none from a model that saw the query.

    Queries are dealt into ``folds`` at random; each fold is scored by a model trained on the
    others. Deterministic by seed. Costs ``folds`` fits on (folds - 1) / folds of the documents.
    """
    try:
        import lightgbm
    except ImportError as error:
        raise ImportError("LambdaMART needs pip install 'clickgym[rankers]'") from error
    folds = checks.positive_integer(folds, "folds", 2)
    trees = checks.positive_integer(trees, "trees")
    if world.features is None:
        raise ValueError("LambdaMART needs a world with features")
    if world.n_queries < folds:
        raise ValueError(f"folds is {folds}, but there are only {world.n_queries} queries")
    fold = np.random.default_rng(seed).permutation(world.n_queries) % folds
    judged = world.candidates & (world.relevance >= 0)
    scores = np.zeros(world.candidates.shape)
    for number in range(folds):
        rows = judged & (fold != number)[:, None]
        groups = rows.sum(axis=1)
        if not rows.any():
            raise ValueError("LambdaMART needs graded documents in every fold")
        model = lightgbm.LGBMRanker(
            n_estimators=trees, random_state=seed, num_threads=1, verbose=-1, deterministic=True,
            label_gain=[2.0**grade - 1.0 for grade in range(world.max_grade + 1)],
        )  # fmt: skip
        model.fit(world.features[rows], world.relevance[rows], group=groups[groups > 0])
        out = world.candidates & (fold == number)[:, None]
        if out.any():
            scores[out] = model.predict(world.features[out])
    return scores
