"""The arguments of environments in which the agent places a vertical block."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from ..clickmodels import ClickModel, user_names
from ..common.typing import Booleans, Integers
from ..data import World, embedded_vertical_world
from ..data.world import VERTICALS
from .rewards import FEDERATED_REWARDS, Reward
from .settings import EnvironmentSettings
from .spaces import action_space, observation_space

USER = "FCM"


class FederatedSettings(EnvironmentSettings):
    """The checked arguments of :class:`FederatedEnv` and what follows from them.

    Attributes
    ----------
    types : (Q,)
        The type of each query's block, -1 = none.
    n_types : int
    allowed : (Q, K + 2) bool
        Which places a block may have (see ``allowed_places``).
    """

    rewards: ClassVar[dict[str, type[Reward]]] = FEDERATED_REWARDS
    places_blocks = True

    def __init__(
        self,
        user: str | ClickModel | None = None,
        world: World | None = None,
        click_model: ClickModel | str | os.PathLike[str] | None = None,
        *arguments: Any,
        **by_name: Any,
    ) -> None:
        if user is None and click_model is None:
            user = USER
        if user is not None and click_model is not None:
            raise ValueError("give user or click_model, not both: each says who clicks")
        known = user_names("verticals")
        if isinstance(user, str) and user not in known:
            raise ValueError(
                f"user must be a ClickModel or a true user of verticals ({', '.join(known)}), "
                f"not {user!r}"
            )
        super().__init__(user, world, click_model, *arguments, **by_name)
        self.allowed = allowed_places(self.world, self.slots)
        self._check_types()

    def _choose_world(self, world: World | None) -> World:
        world = embedded_vertical_world() if world is None else world
        if world.vertical is None:
            raise ValueError(
                "Federated-v0 needs a world with verticals, and this one has none: give it types "
                "by world.with_vertical"
            )
        self.types: Integers = world.vertical.astype(np.int64)
        self.n_types = max(int(self.types.max()) + 1, 1)
        return world

    def _make_spaces(self) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
        places = self.slots + 2
        context = self.n_types + (self.action == "slots")
        return (
            action_space(self.action, self.world, self.slots, places),
            observation_space(
                self.observation, self.action, self.world, self.slots, places, context
            ),
        )

    def _check_types(self) -> None:
        """Raise, now rather than in the middle of training, where the model knows fewer types."""
        if self.types.max() < 0:
            return
        query = np.array([self.types.argmax()])
        nothing = np.full((1, self.slots), -1)
        block = self.model.vertical_arguments(self.types[query], np.zeros(1, dtype=np.int64))
        if block:
            self.model.sample(query, nothing, np.random.default_rng(0), **block)

    def block_name(self, query: int) -> str:
        """Return what a query's block is called: true users have names for their types."""
        kind = int(self.types[query])
        named = not self.learned and 0 <= kind < len(VERTICALS) and self.n_types <= len(VERTICALS)
        return VERTICALS[kind] if named else f"type {kind}"


def allowed_places(world: World, slots: int) -> Booleans:
    """Return which places a query's block may have, (Q, K + 2): not shown, then 0 to K.

    A query without a type has none, and on a short page there is none below the last result.
    """
    assert world.vertical is not None
    places = np.arange(-1, slots + 1)
    lengths = np.minimum(slots, world.n_candidates)
    found: Booleans = (world.vertical[:, None] >= 0) & (places <= lengths[:, None])
    return found | (places < 0)
