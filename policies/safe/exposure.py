"""How much attention Plackett-Luce policies give each document, and its gradient: exactly.

Plackett-Luce is a race: document i arrives at a time T_i ~ Exp(w_i), and slots are filled in order
of arrival. If slot k is examined with probability e_k, document i's expected exposure is

    ρ_i = ∫ f_i(x) S_i(x) dx,   f_i = w_i t exp(-w_i t),   t = exp(x),
    S_i = E[e_A],  A = how many of the others have arrived before t  (e_A = 0 from A = K on).

f_i is the density of log T_i, and also the derivative of P(T_i < t) by the logit log w_i. So

    ∂/∂ log w_j of Σ_i g_i ρ_i = g_j ∫ f_j (1 - w_j t) S_j + ∫ f_j Σ_{i≠j} g_i f_i D_ij,

where D_ij is E[e_{A+1} - e_A] over the arrivals among the others than i and j. All documents'
sums come from one pass down and one pass up the list, each with a second copy in which one
document has been taken out as the arriving one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...common.typing import Floats

_EARLY = -14.0  # log of the expected arrivals before the grid begins
_SURE = 3.4  # a document has arrived exp(3.4) = 30 of its mean times later, but for 1e-13
_STEP = 1.2  # of the grid of log-time, over sqrt(K)
_WIDEST = 0.5
_NUMBERS = 1 << 20  # of an array of a block of queries: it takes about five of them

PullBack = Callable[[Floats], Floats]


def expected_exposure(logits: Floats, examination: Floats) -> Floats:
    """Return the expected exposure of each document, (Q, N).

    Parameters
    ----------
    logits : (Q, N)
        Log-weights; -inf = not a candidate. Each query has a candidate.
    examination : (K,)
        At least 0; sums of the result's rows are its sum, where a query has K candidates.
    """
    result = np.zeros_like(logits)
    for rows in exposure_blocks(logits, len(examination)):
        result[rows] = expose(logits[rows], examination)[0]
    return result


def exposure_blocks(logits: Floats, slots: int) -> Iterator[np.ndarray]:
    """Yield the numbers of queries, those with similar grids together, that are one block."""
    first, last = _grid_ends(logits, slots)
    length = last - first
    order = np.argsort(length, kind="stable")
    start = 0
    while start < len(order):
        points = length[order[start]] / _grid_step(slots) + 2.0
        most = max(int(_NUMBERS / (points * slots * logits.shape[1])), 1)
        yield order[start : start + most]
        start += most


def expose(logits: Floats, examination: Floats) -> tuple[Floats, PullBack]:
    """Return expected exposures (Q, N), and a function that pulls gradients back to the logits.

    ``pull_back(slopes)`` returns Σ_i slopes_i ∂ρ_i / ∂logit_j, (Q, N).

    Notes
    -----
    Trapezoids on a grid of log-time; exact to about 1e-6. Costs O(Q N K) for each of its points, of
    which there are 50 to 150, more where logits are far apart; the pull-back costs the same again.
    """
    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    n_docs, slots = logs.shape[1], len(examination)
    first, last = _grid_ends(logs, slots)
    points = int(np.ceil((last - first).max() / _grid_step(slots))) + 1
    step = (last - first) / (points - 1)
    grid = first[:, None] + step[:, None] * np.arange(points)
    rates = np.exp(logs.T[:, :, None] + grid)  # (N, Q, G)
    left, gone = np.exp(-rates), -np.expm1(-rates)
    density = rates * left
    # before[j, a]: P(a of the documents before j have arrived). worth[j, a]: what the next slot is
    # worth to who comes when a of them, and any of the documents after j, have arrived.
    before = np.zeros((n_docs, slots, *grid.shape))
    worth = np.zeros((n_docs, slots + 1, *grid.shape))
    before[0, 0] = 1.0
    worth[-1, :slots] = examination[:, None, None]
    for j in range(n_docs - 1):
        _arrive(before[j], left[j], gone[j], before[j + 1])
        back = n_docs - 1 - j
        _await(worth[back], left[back], gone[back], worth[back - 1])
    seen = density * np.einsum("jaqg,jaqg->jqg", before, worth[:, :slots])
    exposure = seen.sum(axis=2).T * step[:, None]

    def pull_back(slopes: Floats) -> Floats:
        chosen = slopes.T[:, :, None] * density
        own = (seen * (1.0 - rates)).sum(axis=2).T * slopes
        loss = np.diff(worth, axis=1)  # of who comes one place later
        result = np.empty_like(chosen)
        # One of the documents before j has been taken out, as the one that arrives now.
        taken, passed = np.zeros((slots, *grid.shape)), np.empty((slots, *grid.shape))
        for j in range(n_docs):
            result[j] = np.einsum("aqg,aqg->qg", taken, loss[j])
            _arrive(taken, left[j], gone[j], passed)
            passed += before[j] * chosen[j]
            taken, passed = passed, taken
        # The same from below.
        taken, passed = np.zeros((slots + 1, *grid.shape)), np.zeros((slots + 1, *grid.shape))
        for j in range(n_docs - 1, -1, -1):
            result[j] += np.einsum("aqg,aqg->qg", before[j], taken[:slots])
            _await(taken, left[j], gone[j], passed)
            passed[:slots] += loss[j] * chosen[j]
            taken, passed = passed, taken
        return (own + (density * result).sum(axis=2).T) * step[:, None]

    return exposure, pull_back


def _arrive(counts: Floats, left: Floats, gone: Floats, out: Floats) -> None:
    """Write the distribution of arrivals (K, Q, G) after one more document into ``out``."""
    np.multiply(counts, left, out=out)
    out[1:] += counts[:-1] * gone


def _await(worth: Floats, left: Floats, gone: Floats, out: Floats) -> None:
    """Write the worth (K + 1, Q, G) before one more document may have arrived into ``out``."""
    np.multiply(worth[:-1], left, out=out[:-1])
    out[:-1] += worth[1:] * gone


def _grid_step(slots: int) -> float:
    return float(min(_WIDEST, _STEP / np.sqrt(slots)))


def _grid_ends(logits: Floats, slots: int) -> tuple[Floats, Floats]:
    """Return the log-times (Q,) before which nothing and after which no slot is to be filled."""
    ordered = -np.sort(-logits, axis=1)
    filled = np.minimum(slots, np.isfinite(logits).sum(axis=1))
    slowest = ordered[np.arange(len(logits)), np.maximum(filled, 1) - 1]
    return _EARLY - np.logaddexp.reduce(logits, axis=1), _SURE - slowest
