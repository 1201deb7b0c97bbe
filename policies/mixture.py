"""Mixtures of policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common import checks
from ..data import World
from .base import Policy, described, made, register
from .plackett_luce import Uniform


@register("Mixture")
class Mixture(Policy):
    """Draws one of several policies for every page, and shows what that one shows.

    Parameters
    ----------
    policies : sequence of Policy
        For the same queries, candidates and slots; each has log-probabilities.
    weights : (number of policies,), at least 0
        How often each is drawn; sums to one.

    Notes
    -----
    ``policies.slate_moments`` mixes the moments of the policies, exact where theirs are.
    """

    def __init__(self, policies: Sequence[Policy], weights: ArrayLike) -> None:
        self.policies = tuple(policies)
        if not self.policies:
            raise ValueError("policies is empty")
        self.weights = checks.probabilities(weights, "weights", 1).copy()
        checks.same_shape(self.weights, (len(self.policies),), "weights", "policies")
        if abs(self.weights.sum() - 1.0) > 1e-9:
            raise ValueError(f"weights must sum to 1, not {self.weights.sum():.8g}")
        self.weights.flags.writeable = False
        first = self.policies[0]
        self.slots, self.shape = first.slots, first.shape
        for policy in self.policies:
            if (policy.slots, policy.shape) != (self.slots, self.shape):
                raise ValueError(f"policies do not fit together: {first!r} and {policy!r}")
            if not policy.has_log_prob:
                raise ValueError(f"{policy!r} has no log-probabilities, so no mixture has them")
        known = {policy.fingerprint for policy in self.policies} - {None}
        if len(known) > 1:
            raise ValueError("policies belong to different worlds")
        self.fingerprint = known.pop() if known else None

    def draw(
        self, query: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw rankings (n, K) and their log-probabilities under the mixture (n,)."""
        which = rng.choice(len(self.policies), size=len(query), p=self.weights)
        ranking = np.full((len(query), self.slots), -1, dtype=np.int64)
        for number, policy in enumerate(self.policies):
            rows = which == number
            if rows.any():
                ranking[rows] = policy.draw(query[rows], rng)[0]
        return ranking, self.log_prob(query, ranking)

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> NDArray[np.float64]:
        """Return log P(ranking | query), (n,)."""
        query, ranking = self.checked_pages(query, ranking)
        with np.errstate(divide="ignore"):
            logs = [
                np.log(weight) + policy.log_prob(query, ranking)
                for weight, policy in zip(self.weights, self.policies, strict=True)
            ]
        return np.logaddexp.reduce(logs, axis=0)

    def greedy(self, query: ArrayLike) -> NDArray[np.int64]:
        """Return what the policy with the largest weight likes best, (n, K)."""
        return self.policies[int(self.weights.argmax())].greedy(query)

    def state(self) -> dict[str, Any]:
        """Return the weights, and what each policy is made of."""
        state: dict[str, Any] = {"weights": self.weights, "headers": []}
        for number, policy in enumerate(self.policies):
            header, arrays = described(policy)
            state["headers"].append(header)
            state |= {f"{number}.{name}": array for name, array in arrays.items()}
        return state

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make the mixture from its policies' states."""
        weights, headers = state.pop("weights"), state.pop("headers")
        policies = []
        for number, header in enumerate(headers):
            prefix = f"{number}."
            arrays = {
                name.removeprefix(prefix): array
                for name, array in state.items() if name.startswith(prefix)
            }  # fmt: skip
            policies.append(made(header, arrays))
        return cls(policies, weights)


def epsilon_uniform(policy: Policy, world: World, epsilon: float) -> Mixture:
    """Return ``policy`` mixed with uniform rankings of ``world``, which get the share ``epsilon``.

    With it every slate can be shown, and the error of the pseudoinverse estimator is bounded
    (corollary 1 of the slates paper).
    """
    epsilon = float(checks.probabilities(epsilon, "epsilon", 0))
    policy.check_world(world)
    return Mixture([policy, Uniform(world, policy.slots)], [1.0 - epsilon, epsilon])
