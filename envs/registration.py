"""Registering the environments with Gymnasium."""

from __future__ import annotations

import gymnasium as gym

from ..clickmodels import user_names

NAMESPACE = "clickgym"
LEARNED = f"{NAMESPACE}/Learned-v0"


def environment_ids() -> tuple[str, ...]:
    """Return the ids of all environments of this package."""
    return (*(f"{NAMESPACE}/{name}-v0" for name in user_names()), LEARNED)


def register_environments() -> None:
    """Register one environment for each true user, and the one for learned models."""
    users: dict[str, str | None] = {f"{NAMESPACE}/{name}-v0": name for name in user_names()}
    users[LEARNED] = None
    for env_id, user in users.items():
        if env_id not in gym.registry:
            gym.register(
                id=env_id,
                entry_point="clickgym.envs:RankingEnv",
                vector_entry_point="clickgym.envs:RankingVectorEnv",
                kwargs={} if user is None else {"user": user},
                # The environments check order and actions themselves, at less cost per page.
                order_enforce=False,
                disable_env_checker=True,
            )
