"""Scores of all queries by models that did not see them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...common import checks
from ...common.typing import Booleans, Floats, Integers
from ...data import World

Mask = Booleans


def query_folds(world: World, folds: int, seed: int) -> Integers:
    """Deal the queries into ``folds`` at random; return each one's, (Q,)."""
    folds = checks.positive_integer(folds, "folds", 2)
    if world.n_queries < folds:
        raise ValueError(f"folds is {folds}, but there are only {world.n_queries} queries")
    return np.random.default_rng(seed).permutation(world.n_queries) % folds


def cross_fitted(
    world: World,
    scores: Callable[[Mask, Mask], Floats],
    seed: int,
    folds: int,
) -> Floats:
    """Return scores (Q, N), each fold's from what was learned on the others.

    ``scores(train, out)`` learns from the graded documents ``train`` (Q, N) and scores the
    candidates ``out`` (Q, N). Deterministic by seed. Costs ``folds`` fits on (folds - 1) / folds
    of the documents.
    """
    fold = query_folds(world, folds, seed)
    judged = world.candidates & (world.relevance >= 0)
    result = np.zeros(world.candidates.shape)
    for number in range(folds):
        train = judged & (fold != number)[:, None]
        if not train.any():
            raise ValueError("a ranker needs graded documents in every fold")
        out = world.candidates & (fold == number)[:, None]
        if out.any():
            result[out] = scores(train, out)
    return result
