"""What training and deploying share: the environment named on the command line."""

from __future__ import annotations

from clickgym import clickmodels, data, envs
from clickgym.envs.registration import LEARNED, NAMESPACE


def user_named(env_id: str) -> str:
    """Return the true user of an environment's id: "clickgym/CoCM-v0" or just "CoCM"."""
    name = env_id.removeprefix(f"{NAMESPACE}/").removesuffix("-v0")
    known = clickmodels.user_names()
    if env_id == LEARNED or name not in known:
        ids = ", ".join(f"{NAMESPACE}/{user}-v0" for user in known)
        raise ValueError(f"env must be the true user's, one of {ids}, not {env_id!r}")
    return name


def environment(
    world: data.World, model: clickmodels.ClickModel, slots: int
) -> envs.RankingVectorEnv:
    """Return the environment of a click model or user."""
    return envs.RankingVectorEnv(1, click_model=model, world=world, slots=slots)
