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

_CACHED = 1 << 17  # numbers that are worked on at a time
_FEWEST = 32  # pages at a time
_HIGHEST = 600.0  # exp of it is as good as infinite, and sums of it are finite


@dataclass(frozen=True, eq=False)
class _Layer:
    """Subsets of r of k documents, and the steps to those of r + 1 documents.

    Attributes
    ----------
    subsets : (m,)
        Each as the bits of an integer.
    outside : (m, k + 1)
        One for each document outside of the subset; the last column, the rest of the candidates,
        is always one.
    join, back : (subsets of r + 1, m) and its transpose
        One for each step.
    """

    subsets: Integers
    outside: Floats
    join: csr_array
    back: csr_array


@lru_cache(maxsize=24)
def _make_layers(k: int) -> tuple[_Layer, ...]:
    """Return the layers 0 to k - 1 of the subsets of k documents."""
    every = np.arange(1 << k)
    size = np.bitwise_count(every)
    sizes = [every[size == number] for number in range(k + 1)]
    place = np.empty(1 << k, dtype=np.int64)
    for subsets in sizes:
        place[subsets] = np.arange(len(subsets))
    layers = []
    for subsets, larger in pairwise(sizes):
        outside = (subsets[:, None] >> np.arange(k)) & 1 == 0
        row, document = np.nonzero(outside)
        target = place[subsets[row] | (1 << document)]
        shape = (len(larger), len(subsets))
        join = csr_array((np.ones(len(row)), (target, row)), shape=shape)
        rest = np.ones((len(subsets), 1))
        layers.append(_Layer(subsets, np.hstack([outside, rest]), join, csr_array(join.T)))
    return tuple(layers)


@lru_cache(maxsize=24)
def _sum_by_size(k: int) -> csr_array:
    """Return the matrix (k, 2^(k-1)) that adds up what subsets of one size have."""
    every = np.arange(1 << (k - 1))
    size = np.bitwise_count(every)
    return csr_array((np.ones(len(every)), (size, every)), shape=(k, len(every)))


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
    step = max(_CACHED >> k, _FEWEST)
    space = np.empty(5 * min(step, n) << (k - 1))  # taken once, as fresh memory is slow
    for start in range(0, n, step):
        part = slice(start, start + step)
        marginals[part], log_probability[part] = _run_chunk(logs[part], log_rest[part], space)
    return marginals, log_probability


def _run_chunk(logs: Floats, log_rest: Floats, space: Floats) -> tuple[Floats, Floats]:
    n, k = logs.shape
    layers = _make_layers(k)
    every = np.concatenate([logs, log_rest[:, None]], axis=1).T  # (k + 1, n)
    ascending = np.concatenate([log_rest[:, None], np.sort(logs, axis=1)], axis=1)
    least = np.logaddexp.accumulate(ascending, axis=1).T[:0:-1]  # (k, n): log R of each layer
    half = n << (k - 1)
    before = space[: 2 * half].reshape(-1, n)  # P(subset comes first) / Π w, over R
    after = space[2 * half : 4 * half].reshape(-1, n)  # P(others follow the subset) / Π w
    steps = space[4 * half : 5 * half].reshape(-1, n)
    reached, shares = np.ones((1, n)), []
    for layer, scale in zip(layers, least, strict=True):
        share = layer.outside @ np.exp(np.minimum(every - scale, _HIGHEST))
        np.divide(1.0, share, out=share)
        shares.append(share)
        reached *= share
        before[layer.subsets] = reached
        reached = layer.join @ reached
    total = reached[0]
    log_probability = np.log(total) + logs.sum(axis=1) - least.sum(axis=0)
    completed = np.ones((1, n))
    after[-1] = 1.0
    for layer, share in zip(layers[:0:-1], shares[:0:-1], strict=True):
        completed = layer.back @ completed
        completed *= share
        after[layer.subsets] = completed
    return _add_steps(before, after, steps) / total[:, None, None], log_probability


def _add_steps(before: Floats, after: Floats, steps: Floats) -> Floats:
    """Return the sums (n, k, k) over steps that add document i to a subset of r documents."""
    n, k = before.shape[1], len(before).bit_length() - 1
    result, sums = np.empty((n, k, k)), _sum_by_size(k)
    for document in range(k):
        shape = (-1, 2, 1 << document, n)  # subsets without and with the document
        without, those = before.reshape(shape)[:, 0], after.reshape(shape)[:, 1]
        np.multiply(without, those, out=steps.reshape(without.shape))
        result[:, document] = (sums @ steps).T
    return result
