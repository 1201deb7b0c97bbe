"""MaskablePPO and DQN of Stable-Baselines3, which fill a page slot by slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...policies import Policy
from ..base import register
from .base import NetworkSettings, ProximalSettings, StableBaselinesAgent
from .slot_policy import SlotPolicy


class _SlotsAgent(StableBaselinesAgent):
    """Fills a page slot by slot; a page is as many steps as it has slots."""

    action = "slots"


@register("MaskablePPO")
class MaskablePPOAgent(_SlotsAgent):
    """Proximal policy optimisation of the choice of the next document, among the free ones.

    The reward comes with the last slot and counts for all choices of the page alike (no
    discounting). Deployed is the stochastic :class:`SlotPolicy`, with exact log-probabilities.
    Checkpoints go on exactly where rollouts end with pages (``steps`` times K, all lists at least
    K long); otherwise half-filled pages are started again.
    """

    budget = 150_000

    @dataclass(frozen=True)
    class Settings(ProximalSettings):
        """Settings of :class:`MaskablePPOAgent`, beside those of ``ProximalSettings``.

        Attributes
        ----------
        entropy : float
            Weight of the entropy of choices; the higher, the more is explored.
        """

        batch_size: int = 5120
        learning_rate: float = 5e-3
        steps: int = 4
        epochs: int = 2
        entropy: float = 0.0

    def _make(self) -> Any:
        from .policy_classes import MaskedSlotsPolicy  # first: it says what is missing

        from sb3_contrib import MaskablePPO  # isort: skip

        own = self.settings
        return MaskablePPO(
            MaskedSlotsPolicy, self._env, learning_rate=self._rate(),
            n_steps=own.steps * self.task.slots, batch_size=own.batch_size, n_epochs=own.epochs,
            gamma=1.0, gae_lambda=1.0, clip_range=own.clip_range, ent_coef=own.entropy,
            seed=self.seed, device="cpu", policy_kwargs={"network": self._network},
        )  # fmt: skip

    def policy(self) -> SlotPolicy:
        """Return the policy that draws documents slot by slot."""
        return SlotPolicy.of_network(self.model.policy.mlp_extractor, self.task.world)


@register("DQN")
class DQNAgent(_SlotsAgent):
    """Deep Q-learning of the value of the next document.

    The value of a choice is regressed on the clicks that the page went on to get (returns of K
    steps, no discounting), rather than on the next choice's value, whose errors would add up over
    ten slots; with little exploration left, that is the greedy policy's own value. Exploration
    draws among the free candidates. Deployed is the greedy ranking. Checkpoints hold the replay
    buffer.
    """

    budget = 100_000
    # DQN's loss is linear beyond errors of 1 and would find medians; small errors give means.
    reward_scale = 0.2

    @dataclass(frozen=True)
    class Settings(NetworkSettings):
        """Settings of :class:`DQNAgent`, beside those of ``NetworkSettings``.

        Attributes
        ----------
        gradient_steps : int
            Between two batches of pages.
        buffer_pages : int
            Pages that are replayed from.
        exploration : float
            Share of slots that are filled at random, at first.
        exploration_half_life : float
            Pages after which that share has halved, and halves again.
        least_exploration : float
            What it never falls below.
        """

        learning_rate: float = 5e-3
        half_life: float = 50_000.0
        gradient_steps: int = 4
        buffer_pages: int = 10_000
        exploration: float = 0.3
        exploration_half_life: float = 30_000.0
        least_exploration: float = 0.02

    def _make(self) -> Any:
        from .policy_classes import FreeDQN, SlotsDQNPolicy

        own, slots = self.settings, self.task.slots

        def exploring(_: float) -> float:
            share = own.exploration * 0.5 ** (self._env.finished / own.exploration_half_life)
            return max(share, own.least_exploration)

        model = FreeDQN(
            SlotsDQNPolicy, self._env, learning_rate=self._rate(),
            buffer_size=own.buffer_pages * slots, learning_starts=own.num_envs * slots,
            batch_size=own.batch_size, gamma=1.0, train_freq=slots,
            gradient_steps=own.gradient_steps, n_steps=slots, target_update_interval=10_000,
            seed=self.seed, device="cpu", policy_kwargs={"network": self._network},
        )  # fmt: skip
        model.exploration_schedule = exploring
        model.exploration_rate = exploring(1.0)
        return model

    def policy(self) -> Policy:
        """Return the ranking that always places the document of the highest value."""
        from .deployment import deployed_policy

        return deployed_policy(self.model, self.task)


