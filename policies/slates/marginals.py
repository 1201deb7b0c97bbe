"""What a policy shows in each slot, and in each pair of slots: exactly where that can be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ...common import checks
from ..base import Policy
from ..mixture import Mixture
from .moments import SlateMoments, mixed

SAMPLES = 100_000
_CHUNK = 10_000


def slate_marginals(
    policy: Policy, query: int, samples: int = SAMPLES, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P(slot shows a), (K, N), and P(slot shows a and slot' shows b), (K, N, K, N).

    ``slate_moments`` says in addition whether they are exact.
    """
    moments = slate_moments(policy, query, samples, seed)
    return moments.single, moments.pair


def slate_moments(
    policy: Policy, query: int, samples: int = SAMPLES, seed: int = 0
) -> SlateMoments:
    """Return first and second moments of what ``policy`` shows for one query.

    Exact for deterministic, uniform and product policies; for Plackett-Luce with few documents or
    few distinct weights (``count_states.MOST_WORK``); for mixtures of such policies. Otherwise they
    come from ``samples`` drawn pages, and ``.exact``, ``.samples`` and ``.stderr`` say so.

    A policy of one's own gives its own by a method ``marginals(query)`` that returns a
    ``SlateMoments``, the two arrays of ``slate_marginals``, or None where it cannot.
    """
    query = checks.positive_integer(query, "query", 0)
    policy.checked_query([query])
    samples = checks.positive_integer(samples, "samples", 2)
    if isinstance(policy, Mixture):
        parts = [slate_moments(part, query, samples, seed) for part in policy.policies]
        return mixed(parts, policy.weights.tolist())
    given: Any = policy.marginals(query)
    if given is None:
        return _sampled(policy, query, samples, seed)
    return given if isinstance(given, SlateMoments) else _given(policy, given)


def _given(policy: Policy, arrays: Any) -> SlateMoments:
    """Return the moments of the two arrays that a policy of one's own gave."""
    name = type(policy).__name__
    if not (isinstance(arrays, (tuple, list)) and len(arrays) == 2):
        raise ValueError(f"{name}.marginals must return two arrays, not {type(arrays).__name__}")
    single = checks.finite(arrays[0], f"what {name}.marginals returned", 2)
    needed = (policy.slots, policy.shape[1])
    checks.same_shape(single, needed, f"what {name}.marginals returned", "this policy")
    try:
        return SlateMoments.from_arrays(single, arrays[1])
    except ValueError as error:
        raise ValueError(f"what {name}.marginals returned is no policy's: {error}") from error


def _sampled(policy: Policy, query: int, samples: int, seed: int) -> SlateMoments:
    """Return the moments of drawn pages, with those of both halves of them."""
    rng = np.random.default_rng((seed, query))
    numbers = [samples - samples // 2, samples // 2]
    totals = [_counted(policy, query, number, rng) for number in numbers]
    first, second = map(_moments, totals, numbers)
    return _moments(totals[0] + totals[1], samples, (first, second))


def _counted(
    policy: Policy, query: int, samples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return how often drawn pages show documents in slots together, (K, N, K, N)."""
    slots, n_docs = policy.slots, policy.shape[1]
    total = np.zeros((slots * n_docs, slots * n_docs))
    for start in range(0, samples, _CHUNK):
        number = min(_CHUNK, samples - start)
        pages = policy.sample(np.full(number, query), rng)
        row, slot = np.nonzero(pages >= 0)
        places = (row, slot * n_docs + pages[row, slot])
        shown = csr_array((np.ones(len(row)), places), shape=(number, slots * n_docs))
        total += (shown.T @ shown).toarray()
    return total.reshape(slots, n_docs, slots, n_docs)


def _moments(
    total: NDArray[np.float64],
    samples: int,
    halves: tuple[SlateMoments, SlateMoments] | None = None,
) -> SlateMoments:
    single = np.einsum("jaja->ja", total) / samples
    return SlateMoments.from_arrays(single, total / samples, samples, halves)
