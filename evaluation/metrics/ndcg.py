"""Normalised discounted cumulative gain."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...clickmodels import ClickModel
from ...common import checks
from ...data import World
from .graded import order_candidates


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
    as grade 0. NaN when there is no such query.
    """
    k = checks.positive_integer(k, "k")
    rows, documents = order_candidates(model_or_scores, world, seed)
    if not len(rows):
        return float("nan")
    gain = np.where(world.candidates, world.gain, 0.0)[rows]
    achieved = dcg(np.take_along_axis(gain, documents, axis=1), k)
    return float((achieved / ideal_dcg(world, k)[rows]).mean())


def dcg(gain: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the discounted sum of the first ``k`` gains along the last axis."""
    gain = gain[..., :k]
    return gain @ discount(gain.shape[-1])


def discount(slots: int) -> NDArray[np.float64]:
    """Return ``1 / log2(rank + 1)`` for the ranks from 1, (slots,)."""
    return 1.0 / np.log2(np.arange(2, slots + 2))


def ideal_dcg(world: World, k: int) -> NDArray[np.float64]:
    """Return the best DCG@k that each query's candidates allow, (Q,)."""
    gain = np.where(world.candidates, world.gain, 0.0)
    return dcg(-np.sort(-gain, axis=1), k)
