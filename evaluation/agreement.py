"""Whether two models rank documents alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Booleans, Floats


class Agreement(NamedTuple):
    """How alike two rankings of the same candidates are; queries count by their frequency.

    Attributes
    ----------
    correlation : float
        The mean over queries of Spearman's rank correlation: 1 the same order, 0 unrelated, -1
        reversed. NaN where no query can be compared.
    same_first : float
        The share of traffic for which both put the same document first.
    compared : float
        The share of traffic of queries that have at least two candidates and, on both sides, not
        all scores equal: only these are compared.
    """

    correlation: float
    same_first: float
    compared: float


def rank_agreement(
    first: ArrayLike, second: ArrayLike, candidates: Booleans, query_probs: Floats
) -> Agreement:
    """Return how alike two scorings rank the candidates of each query.

    Parameters
    ----------
    first, second : (Q, N)
        Scores, such as two models' ``relevance()``.
    candidates : (Q, N) bool
        Which documents are compared.
    query_probs : (Q,)
        Frequencies of the queries.
    """
    one, two = (
        checks.scores(given, name) for given, name in ((first, "first"), (second, "second"))
    )
    checks.same_shape(two, one.shape, "second", "first")
    checks.same_shape(candidates, one.shape, "candidates", "first")
    asked = np.flatnonzero((candidates.sum(axis=1) >= 2) & (query_probs > 0))
    nothing = Agreement(float("nan"), float("nan"), 0.0)
    if not len(asked):
        return nothing
    shown = candidates[asked]
    places = [_ranks(scores[asked], shown) for scores in (one, two)]
    spread = [np.sqrt(np.nansum(place**2, axis=1)) for place in places]
    there = (spread[0] > 0) & (spread[1] > 0)
    weight = np.where(there, query_probs[asked], 0.0)
    if not weight.sum() > 0:
        return nothing
    products = np.nansum(places[0] * places[1], axis=1)
    correlation = products / np.where(there, spread[0] * spread[1], 1.0)
    best = [np.where(shown, scores[asked], -np.inf).argmax(axis=1) for scores in (one, two)]
    same = (best[0] == best[1]).astype(np.float64)
    total = weight.sum()
    return Agreement(
        float(weight @ correlation / total), float(weight @ same / total),
        float(total / query_probs.sum()),
    )  # fmt: skip


def _ranks(scores: Floats, candidates: Booleans) -> Floats:
    """Return ranks of candidates within each query, ties shared, about their mean; NaN others."""
    from scipy.stats import rankdata

    ranks = rankdata(np.where(candidates, scores, np.nan), axis=1, nan_policy="omit")
    return np.asarray(ranks - np.nanmean(ranks, axis=1, keepdims=True))
