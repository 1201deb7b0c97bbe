"""Recall of the relevant documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...clickmodels import ClickModel
from ...common import checks
from ...data import World
from .graded import order_candidates


def recall(
    model_or_scores: ClickModel | ArrayLike,
    world: World,
    k: int,
    threshold: int = 1,
    seed: int = 0,
) -> float:
    """Return the mean share of a query's relevant candidates among the first ``k`` by score.

    Parameters
    ----------
    model_or_scores : ClickModel or (Q, N) floats
        A model's ``relevance()``, or the scores themselves.
    world : World
        ``world.restricted_to(log)`` limits the candidates to documents seen in a log.
    k : int
        How deep to look.
    threshold : int
        The lowest grade that is relevant.
    seed : int
        Breaks ties: equal scores are put in a random order, the same as for ``ndcg``.

    Notes
    -----
    The mean is over queries whose candidates' grades differ and of which at least one candidate is
    relevant, each counted once. NaN when there is no such query.
    """
    k = checks.positive_integer(k, "k")
    threshold = checks.positive_integer(threshold, "threshold")
    if threshold > world.max_grade:
        raise ValueError(f"threshold is {threshold}, but the highest grade is {world.max_grade}")
    rows, documents = order_candidates(model_or_scores, world, seed)
    relevant = ((world.relevance >= threshold) & world.candidates)[rows]
    total = relevant.sum(axis=1)
    if not total.any():
        return float("nan")
    found = np.take_along_axis(relevant, documents, axis=1)[:, :k].sum(axis=1)
    return float((found[total > 0] / total[total > 0]).mean())
