"""Agents that learn policies in environments, and the glue to Stable-Baselines3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Agent, agent_class, names, register
from .task import Task
from .training import TrainingRun, train
from .watch import CurseWatch, Measurement

if TYPE_CHECKING:
    from ..envs import RankingVectorEnv
    from .stable_baselines import StableBaselinesVecEnv


def as_vec_env(env: RankingVectorEnv) -> StableBaselinesVecEnv:
    """Return a vectorised environment (of ``gym.make_vec``) for Stable-Baselines3.

    Needs ``pip install 'clickgym[agents]'``.
    """
    from .stable_baselines import StableBaselinesVecEnv

    return StableBaselinesVecEnv(env)


__all__ = [
    "Agent", "CurseWatch", "Measurement", "Task", "TrainingRun", "agent_class", "as_vec_env",
    "names", "register", "train",
]  # fmt: skip
