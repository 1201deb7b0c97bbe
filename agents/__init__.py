"""Agents that learn policies in environments, and the glue to Stable-Baselines3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..common.runtime import import_extra
from .bandits.cascading import CascadeKLUCB, CascadeUCB1
from .bandits.epsilon_greedy import EpsilonGreedy
from .base import Agent, agent_class, names, register
from .policy_gradient import PolicyGradient
from .sb3.deployment import deployed_policy
from .sb3.score_agents import PPOAgent, SACAgent
from .sb3.slot_agents import DQNAgent, MaskablePPOAgent
from .sb3.slot_policy import SlotPolicy
from .task import Task
from .training import TrainingRun, train
from .watch import CurseWatch, Measurement

if TYPE_CHECKING:
    from ..envs import RankingVectorEnv
    from .sb3.curse_callback import CurseCallback
    from .sb3.vec_env import StableBaselinesVecEnv


def as_vec_env(env: RankingVectorEnv) -> StableBaselinesVecEnv:
    """Return a vectorised environment (of ``gym.make_vec``) for Stable-Baselines3.

    Needs ``pip install 'clickgym[agents]'``.
    """
    import_extra("stable_baselines3", "agents", "Stable-Baselines3 needs")
    from .sb3.vec_env import StableBaselinesVecEnv

    return StableBaselinesVecEnv(env)


def __getattr__(name: str) -> Any:
    """Import what subclasses Stable-Baselines3 only when it is asked for."""
    if name == "CurseCallback":
        import_extra("stable_baselines3", "agents", "CurseCallback needs")
        from .sb3.curse_callback import CurseCallback

        return CurseCallback
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Agent", "CascadeKLUCB", "CascadeUCB1", "CurseCallback", "CurseWatch", "DQNAgent",
    "EpsilonGreedy", "MaskablePPOAgent", "Measurement", "PPOAgent", "PolicyGradient", "SACAgent",
    "SlotPolicy", "Task", "TrainingRun", "agent_class", "as_vec_env", "deployed_policy", "names",
    "register", "train",
]  # fmt: skip
