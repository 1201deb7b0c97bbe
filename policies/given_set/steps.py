"""Marginals given the set for policies whose next document depends only on which came before.

Not on their order: the same recursion over subsets as for Plackett-Luce, with other probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ...common.typing import Booleans, Floats, Integers
from .conditional import GivenSet

STEPS_UP_TO = 12  # documents, whose subsets are all visited
_CACHED = 1 << 18  # numbers that are worked on at a time

NextProbabilities = Callable[[Integers, Booleans], Floats]


def steps_given_set(
    following: NextProbabilities, possible: Booleans, lengths: Integers, k: int
) -> GivenSet:
    """Return what holds given the set, by P(next document | documents before it).

    Parameters
    ----------
    following : (rows (n,), placed (m, k)) -> (m, k, n) or (1, k, n)
        For pages by their numbers and subsets of their documents: the probability of each
        document of ``shown`` as the next one. What it says of documents in the subset is not used.
    possible : (n,)
        Which pages are as long as the policy's; the others have probability 0.
    lengths : (n,)
        How many documents each page has, at most ``STEPS_UP_TO``.
    k : int
        The columns of ``shown``.
    """
    n = len(lengths)
    probabilities, log_probability = np.zeros((n, k, k)), np.full(n, -np.inf)
    for length in np.unique(lengths[possible]).tolist():
        chosen = np.flatnonzero(possible & (lengths == length))
        step = max(_CACHED // (max(length, 1) << length), 1)
        for start in range(0, len(chosen), step):
            rows = chosen[start : start + step]
            found, log_probability[rows] = _run_chunk(following, rows, length, k)
            probabilities[rows, :length, :length] = found
    return GivenSet(probabilities, log_probability)


@lru_cache(maxsize=STEPS_UP_TO + 1)
def _list_subsets(k: int) -> tuple[Integers, Integers]:
    """Return the subsets of k documents as bits, by size, and where each size begins."""
    size = np.bitwise_count(np.arange(1 << k))
    return np.argsort(size, kind="stable"), np.searchsorted(np.sort(size), np.arange(k + 2))


def _run_chunk(
    following: NextProbabilities, rows: Integers, length: int, k: int
) -> tuple[Floats, Floats]:
    """Return marginals (n, length, length) and log-probabilities (n,) of pages of one length.

    Each layer is divided by its largest number, so that long products do not underflow.
    """
    n, (subsets, starts) = len(rows), _list_subsets(length)
    documents = np.arange(length)
    reached, scale = np.zeros((1 << length, n)), np.zeros((length + 1, n))
    reached[0] = 1.0
    steps = []  # for each rank (m, length, n): P(document comes next after the subset)
    for rank in range(length):
        here = subsets[starts[rank] : starts[rank + 1]]
        placed = (here[:, None] >> documents) & 1 == 1
        wide = np.pad(placed, ((0, 0), (0, k - length)))
        step = np.where(placed[:, :, None], 0.0, following(rows, wide)[:, :length])
        steps.append(step)
        for document in documents:
            free = ~placed[:, document]
            source = here[free]
            reached[source | (1 << document)] += reached[source] * step[free, document]
        larger = subsets[starts[rank + 1] : starts[rank + 2]]
        top = reached[larger].max(axis=0)
        top[top == 0] = 1.0
        reached[larger] /= top
        scale[rank + 1] = scale[rank] + np.log(top)
    with np.errstate(divide="ignore"):
        log_probability = np.log(reached[-1]) + scale[-1]
    completed, left = np.zeros((1 << length, n)), np.zeros(n)
    completed[-1] = 1.0
    marginals = np.zeros((n, length, length))
    certain = np.where(log_probability > -np.inf, log_probability, 0.0)
    for rank in range(length - 1, -1, -1):
        here = subsets[starts[rank] : starts[rank + 1]]
        share = np.exp(scale[rank] + left - certain)
        for document in documents:
            free = here >> document & 1 == 0
            source = here[free]
            part = steps[rank][free, document] * completed[source | (1 << document)]
            completed[source] += part
            part *= reached[source]
            marginals[:, document, rank] = part.sum(axis=0) * share
        top = completed[here].max(axis=0)
        top[top == 0] = 1.0
        completed[here] /= top
        left += np.log(top)
    return marginals, log_probability
