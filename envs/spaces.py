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
    With ``places`` one more number follows, of that many: where the block stands.
    """

    def __init__(
        self,
        n_docs: int,
        slots: int,
        num_envs: int | None = None,
        seed: int | None = None,
        places: int = 0,
    ) -> None:
        sizes = np.array([n_docs] * slots + [places] * (places > 0), dtype=np.int64)
        sizes = sizes if num_envs is None else np.tile(sizes, (num_envs, 1))
        super().__init__(sizes, seed=seed)
        self.n_docs, self.slots, self.places = n_docs, slots, places

    def sample(self, mask: Any = None, probability: Any = None) -> Integers:
        """Draw a ranking uniformly; with a mask, as ``MultiDiscrete`` does."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        keys = self.np_random.random((*self.shape[:-1], self.n_docs))
        order = np.argsort(keys, axis=-1)[..., : self.slots]
        missing = self.slots - order.shape[-1]  # more slots than documents: never shown
        pad = [(0, 0)] * (order.ndim - 1) + [(0, missing)]
        order = np.pad(order, pad).astype(np.int64)
        if not self.places:
            return order
        place = self.np_random.integers(self.places, size=(*order.shape[:-1], 1))
        return np.concatenate([order, place], axis=-1)


def action_space(action: str, world: World, slots: int, places: int = 0) -> spaces.Space[Any]:
    """Return the action space of one environment.

    ``places``, where the agent places a block, is the number of places it can choose from:
    so many more scores, one more number of a ranking, one more action that fills a slot.
    """
    if action == "scores":
        return spaces.Box(-1.0, 1.0, (world.n_docs + places,), np.float32)
    if action == "ranking":
        return Rankings(world.n_docs, slots, places=places)
    return spaces.Discrete(world.n_docs + (places > 0))


def batch_actions(space: spaces.Space[Any], num_envs: int) -> spaces.Space[Any]:
    """Return the action space of ``num_envs`` environments with actions in ``space``."""
    if isinstance(space, Rankings):
        return Rankings(space.n_docs, space.slots, num_envs, places=space.places)
    return batch_space(space, num_envs)


def observation_space(
    observation: str, action: str, world: World, slots: int, places: int = 0, context: int = 0
) -> spaces.Space[Any]:
    """Return the observation space of one environment.

    With ``action="slots"`` the page so far is part of it: one more feature, the share of the page
    at which a candidate was placed (0 = not yet), or, with ids, the slot of each candidate
    (0 = not yet). Where the agent places a block, ``places`` is the number of places: with slots
    and ids one more number says where it stands. ``context`` more features are the same for all
    candidates.
    """
    ids: spaces.Space[Any] = spaces.Discrete(world.n_queries)
    if action == "slots" and observation == "ids":
        placed = [slots + 1] * world.n_docs + [places] * (places > 0)
        ids = spaces.MultiDiscrete(np.array([world.n_queries, *placed]))
    if observation == "ids":
        return ids
    width = world.standardised_features.shape[2] + (action == "slots") + context
    features = spaces.Box(-FEATURE_CLIP, FEATURE_CLIP, (world.n_docs, width), np.float32)
    if observation == "features":
        return features
    return spaces.Dict({"features": features, "query": ids})
