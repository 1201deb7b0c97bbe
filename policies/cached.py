"""Policies that keep the moments of each query."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Floats, Integers
from .base import Policy, pack_policy, register, unpack_policy
from .given_set.conditional import GivenSet
from .slates.moments import SAMPLES, SlateMoments
from .slates.placements import PAGES, Placements


@register("Remembering")
class Remembering(Policy):
    """Another policy whose moments, Γ† included, are kept for many targets and estimates.

    Parameters
    ----------
    policy : Policy
    samples, seed : int
        For moments that must be drawn (``slate_moments``).

    Notes
    -----
    Drawn moments take about 50 (K N)² bytes a query: 4 MB for ten slots and 30 documents.
    """

    def __init__(self, policy: Policy, samples: int = SAMPLES, seed: int = 0) -> None:
        self.policy, self.seed = policy, seed
        self.samples = checks.positive_integer(samples, "samples", 2)
        self.slots, self.shape = policy.slots, policy.shape
        self.fingerprint = policy.fingerprint
        self.has_log_prob, self.deterministic = policy.has_log_prob, policy.deterministic
        self.estimated = policy.estimated
        self._moments: dict[int, SlateMoments] = {}

    def marginals(self, query: int) -> SlateMoments:
        """Return the moments of a query's pages."""
        if query not in self._moments:
            self._moments[query] = self.policy.slate_moments(query, self.samples, self.seed)
        return self._moments[query]

    def placements(self, query: int, pages: int = PAGES, seed: int = 0) -> Placements:
        """Return the other policy's placements."""
        return self.policy.placements(query, pages, seed)

    def draw(self, query: Integers, rng: np.random.Generator) -> tuple[Integers, Floats | None]:
        """Draw rankings (n, K) and their log-probabilities (n,), if there are any."""
        return self.policy.draw(query, rng)

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return log P(ranking | query), (n,)."""
        return self.policy.log_prob(query, ranking)

    def greedy(self, query: ArrayLike) -> Integers:
        """Return the other policy's greedy rankings, (n, K)."""
        return self.policy.greedy(query)

    def given_set(self, query: Integers, shown: Integers, seed: int = 0) -> GivenSet:
        """Return the other policy's marginals given the set."""
        return self.policy.given_set(query, shown, seed)

    def why_never(self, query: int, documents: list[int]) -> str:
        """Say why the other policy never shows exactly these documents."""
        return self.policy.why_never(query, documents)

    def state(self) -> dict[str, Any]:
        """Return the other policy's state; moments are not saved."""
        header, arrays = pack_policy(self.policy, "policy.")
        return {"samples": self.samples, "seed": self.seed, "header": header} | arrays

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make it from the other policy's state."""
        header, samples, seed = (state.pop(name) for name in ("header", "samples", "seed"))
        return cls(unpack_policy(header, state, "policy."), samples, seed)
