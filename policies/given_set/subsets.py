"""Rank marginals given the displayed set by dynamic programming over its subsets.

Lemmas 1 and 2 of "Ranking metrics on non-shuffled traffic", in layers: layer r holds the subsets of
r documents, those that may fill the first r ranks. For k documents there are 2^k subsets and
k 2^(k-1) steps from one to the next, and every step is taken three times: forward, backward, and
for the marginals.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from ...common.typing import Floats, Integers

_CACHED = 1 << 16  # numbers of one layer that are worked on at a time
_HIGHEST = 600.0  # exp of it is as good as infinite, and sums of it are finite


@dataclass(frozen=True, eq=False)
class _Layer:
    """Subsets of r of k documents, and the steps to those of r + 1 documents.

    Attributes
    ----------
    outside : (subsets, k + 1)
        One for each document outside of the subset; the last column, the rest of the candidates,
        is always one.
    join : (subsets of r + 1, subsets)
        One for each step; its transpose leads back.
    source, target : (k, steps)
        For each document the subsets without it, and where they lead with it.
    """

    outside: Floats
    join: csr_array
    back: csr_array
    source: Integers
    target: Integers


@lru_cache(maxsize=24)
def _make_layers(k: int) -> tuple[_Layer, ...]:
    """Return the layers 0 to k - 1 of the subsets of k documents."""
    every = np.arange(1 << k)  # a subset is the bits of an integer
    size = np.bitwise_count(every)
    subsets = [every[size == number] for number in range(k + 1)]
    place = np.empty(1 << k, dtype=np.int64)
    for masks in subsets:
        place[masks] = np.arange(len(masks))
    layers = []
    for masks, larger in pairwise(subsets):
        outside = (masks[:, None] >> np.arange(k)) & 1 == 0
        without = [masks[outside[:, document]] for document in range(k)]
        source = np.array([place[some] for some in without])
        target = np.array([place[some | (1 << i)] for i, some in enumerate(without)])
        shape = (len(larger), len(masks))
        join = csr_array((np.ones(source.size), (target.ravel(), source.ravel())), shape=shape)
        ones = np.ones((len(masks), 1))
        layers.append(_Layer(np.hstack([outside, ones]), join, csr_array(join.T), source, target))
    return tuple(layers)


def subset_marginals(logs: Floats, log_rest: Floats) -> tuple[Floats, Floats]:
    """Return the rank marginals of Plackett-Luce pages, and the log-probabilities of their sets.

    Parameters
    ----------
    logs : (n, k)
        Log-weights of the displayed documents, finite.
    log_rest : (n,)
        Log of the summed weights of all other candidates; -inf for none.

    Returns
    -------
    marginals : (n, k, k)
        Row i, column r: the probability that document i stands at rank r.
    log_probability : (n,)
        Of showing just these documents, in any order.

    Notes
    -----
    An order has probability Π w / R with R the weight that is left before each rank. The product
    of the w is that of the set, so the recursions need only 1 / R. R is a sum over what is left,
    not a difference, and is divided by the least R of its layer: that of the order by descending
    weight. Hence no product overflows whatever the weights, one order has the product 1, and what
    underflows has a probability of some 1e-300.
    """
    n, k = logs.shape
    marginals, log_probability = np.empty((n, k, k)), np.empty(n)
    widest = max(len(layer.outside) for layer in _make_layers(k))
    step = max(_CACHED // widest, 8)
    for start in range(0, n, step):
        part = slice(start, start + step)
        marginals[part], log_probability[part] = _run_chunk(logs[part], log_rest[part])
    return marginals, log_probability


def _run_chunk(logs: Floats, log_rest: Floats) -> tuple[Floats, Floats]:
    n, k = logs.shape
    layers = _make_layers(k)
    every = np.concatenate([logs, log_rest[:, None]], axis=1).T  # (k + 1, n)
    ascending = np.concatenate([log_rest[:, None], np.sort(logs, axis=1)], axis=1)
    least = np.logaddexp.accumulate(ascending, axis=1).T[:0:-1]  # (k, n): log R of each layer
    reached, inverse = np.ones((1, n)), []
    forward = []  # for each layer (subsets, n): probability of the subset / Π w, over R
    for layer, scale in zip(layers, least, strict=True):
        share = 1.0 / (layer.outside @ np.exp(np.minimum(every - scale, _HIGHEST)))
        inverse.append(share)
        forward.append(reached * share)
        reached = layer.join @ forward[-1]
    total = reached[0]
    log_probability = np.log(total) + logs.sum(axis=1) - least.sum(axis=0)
    marginals = np.empty((k, k, n))
    completed = np.ones((1, n))  # probability of showing the others after the subset / Π w
    for rank in range(k - 1, -1, -1):
        layer = layers[rank]
        before = forward[rank].take(layer.source, axis=0)
        after = completed.take(layer.target, axis=0)
        np.einsum("isn,isn->in", before, after, out=marginals[:, rank])
        completed = layer.back @ completed
        completed *= inverse[rank]
    marginals /= total
    return marginals.transpose(2, 0, 1), log_probability
