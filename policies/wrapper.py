"""Policies that show what another policy shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..common.typing import Floats, Integers
from ..data import World
from .base import Policy
from .given_set.conditional import GivenSet
from .slates.moments import SAMPLES, SlateMoments
from .slates.placements import PAGES, Placements


class PolicyWrapper(Policy):
    """Another policy, whose pages are shown as they are, blocks included.

    A subclass changes what it is made for.

    Parameters
    ----------
    policy : Policy
    """

    def __init__(self, policy: Policy) -> None:
        if not isinstance(policy, Policy):
            raise ValueError(f"policy must be a Policy, not {type(policy).__name__}")
        self.policy, self.slots, self.shape = policy, policy.slots, policy.shape
        self.fingerprint = policy.fingerprint
        self.has_log_prob, self.deterministic = policy.has_log_prob, policy.deterministic
        self.estimated = policy.estimated

    @property
    def places_blocks(self) -> bool:
        """Whether the other policy may show a block."""
        return self.policy.places_blocks

    @property
    def places_by_query(self) -> bool:
        """Whether the other policy's places depend on the query alone."""
        return self.policy.places_by_query

    def place(
        self, query: Integers, ranking: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Floats]:
        """Draw where the other policy places the blocks of pages."""
        return self.policy.place(query, ranking, rng)

    def place_log_probs(self, query: Integers, ranking: Integers) -> Floats:
        """Return the log-probabilities of the other policy's places, (n, K + 2)."""
        return self.policy.place_log_probs(query, ranking)

    def draw(self, query: Integers, rng: np.random.Generator) -> tuple[Integers, Floats | None]:
        """Draw rankings (n, K) and their log-probabilities (n,), if there are any."""
        return self.policy.draw(query, rng)

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return log P(ranking | query), (n,)."""
        return self.policy.log_prob(query, ranking)

    def greedy(self, query: ArrayLike) -> Integers:
        """Return the other policy's greedy rankings, (n, K)."""
        return self.policy.greedy(query)

    def document_scores(self) -> Floats | None:
        """Return the other policy's scores, (Q, N), where it has some."""
        return self.policy.document_scores()

    def slate_moments(self, query: int, samples: int = SAMPLES, seed: int = 0) -> SlateMoments:
        """Return the other policy's moments."""
        return self.policy.slate_moments(query, samples, seed)

    def given_set(self, query: Integers, shown: Integers, seed: int = 0) -> GivenSet:
        """Return the other policy's marginals given the set."""
        return self.policy.given_set(query, shown, seed)

    def why_never(self, query: int, documents: list[int]) -> str:
        """Say why the other policy never shows exactly these documents."""
        return self.policy.why_never(query, documents)

    def placements(self, query: int, pages: int = PAGES, seed: int = 0) -> Placements:
        """Return the other policy's placements."""
        return self.policy.placements(query, pages, seed)

    def document_limit(self) -> int:
        """Return the bound of the documents that the other policy's pages may show."""
        return self.policy.document_limit()

    def check_world(self, world: World) -> None:
        """Raise unless this policy and the other one belong to ``world``."""
        world.check_fingerprint(self.fingerprint, f"the policy {self.name}")
        self.policy.check_world(world)
