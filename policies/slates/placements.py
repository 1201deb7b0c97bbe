"""How often a policy shows each document in each slot, over all of its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...common.typing import Floats

if TYPE_CHECKING:
    from ..base import Policy

PAGES = 20_000  # drawn per query where placements must be sampled
_CHUNK = 10_000  # pages drawn at a time
_STEP = 0.125  # of the logarithm of time; the error falls exponentially with it
_BEFORE, _AFTER = 42.0, 5.0  # how far to look before the first and after the last arrival


class Placements(NamedTuple):
    """Probabilities that slots show documents, for one query.

    Attributes
    ----------
    probabilities : (K, N)
    standard_error : (K, N) or None
        Where the probabilities come from drawn pages; None where they are exact.
    """

    probabilities: Floats
    standard_error: Floats | None = None


def sample_placements(policy: Policy, query: int, pages: int, seed: int) -> Placements:
    """Return the placements of drawn pages, with their standard errors."""
    rng = np.random.default_rng((seed, query))
    slots, n_docs = policy.slots, policy.shape[1]
    total = np.zeros((slots, n_docs))
    for start in range(0, pages, _CHUNK):
        drawn = policy.sample(np.full(min(_CHUNK, pages - start), query), rng)
        for slot, documents in enumerate(drawn.T):
            total[slot] += np.bincount(documents[documents >= 0], minlength=n_docs)
    share = total / pages
    return Placements(share, np.sqrt(share * (1.0 - share) / pages))


def race_placements(logs: Floats, slots: int) -> Floats:
    """Return the placements of a Plackett-Luce policy with these log-weights (N,), (K, N).

    Plackett-Luce is a race: document i arrives at a time T_i ~ Exp(w_i), and slots are filled in
    order of arrival. So P(i in slot r) is the integral of i's density times the probability that
    r of the others arrived before. The sum over a grid of log-time converges exponentially; the
    number of others is a product of polynomials, from both ends, without i. Exact to about 1e-12;
    costs O(N K²) for each of some 400 points, more where weights span many orders of magnitude.
    ``-inf`` is no candidate.
    """
    result = np.zeros((slots, len(logs)))
    some = np.flatnonzero(np.isfinite(logs))
    if not len(some):
        return result
    own = logs[some]
    filled = min(slots, len(some))
    first, last = -np.logaddexp.reduce(own), -own.min()
    grid = np.arange(first - _BEFORE, last + _AFTER, _STEP)
    rates = np.exp(own[:, None] + grid)  # w t, (n, G)
    gone = -np.expm1(-rates)
    left = np.exp(-rates)
    before, after = (
        _count_arrivals(gone, left, filled),
        _count_arrivals(gone[::-1], left[::-1], filled),
    )
    for place, document in enumerate(some):
        density = rates[place] * left[place] * _STEP
        above, below = before[place], after[len(some) - 1 - place]
        for slot in range(filled):
            ways = (above[: slot + 1] * below[slot::-1]).sum(axis=0)
            result[slot, document] = density @ ways
    return result


def _count_arrivals(gone: Floats, left: Floats, most: int) -> Floats:
    """Return P(c of the first i documents have arrived), (n, most, G): i < n, c < most."""
    n, points = gone.shape
    result = np.zeros((n, most, points))
    result[0, 0] = 1.0
    for number in range(1, n):
        result[number] = result[number - 1] * left[number - 1]
        result[number, 1:] += result[number - 1, :-1] * gone[number - 1]
    return result
