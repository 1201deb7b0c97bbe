"""Ordering candidates by scores, to compare the order with their grades."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...clickmodels import ClickModel
from ...common import checks
from ...data import World


class Orders(NamedTuple):
    """The candidates of the queries that a metric over grades is about.

    Attributes
    ----------
    rows : (m,) int64
        The queries whose candidates' grades differ: for the others any order is as good.
    documents : (m, N) int64
        Best score first; whatever is not a candidate comes last.
    """

    rows: NDArray[np.int64]
    documents: NDArray[np.int64]


def order_candidates(model_or_scores: ClickModel | ArrayLike, world: World, seed: int) -> Orders:
    """Order each query's candidates by a model's relevance or by scores (Q, N).

    Equal scores are put in a random order by ``seed``. Only candidates count: a world restricted
    to a log has only the documents that the log showed.
    """
    scores = _scores(model_or_scores, world)
    candidates = world.candidates
    grades = np.maximum(world.relevance, 0)  # an unjudged candidate counts as grade 0
    low = np.where(candidates, grades, np.int8(127)).min(axis=1)
    high = np.where(candidates, grades, np.int8(-1)).max(axis=1)
    rows = np.flatnonzero(high > low)
    candidates = candidates[rows]
    noise = np.random.default_rng(seed).random(candidates.shape)
    # Non-candidates come after every candidate, also after those with a score of -inf.
    keys = np.where(candidates, -scores[rows], 0.0)
    return Orders(rows, np.lexsort((noise, keys, ~candidates), axis=1))


def _scores(model_or_scores: ClickModel | ArrayLike, world: World) -> NDArray[np.float64]:
    if isinstance(model_or_scores, ClickModel):
        model_or_scores.check_world(world)
        model_or_scores.require("rank")
        model_or_scores = model_or_scores.relevance()
    scores = np.asarray(model_or_scores, dtype=np.float64)
    checks.same_shape(scores, world.relevance.shape, "model_or_scores", "this world")
    if np.isnan(scores[world.candidates]).any():
        raise ValueError("model_or_scores has a NaN")
    return scores
