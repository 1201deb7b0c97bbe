"""Where an agent learns: a world, a click model and the shape of a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import gymnasium as gym

from ..clickmodels import ClickModel
from ..data import World
from ..envs import FederatedVectorEnv, RankingEnv, RankingVectorEnv
from ..envs.rewards import noiseless
from ..envs.settings import EnvironmentSettings

_HARMLESS = ("PassiveEnvChecker", "OrderEnforcing", "TimeLimit")

# What agents may learn from in place of the environment's own reward, if that counts clicks.
TRAINING_REWARDS = ("clicks", "expected_clicks", "conditional_clicks")

EnvOrMake = str | gym.Env[Any, Any] | RankingVectorEnv | Callable[[], Any]


@dataclass(frozen=True)
class Task:
    """What an environment is made of, whichever way it is looked at.

    Agents need different views of the same pages (scores or slots, ids or features) and batches
    of their own size; ``vector_env`` makes them. ``learned`` is True for an environment around a
    learned click model, ``places_blocks`` for one in which the agent places vertical blocks.
    """

    world: World
    model: ClickModel
    slots: int
    reward: str
    learned: bool
    places_blocks: bool = False
    pessimism: float | str | None = None

    @classmethod
    def of(cls, env_or_make: EnvOrMake) -> Self:
        """Return the task of an environment, of its id, or of a function that makes it."""
        env: Any = env_or_make
        if isinstance(env, str):
            env = gym.make(env)
        elif not isinstance(env, (gym.Env, gym.vector.VectorEnv)) and callable(env):
            env = env()
        inner = unwrap(env)
        if not isinstance(inner, (RankingEnv, RankingVectorEnv)):
            raise ValueError(
                f"env_or_make must be a clickgym environment, its id or a function that makes it, "
                f"not {type(inner).__name__}"
            )
        return cls.from_settings(inner.settings)

    @classmethod
    def from_settings(cls, settings: EnvironmentSettings) -> Self:
        """Return the task of an environment with these settings."""
        own = settings.world, settings.model, settings.slots, settings.reward, settings.learned
        return cls(*own, settings.places_blocks, settings.pessimism)

    def with_reward(self, reward: str | None) -> Self:
        """Return the task with another reward; None for the one to train on.

        That is the environment's own on a true user. Inside a learned model, whose expectations
        are known, clicks give way to their expectation (see ``envs.rewards.noiseless``).
        """
        if reward is None:
            noisy = self.learned and self.reward == "clicks"
            reward = noiseless(self.model) if noisy else self.reward
        pessimism = self.pessimism if reward == self.reward else None
        return replace(self, reward=reward, pessimism=pessimism)

    def vector_env(
        self, num_envs: int, action: str, observation: str, slot_rewards: bool | str = False
    ) -> RankingVectorEnv:
        """Return a batch of environments of this task, seen as ``action`` and ``observation``.

        ``slot_rewards`` as in the environment: then ``info`` says what each slot has earned.
        """
        source = {"click_model" if self.learned else "user": self.model}
        kind = FederatedVectorEnv if self.places_blocks else RankingVectorEnv
        return kind(
            num_envs, world=self.world, slots=self.slots, reward=self.reward, action=action,
            observation=observation, slot_rewards=slot_rewards, pessimism=self.pessimism, **source,
        )  # fmt: skip


def unwrap(env: Any) -> Any:
    """Return what Gymnasium's own harmless wrappers wrap; what others change would be lost."""
    while isinstance(env, (gym.Wrapper, gym.vector.VectorWrapper)):
        if type(env).__name__ not in _HARMLESS:
            raise ValueError(
                f"agents make views of the environment of their own, so {type(env).__name__} "
                "around it would have no effect; give the environment without it"
            )
        env = env.env
    return env
