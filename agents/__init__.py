"""Agents, and the glue to Stable-Baselines3."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..envs import RankingVectorEnv
    from .stable_baselines import StableBaselinesVecEnv


def as_vec_env(env: RankingVectorEnv) -> StableBaselinesVecEnv:
    """Return a vectorised environment (of ``gym.make_vec``) for Stable-Baselines3.

    Needs ``pip install 'clickgym[agents]'``.
    """
    from .stable_baselines import StableBaselinesVecEnv

    return StableBaselinesVecEnv(env)


__all__ = ["as_vec_env"]
