"""Registering the environments with Gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from ..clickmodels import user_names

NAMESPACE = "clickgym"
LEARNED = f"{NAMESPACE}/Learned-v0"
RECOMMENDATION = f"{NAMESPACE}/Recommendation-v0"
FEDERATED = f"{NAMESPACE}/Federated-v0"


def environment_ids() -> tuple[str, ...]:
    """Return the ids of all environments of this package."""
    of_users = (f"{NAMESPACE}/{name}-v0" for name in user_names())
    return (*of_users, LEARNED, RECOMMENDATION, FEDERATED)


def register_environments() -> None:
    """Register one environment per true user of grades, and those of learned models and others."""
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        **{f"{NAMESPACE}/{name}-v0": ("Ranking", {"user": name}) for name in user_names()},
        LEARNED: ("Ranking", {}),
        RECOMMENDATION: ("Recommendation", {}),
        FEDERATED: ("Federated", {}),
    }
    for env_id, (kind, settings) in kinds.items():
        if env_id not in gym.registry:
            gym.register(
                id=env_id,
                entry_point=f"clickgym.envs:{kind}Env",
                vector_entry_point=f"clickgym.envs:{kind}VectorEnv",
                kwargs=settings,
                # The environments check order and actions themselves, at less cost per page.
                order_enforce=False,
                disable_env_checker=True,
            )
