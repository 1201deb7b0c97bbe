"""Policies whose moments are worked out once a query."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import Policy, described, made, register
from .slates.marginals import SAMPLES, slate_moments
from .slates.moments import SlateMoments


@register("Remembering")
class Remembering(Policy):
    """Another policy that keeps its moments, Γ† included, for many targets and estimates.

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
        self.policy, self.samples, self.seed = policy, samples, seed
        self.slots, self.shape = policy.slots, policy.shape
        self.fingerprint = policy.fingerprint
        self.has_log_prob, self.deterministic = policy.has_log_prob, policy.deterministic
        self._moments: dict[int, SlateMoments] = {}

    def marginals(self, query: int) -> SlateMoments:
        """Return the moments of a query's pages."""
        if query not in self._moments:
            self._moments[query] = slate_moments(self.policy, query, self.samples, self.seed)
        return self._moments[query]

    def draw(
        self, query: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """Draw rankings (n, K) and their log-probabilities (n,), if they have some."""
        return self.policy.draw(query, rng)

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> NDArray[np.float64]:
        """Return log P(ranking | query), (n,)."""
        return self.policy.log_prob(query, ranking)

    def greedy(self, query: ArrayLike) -> NDArray[np.int64]:
        """Return the most typical ranking of each query, (n, K)."""
        return self.policy.greedy(query)

    def state(self) -> dict[str, Any]:
        """Return what the policy is made of; moments are worked out again."""
        header, arrays = described(self.policy)
        return {"samples": self.samples, "seed": self.seed, "header": header} | {
            f"policy.{name}": array for name, array in arrays.items()
        }

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make it from the other policy's state."""
        header, samples, seed = (state.pop(name) for name in ("header", "samples", "seed"))
        arrays = {name.removeprefix("policy."): array for name, array in state.items()}
        return cls(made(header, arrays), samples, seed)
