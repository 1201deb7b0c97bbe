"""Action and observation spaces of the ranking environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from ..common.typing import Integers
from ..data.world import FEATURE_CLIP, World

ACTIONS = ("scores", "ranking", "slots")
OBSERVATIONS = ("features", "ids", "both")


class Rankings(spaces.MultiDiscrete):
    """The documents of each slot, ``(K,)`` or ``(n, K)``; samples never repeat a document.

    Every array of a ``MultiDiscrete`` is still contained, repeats included, so that agents which
    know nothing of rankings can act; the environment's ``invalid`` says what becomes of those.
    """

    def __init__(
        self, n_docs: int, slots: int, num_envs: int | None = None, seed: int | None = None
    ) -> None:
        shape = (slots,) if num_envs is None else (num_envs, slots)
        super().__init__(np.full(shape, n_docs, dtype=np.int64), seed=seed)
        self.n_docs = n_docs

    def sample(self, mask: Any = None, probability: Any = None) -> Integers:
        """Draw a ranking uniformly; with a mask, as ``MultiDiscrete`` does."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        keys = self.np_random.random((*self.shape[:-1], self.n_docs))
        order = np.argsort(keys, axis=-1)[..., : self.shape[-1]]
        missing = self.shape[-1] - order.shape[-1]  # more slots than documents: never shown
        pad = [(0, 0)] * (order.ndim - 1) + [(0, missing)]
        return np.pad(order, pad).astype(np.int64)


def action_space(action: str, world: World, slots: int) -> spaces.Space[Any]:
    """Return the action space of one environment."""
    if action == "scores":
        return spaces.Box(-1.0, 1.0, (world.n_docs,), np.float32)
    if action == "ranking":
        return Rankings(world.n_docs, slots)
    return spaces.Discrete(world.n_docs)


def batch_actions(space: spaces.Space[Any], num_envs: int) -> spaces.Space[Any]:
    """Return the action space of ``num_envs`` environments with actions in ``space``."""
    if isinstance(space, Rankings):
        return Rankings(space.n_docs, space.shape[0], num_envs)
    return batch_space(space, num_envs)


def observation_space(observation: str, action: str, world: World, slots: int) -> spaces.Space[Any]:
    """Return the observation space of one environment.

    With ``action="slots"`` the page so far is part of it: one more feature, the share of the page
    at which a candidate was placed (0 = not yet), or, with ids, the slot of each candidate
    (0 = not yet).
    """
    ids: spaces.Space[Any] = spaces.Discrete(world.n_queries)
    if action == "slots" and observation == "ids":
        placed = np.full(world.n_docs, slots + 1)
        ids = spaces.MultiDiscrete(np.concatenate([[world.n_queries], placed]))
    if observation == "ids":
        return ids
    width = world.standardised_features.shape[2] + (action == "slots")
    features = spaces.Box(-FEATURE_CLIP, FEATURE_CLIP, (world.n_docs, width), np.float32)
    if observation == "features":
        return features
    return spaces.Dict({"features": features, "query": ids})
