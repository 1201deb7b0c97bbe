"""How well scores rank documents by their grades: nDCG and recall."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...clickmodels import ClickModel
from ...common import checks
from ...common.typing import Floats, Integers
from ...data import World


def order_candidates(
    model_or_scores: ClickModel | ArrayLike, world: World, seed: int
) -> tuple[Integers, Integers]:
    """Order each query's candidates by a model's relevance or by scores (Q, N).

    Equal scores are put in a random order by ``seed``. Only candidates count: a world restricted
    to a log has only the documents that the log showed.

    Returns
    -------
    rows : (m,)
        The queries whose candidates' grades differ: for the others any order is as good.
    documents : (m, N)
        Best score first; whatever is not a candidate comes last.
    """
    scores = _find_scores(model_or_scores, world)
    candidates = world.candidates
    grades = np.maximum(world.relevance, 0)  # an unjudged candidate counts as grade 0
    low = np.where(candidates, grades, np.int8(127)).min(axis=1)
    high = np.where(candidates, grades, np.int8(-1)).max(axis=1)
    rows = np.flatnonzero(high > low)
    candidates = candidates[rows]
    noise = np.random.default_rng(seed).random(candidates.shape)
    # Non-candidates come after every candidate, also after those with a score of -inf.
    keys = np.where(candidates, -scores[rows], 0.0)
    return rows, np.lexsort((noise, keys, ~candidates), axis=1)


def _find_scores(model_or_scores: ClickModel | ArrayLike, world: World) -> Floats:
    if isinstance(model_or_scores, ClickModel):
        model_or_scores.check_world(world)
        model_or_scores.require("rank")
        model_or_scores = model_or_scores.relevance()
    scores = np.asarray(model_or_scores, dtype=np.float64)
    checks.same_shape(scores, world.relevance.shape, "model_or_scores", "this world")
    if np.isnan(scores[world.candidates]).any():
        raise ValueError("model_or_scores has a NaN")
    return scores


def ndcg(model_or_scores: ClickModel | ArrayLike, world: World, k: int, seed: int = 0) -> float:
    """Return the mean nDCG@k of ranking each query's candidates by scores.

    Parameters
    ----------
    model_or_scores : ClickModel or (Q, N) floats
        A model's ``relevance()``, or the scores themselves.
    world : World
        ``world.restricted_to(log)`` limits the candidates to documents seen in a log.
    k : int
        How deep to look.
    seed : int
        Breaks ties: equal scores are put in a random order.

    Notes
    -----
    Gain ``2**rel - 1``, discount ``1 / log2(rank + 1)``, ideal over the same candidates; the mean
    is over queries whose candidates' grades differ, each counted once. Unjudged candidates count
    as grade 0. NaN when there is no such query; a world without any grades is refused.
    """
    k = checks.positive_integer(k, "k")
    world.require_grades("nDCG needs")
    rows, documents = order_candidates(model_or_scores, world, seed)
    if not len(rows):
        return float("nan")
    gain = np.where(world.candidates, world.gain, 0.0)[rows]
    achieved = dcg(np.take_along_axis(gain, documents, axis=1), k)
    return float((achieved / ideal_dcg(world, k)[rows]).mean())


def dcg(gain: Floats, k: int) -> Floats:
    """Return the discounted sum of the first ``k`` gains along the last axis."""
    gain = gain[..., :k]
    return gain @ discount(gain.shape[-1])


def discount(slots: int) -> Floats:
    """Return ``1 / log2(rank + 1)`` for the ranks from 1, (slots,)."""
    return 1.0 / np.log2(np.arange(2, slots + 2))


def ideal_dcg(world: World, k: int) -> Floats:
    """Return the best DCG@k that each query's candidates allow, (Q,)."""
    gain = np.where(world.candidates, world.gain, 0.0)
    return dcg(-np.sort(-gain, axis=1), k)


def recall(
    model_or_scores: ClickModel | ArrayLike, world: World, k: int, threshold: int = 1, seed: int = 0
) -> float:
    """Return the mean share of a query's relevant candidates among the first ``k`` by score.

    Parameters
    ----------
    model_or_scores, world, k, seed
        As for ``ndcg``, with ties in the same order.
    threshold : int
        The lowest grade that is relevant.

    Notes
    -----
    The mean is over queries whose candidates' grades differ and of which at least one candidate is
    relevant, each counted once. NaN when there is no such query; a world without any grades is
    refused.
    """
    k = checks.positive_integer(k, "k")
    world.require_grades("recall needs")
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
