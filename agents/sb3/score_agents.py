"""PPO and SAC of Stable-Baselines3, which score all candidates of a page at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...policies import Policy
from ..base import count, number, register
from ..block_places import policy_of_scores
from .base import ProximalSettings, ReplaySettings, StableBaselinesAgent


class _ScoresAgent(StableBaselinesAgent):
    """Deploys the ranking by the network's mean scores."""

    action = "scores"

    def policy(self) -> Policy:
        """Return the deterministic ranking by mean scores, and blocks at the best places."""
        import torch

        world = self.task.world
        query = torch.arange(world.n_queries, dtype=torch.float32)[:, None]
        with torch.no_grad():
            scores = self._scorer().forward_actor(query).numpy().astype(np.float64)
        return policy_of_scores(scores, self.task)

    def _scorer(self) -> Any:
        raise NotImplementedError


@register("PPO")
class PPOAgent(_ScoresAgent):
    """Proximal policy optimisation of Gaussian scores around a permutation-equivariant scorer.

    A page is one step, so there is no discounting and an advantage is the page's reward minus the
    query's learned value. Deployed is the ranking by mean scores. Checkpoints go on exactly. Places
    of vertical blocks have scores, too: those of the block's type and the query's own.
    """

    budget = 500_000
    budget_reading_down = 350_000
    places_blocks = True

    @dataclass(frozen=True)
    class Settings(ProximalSettings):
        """Settings of :class:`PPOAgent`, beside those of ``ProximalSettings``.

        Attributes
        ----------
        spread : float
            Standard deviation of the scores at first; it is learned.
        """

        learning_rate: float = number(5e-3)
        spread: float = number(0.5)

    def make_algorithm(self) -> Any:
        """Return PPO."""
        from stable_baselines3 import PPO

        from .policy_classes import ScoresPolicy

        shared = self.shared_arguments(log_std_init=float(np.log(self.settings.spread)))
        return PPO(ScoresPolicy, n_steps=self.settings.steps, **shared)

    def _scorer(self) -> Any:
        return self.model.policy.mlp_extractor


@register("SAC")
class SACAgent(_ScoresAgent):
    """Soft actor-critic: scores that climb a learned value of (query, scores).

    The critic pools encodings of the candidates with their soft ranks, so its gradient says which
    candidates to move up. Deployed is the ranking by mean scores of the network's running mean.
    Soft ranks compare all pairs of candidates, O(N²) per page. Checkpoints hold the replay buffer,
    4 N bytes per page.
    """

    budget = 400_000
    budget_reading_down = 150_000

    @dataclass(frozen=True)
    class Settings(ReplaySettings):
        """Settings of :class:`SACAgent`, beside those of ``ReplaySettings``.

        Attributes
        ----------
        buffer_size : int
            Pages that are replayed from.
        entropy : float
            Weight of the entropy of the scores; the higher, the more is explored.
        spread : float
            Standard deviation of the scores (before they are squashed) at first; it is learned.
        sharpness : float
            Of the critic's soft ranks.
        """

        batch_size: int = count(1024)
        learning_rate: float = number(3e-3)
        half_life: float = number(200_000.0)
        gradient_steps: int = count(3)
        buffer_size: int = count(25_600)
        entropy: float = number(0.002, least=0)
        spread: float = number(1.6)
        sharpness: float = number(15.0)

    def make_algorithm(self) -> Any:
        """Return SAC."""
        from .page_networks import ScoresCritic
        from .policy_classes import OneStepSAC, ScoresSACPolicy

        own = self.settings

        def make_critic() -> ScoresCritic:
            shape = self.task.slots, own.hidden
            return ScoresCritic(self._features, self._candidates, *shape, own.sharpness)

        shared = self.shared_arguments(critic=make_critic, log_std_init=float(np.log(own.spread)))
        return OneStepSAC(
            ScoresSACPolicy, buffer_size=own.buffer_size, learning_starts=0, gamma=0.0,
            gradient_steps=own.gradient_steps, ent_coef=own.entropy, tau=own.averaging, **shared,
        )  # fmt: skip

    def _scorer(self) -> Any:
        return self.model.policy.mean_network
