"""Mixtures of policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Floats, Integers
from ..data import World
from .base import Policy, pack_policy, register, unpack_policy
from .given_set.conditional import GivenSet, mix_given
from .plackett_luce import Uniform
from .slates.moments import SAMPLES, SlateMoments, mix_moments
from .slates.placements import PAGES, Placements


@register("Mixture")
class Mixture(Policy):
    """Draws one of several policies for every page, and shows what that one shows.

    Parameters
    ----------
    policies : sequence of Policy
        For the same queries, candidates and slots; each has log-probabilities.
    weights : (number of policies,), at least 0
        How often each is drawn; sums to one.
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
        self.estimated = next((part.estimated for part in self.policies if part.estimated), "")
        known = {policy.fingerprint for policy in self.policies} - {None}
        if len(known) > 1:
            raise ValueError("policies belong to different worlds")
        self.fingerprint = known.pop() if known else None

    def draw(self, query: Integers, rng: np.random.Generator) -> tuple[Integers, Floats]:
        """Draw rankings (n, K) and their log-probabilities under the mixture (n,)."""
        which = rng.choice(len(self.policies), size=len(query), p=self.weights)
        ranking = np.full((len(query), self.slots), -1, dtype=np.int64)
        for number, policy in enumerate(self.policies):
            rows = which == number
            if rows.any():
                ranking[rows] = policy.draw(query[rows], rng)[0]
        return ranking, self.log_prob(query, ranking)

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return log P(ranking | query), (n,)."""
        query, ranking = self.check_pages(query, ranking)
        with np.errstate(divide="ignore"):
            logs = [
                np.log(weight) + policy.log_prob(query, ranking)
                for weight, policy in zip(self.weights, self.policies, strict=True)
            ]
        return np.logaddexp.reduce(logs, axis=0)

    @property
    def places_blocks(self) -> bool:
        """Whether one of the policies may show a block."""
        return any(policy.places_blocks for policy in self.policies)

    def place_log_probs(self, query: Integers, ranking: Integers) -> Floats:
        """Return log P(place | query, ranking), (n, K + 2).

        Each policy's places count as much as it is likely to have shown the ranking. Of a ranking
        that none of them shows, they count by their weights.
        """
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights)[:, None]
        shares = weights + [policy.log_prob(query, ranking) for policy in self.policies]
        shares = np.where(np.isneginf(shares).all(axis=0), weights, shares)
        shares -= np.logaddexp.reduce(shares, axis=0)
        tables = np.array([policy.place_log_probs(query, ranking) for policy in self.policies])
        return np.logaddexp.reduce(shares[:, :, None] + tables, axis=0)

    def greedy(self, query: ArrayLike) -> Integers:
        """Return the greedy ranking of the policy with the largest weight, (n, K)."""
        return self.policies[int(self.weights.argmax())].greedy(query)

    def slate_moments(self, query: int, samples: int = SAMPLES, seed: int = 0) -> SlateMoments:
        """Return the mixture of the policies' moments, exact where theirs are."""
        parts = [policy.slate_moments(query, samples, seed) for policy in self.policies]
        return mix_moments(parts, self.weights.tolist())

    def given_set(self, query: Integers, shown: Integers, seed: int = 0) -> GivenSet:
        """Return the mixture of the policies' marginals, each as likely as it shows the set."""
        parts = [policy.given_set(query, shown, seed) for policy in self.policies]
        with np.errstate(divide="ignore"):
            return mix_given(parts, np.log(self.weights).tolist())

    def placements(self, query: int, pages: int = PAGES, seed: int = 0) -> Placements:
        """Return the mixture of the policies' placements, exact where theirs are."""
        parts = [policy.placements(query, pages, seed) for policy in self.policies]
        mixed = sum(w * part.probabilities for w, part in zip(self.weights, parts, strict=True))
        if all(part.standard_error is None for part in parts):
            return Placements(np.asarray(mixed))
        errors = [
            weight * part.standard_error
            for weight, part in zip(self.weights, parts, strict=True)
            if part.standard_error is not None
        ]
        return Placements(np.asarray(mixed), np.sqrt(np.square(errors).sum(axis=0)))

    def state(self) -> dict[str, Any]:
        """Return the weights and the states of the policies."""
        state: dict[str, Any] = {"weights": self.weights, "headers": []}
        for number, policy in enumerate(self.policies):
            header, arrays = pack_policy(policy, f"{number}.")
            state["headers"].append(header)
            state |= arrays
        return state

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make the mixture from its policies' states."""
        weights, headers = state.pop("weights"), state.pop("headers")
        parts = [unpack_policy(header, state, f"{i}.") for i, header in enumerate(headers)]
        return cls(parts, weights)


def epsilon_uniform(policy: Policy, world: World, epsilon: float) -> Mixture:
    """Return ``policy`` mixed with uniform rankings of ``world``, which get the share ``epsilon``.

    With it every slate can be shown, and the error of the pseudoinverse estimator is bounded
    (corollary 1 of the slates paper).
    """
    epsilon = float(checks.probabilities(epsilon, "epsilon", 0))
    policy.check_world(world)
    return Mixture([policy, Uniform(world, policy.slots)], [1.0 - epsilon, epsilon])
