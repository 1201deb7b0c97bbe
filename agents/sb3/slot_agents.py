"""MaskablePPO and DQN of Stable-Baselines3, which fill a page slot by slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...policies import Policy
from ..base import count, number, register
from .base import ProximalSettings, ReplaySettings, StableBaselinesAgent
from .deployment import deployed_policy
from .slot_policy import SlotPolicy


@register("MaskablePPO")
class MaskablePPOAgent(StableBaselinesAgent):
    """Proximal policy optimisation of the choice of the next document, among the free ones.

    A choice counts for what its slot and those below it earn; all of the page, where the user does
    not read down it (no discounting). Deployed is the stochastic :class:`SlotPolicy`, with exact
    log-probabilities. Checkpoints go on exactly where rollouts end with pages (``steps`` times K,
    all lists at least K long); otherwise half-filled pages are started again.
    """

    budget = 250_000
    budget_reading_down = 175_000
    action = "slots"

    @dataclass(frozen=True)
    class Settings(ProximalSettings):
        """Settings of :class:`MaskablePPOAgent`, beside those of ``ProximalSettings``.

        Attributes
        ----------
        entropy : float
            Weight of the entropy of choices; the higher, the more is explored.
        """

        batch_size: int = count(5120)
        learning_rate: float = number(0.01)
        half_life: float = number(200_000.0)
        steps: int = count(4)
        epochs: int = count(2)
        entropy: float = number(0.0, least=0)

    def make_algorithm(self) -> Any:
        """Return MaskablePPO."""
        from sb3_contrib import MaskablePPO

        from .policy_classes import MaskedSlotsPolicy
        from .slot_credit import SlotRollouts

        steps, entropy = self.settings.steps * self.task.slots, self.settings.entropy
        return MaskablePPO(
            MaskedSlotsPolicy,
            n_steps=steps,
            ent_coef=entropy,
            rollout_buffer_class=SlotRollouts,
            rollout_buffer_kwargs={"pages": self._env},
            **self.shared_arguments(),
        )

    def policy(self) -> SlotPolicy:
        """Return the policy that draws documents slot by slot."""
        return SlotPolicy.from_network(self.model.policy.mlp_extractor, self.task.world)


@register("DQN")
class DQNAgent(StableBaselinesAgent):
    """Deep Q-learning of the value of the next document.

    The value of a choice is regressed on what the page went on to earn from its slot on (returns
    of K steps, no discounting; where the user does not read down the page, what it gains with each
    document), rather than on the next choice's value, whose errors would add up over ten slots;
    with little exploration left, that is the greedy policy's own value. The network knows which
    document stands just above. Exploration draws among the free candidates by their values.
    Deployed is the greedy ranking of the network's running mean. Checkpoints hold the replay
    buffer.
    """

    budget = 300_000
    budget_reading_down = 80_000
    action = "slots"
    # DQN's loss is linear beyond errors of 1 and would find medians; small errors give means.
    reward_scale = 0.2
    sees_last = True
    credit = "gains"

    @dataclass(frozen=True)
    class Settings(ReplaySettings):
        """Settings of :class:`DQNAgent`, beside those of ``ReplaySettings``.

        Attributes
        ----------
        buffer_pages : int
            Pages that are replayed from.
        temperature : float
            Of choices while it learns, in clicks, at first.
        temperature_half_life : float
            Pages after which it has halved, and halves again.
        least_temperature : float
            What it never falls below.
        """

        batch_size: int = count(1024)
        learning_rate: float = number(5e-3)
        half_life: float = number(75_000.0)
        gradient_steps: int = count(6)
        buffer_pages: int = count(10_000)
        temperature: float = number(0.1, least=0)
        temperature_half_life: float = number(10_000.0)
        least_temperature: float = number(0.003, least=0)

    def make_algorithm(self) -> Any:
        """Return DQN, whose exploration follows the pages shown."""
        from .policy_classes import FreeDQN, SlotsDQNPolicy
        from .slot_credit import SlotReplay

        own, slots = self.settings, self.task.slots

        def explore(_: float) -> float:
            share = own.temperature * 0.5 ** (self._env.finished / own.temperature_half_life)
            return self.reward_scale * max(share, own.least_temperature)

        model = FreeDQN(
            SlotsDQNPolicy, buffer_size=own.buffer_pages * slots,
            learning_starts=own.num_envs * slots, gamma=1.0, train_freq=slots,
            gradient_steps=own.gradient_steps, tau=own.averaging,
            replay_buffer_class=SlotReplay,
            replay_buffer_kwargs={"pages": self._env, "n_steps": slots, "gamma": 1.0},
            **self.shared_arguments(),
        )  # fmt: skip
        model.exploration_schedule = explore
        model.exploration_rate = explore(1.0)
        return model

    def policy(self) -> Policy:
        """Return the ranking that always places the document of the highest value."""
        return deployed_policy(self.model, self.task)
