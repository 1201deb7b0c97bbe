"""Policies that leave each query to one of several others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Booleans, Floats, Integers
from .base import Policy, pack_policy, register, unpack_policy
from .given_set.conditional import GivenSet
from .slates.moments import SAMPLES, SlateMoments
from .slates.placements import PAGES, Placements


@register("ByQuery")
class ByQuery(Policy):
    """Shows for each query what the policy shows that the query is left to.

    Parameters
    ----------
    policies : sequence of Policy
        For the same queries, candidates and slots; each has log-probabilities.
    which : (Q,) integers
        The number of each query's policy.
    """

    def __init__(self, policies: Sequence[Policy], which: ArrayLike) -> None:
        self.policies = tuple(policies)
        if not self.policies:
            raise ValueError("policies is empty")
        first = self.policies[0]
        self.slots, self.shape = first.slots, first.shape
        for policy in self.policies:
            if (policy.slots, policy.shape) != (self.slots, self.shape):
                raise ValueError(f"policies do not fit together: {first!r} and {policy!r}")
            if not policy.has_log_prob:
                raise ValueError(f"{policy!r} has no log-probabilities")
            if policy.places_blocks:
                raise ValueError(f"{policy!r} places blocks, which is not possible by query")
        self.which = checks.integers(which, "which", 1).astype(np.int64)
        checks.same_shape(self.which, self.shape[:1], "which", "policies")
        if (self.which < 0).any() or (self.which >= len(self.policies)).any():
            raise ValueError(f"which must hold numbers from 0 to {len(self.policies) - 1}")
        self.which.flags.writeable = False
        used = [self.policies[number] for number in np.unique(self.which)]
        self.deterministic = all(policy.deterministic for policy in used)
        self.estimated = next((policy.estimated for policy in used if policy.estimated), "")
        known = {policy.fingerprint for policy in self.policies} - {None}
        if len(known) > 1:
            raise ValueError("policies belong to different worlds")
        self.fingerprint = known.pop() if known else None

    def _parts(self, query: Integers) -> Iterator[tuple[Policy, Booleans]]:
        """Yield each policy that some of the queries (n,) are left to, and which ones, (n,)."""
        which = self.which[query]
        for number in np.unique(which):
            yield self.policies[number], which == number

    def draw(self, query: Integers, rng: np.random.Generator) -> tuple[Integers, Floats]:
        """Draw rankings (n, K) and their log-probabilities (n,)."""
        ranking = np.full((len(query), self.slots), -1, dtype=np.int64)
        log_prob = np.zeros(len(query))
        for policy, rows in self._parts(query):
            ranking[rows], log_prob[rows] = policy.draw(query[rows], rng)
        return ranking, log_prob

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return log P(ranking | query), (n,)."""
        query, ranking = self.check_pages(query, ranking)
        result = np.zeros(len(query))
        for policy, rows in self._parts(query):
            result[rows] = policy.log_prob(query[rows], ranking[rows])
        return result

    def greedy(self, query: ArrayLike) -> Integers:
        """Return each query's greedy ranking by its policy, (n, K)."""
        query = self.check_query(query)
        ranking = np.full((len(query), self.slots), -1, dtype=np.int64)
        for policy, rows in self._parts(query):
            ranking[rows] = policy.greedy(query[rows])
        return ranking

    def _of(self, query: int) -> Policy:
        return self.policies[self.which[query]]

    def slate_moments(self, query: int, samples: int = SAMPLES, seed: int = 0) -> SlateMoments:
        """Return the moments of the query's policy."""
        return self._of(query).slate_moments(query, samples, seed)

    def placements(self, query: int, pages: int = PAGES, seed: int = 0) -> Placements:
        """Return the placements of the query's policy."""
        return self._of(query).placements(query, pages, seed)

    def given_set(self, query: Integers, shown: Integers, seed: int = 0) -> GivenSet:
        """Return where displayed documents stand by each query's policy, given the set."""
        n, k = shown.shape
        probabilities, log_probability = np.zeros((n, k, k)), np.zeros(n)
        error = None
        for policy, rows in self._parts(query):
            part = policy.given_set(query[rows], shown[rows], seed)
            probabilities[rows], log_probability[rows] = part.probabilities, part.log_probability
            if part.standard_error is not None:
                error = np.zeros((n, k, k)) if error is None else error
                error[rows] = part.standard_error
        return GivenSet(probabilities, log_probability, error)

    def why_never(self, query: int, documents: list[int]) -> str:
        """Say why the query's policy never shows exactly these documents."""
        return self._of(query).why_never(query, documents)

    def document_limit(self) -> int:
        """Return the bound of the documents that pages may show."""
        return max(policy.document_limit() for policy in self.policies)

    def state(self) -> dict[str, Any]:
        """Return which policy each query is left to, and the states of the policies."""
        state: dict[str, Any] = {"which": self.which, "headers": []}
        for number, policy in enumerate(self.policies):
            header, arrays = pack_policy(policy, f"{number}.")
            state["headers"].append(header)
            state |= arrays
        return state

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make the policy from its parts' states."""
        which, headers = state.pop("which"), state.pop("headers")
        parts = [unpack_policy(header, state, f"{i}.") for i, header in enumerate(headers)]
        return cls(parts, which)
