"""Policies that keep the moments of each query."""

from __future__ import annotations

from typing import Any, Self

from ..common import checks
from .base import Policy, pack_policy, register, unpack_policy
from .slates.moments import SAMPLES, SlateMoments
from .wrapper import PolicyWrapper


@register("Remembering")
class Remembering(PolicyWrapper):
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
        super().__init__(policy)
        self.seed, self.samples = seed, checks.positive_integer(samples, "samples", 2)
        self._moments: dict[int, SlateMoments] = {}

    def marginals(self, query: int) -> SlateMoments:
        """Return the moments of a query's pages."""
        if query not in self._moments:
            self._moments[query] = self.policy.slate_moments(query, self.samples, self.seed)
        return self._moments[query]

    def slate_moments(self, query: int, samples: int = SAMPLES, seed: int = 0) -> SlateMoments:
        """Return the moments that are kept, whatever ``samples`` and ``seed``."""
        return self.marginals(query)

    def state(self) -> dict[str, Any]:
        """Return the other policy's state; moments are not saved."""
        header, arrays = pack_policy(self.policy, "policy.")
        return {"samples": self.samples, "seed": self.seed, "header": header} | arrays

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make it from the other policy's state."""
        header, samples, seed = (state.pop(name) for name in ("header", "samples", "seed"))
        return cls(unpack_policy(header, state, "policy."), samples, seed)
