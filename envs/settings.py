"""The arguments of single and vectorised environments: declared, documented and checked once."""

from __future__ import annotations

import inspect
import os
import pickle
import warnings
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from gymnasium import spaces

from ..clickmodels import ClickModel, true_user
from ..clickmodels.uncertainty.caution import AUTO
from ..common import checks
from ..common.random import AliasTable
from ..common.typing import Floats, Integers
from ..data import World, embedded_world
from .rewards import REWARDS, Reward, Shown, check_exact
from .spaces import ACTIONS, OBSERVATIONS, action_space, observation_space

INVALID = ("raise", "repair")
SLOTS = 10  # unless a learned model knows fewer ranks
RENDER_MODES = ("ansi", "rgb_array")

_SHARED_USERS: WeakKeyDictionary[World, dict[Any, ClickModel]] = WeakKeyDictionary()


class EnvironmentSettings:
    """The checked arguments of an environment and what follows from them.

    The arguments are explained in :class:`RankingEnv`.

    Attributes
    ----------
    rewards : dict
        The rewards that there are, by name.
    places_blocks : bool
        Whether the agent decides where a page's vertical block stands.
    """

    rewards: ClassVar[dict[str, type[Reward]]] = REWARDS
    places_blocks: ClassVar[bool] = False

    def __init__(
        self,
        user: str | ClickModel | None = None,
        world: World | None = None,
        click_model: ClickModel | str | os.PathLike[str] | None = None,
        user_params: dict[str, Any] | None = None,
        slots: int | None = None,
        action: str = "scores",
        observation: str | None = None,
        reward: str = "clicks",
        invalid: str | None = None,
        expectations: bool = False,
        render_mode: str | None = None,
        slot_rewards: bool | str = False,
        pessimism: float | str | None = None,
    ) -> None:
        if world is not None and not isinstance(world, World):
            raise ValueError(
                f"world must be a clickgym.data.World (of data.synthetic_world or "
                f"data.load_letor), not {type(world).__name__}"
            )
        self.world = self._choose_world(world)
        self.learned = user is None
        model = self._given_model(user, click_model, user_params)
        if slots is None:
            longest = model.max_slots if self.learned and model is not None else None
            slots = min(SLOTS, longest or SLOTS)
        if observation is None:
            lacking = self.learned and self.world.features is None
            observation = "ids" if lacking else "features"
        self.slots = checks.positive_integer(slots, "slots")
        if self.slots > (most := int(self.world.n_candidates.max())):
            warnings.warn(
                f"slots={self.slots}, but no query has more than {most} candidates: the others "
                "stay empty (-1)", stacklevel=2,
            )  # fmt: skip
        self.action = checks.choice(action, ACTIONS, "action")
        self.observation = checks.choice(observation, OBSERVATIONS, "observation")
        self.reward = checks.choice(reward, tuple(self.rewards), "reward")
        default = "raise" if action == "ranking" else "repair"
        self.invalid = checks.choice(default if invalid is None else invalid, INVALID, "invalid")
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode must be ansi, rgb_array or None, not {render_mode!r}")
        self.render_mode = render_mode
        self.expectations = bool(expectations)
        if slot_rewards not in (False, True, "gains"):
            raise ValueError(f"slot_rewards must be True, False or 'gains', not {slot_rewards!r}")
        self.slot_rewards = slot_rewards
        if model is None:
            model = shared_user(str(user), self.world, self.slots, user_params or {})
        self.model = model
        self._check_model()
        if self.learned and self.rewards[reward].leaks_grades:
            raise ValueError(
                f"reward={reward!r} needs a true user: in a learned environment it would leak "
                "grades"
            )
        self.pessimism = self._choose_pessimism(pessimism)
        rewarded = self.model if self.pessimism is None else model.pessimistic(self.pessimism)
        self.rewarding = self.rewards[reward](self.world, rewarded, self.slots)
        self.action_space, self.observation_space = self._make_spaces()
        self.queries = AliasTable(self.world.query_probs)
        possible = self.world.candidates.any(axis=1)  # options may ask what is never drawn
        self.all_candidates = bool(self.world.candidates[possible].all())
        self.lengths: Integers = np.minimum(self.slots, self.world.n_candidates)

    def _choose_pessimism(self, pessimism: float | str | None) -> float | str | None:
        """Return λ or "auto", the default, for a pessimistic reward; None for others."""
        if self.rewards[self.reward].pessimistic:
            return AUTO if pessimism is None else pessimism
        if pessimism is not None:
            known = [name for name, kind in self.rewards.items() if kind.pessimistic]
            takes = f"reward={known[0]!r}" if known else "other environments"
            raise ValueError(f"pessimism is for {takes}, not for reward={self.reward!r}")
        return None

    def _choose_world(self, world: World | None) -> World:
        """Return the world, or the default one."""
        return embedded_world() if world is None else world

    def _make_spaces(self) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
        """Return the spaces of actions and observations."""
        return (
            action_space(self.action, self.world, self.slots),
            observation_space(self.observation, self.action, self.world, self.slots),
        )

    @staticmethod
    def _given_model(
        user: str | ClickModel | None,
        click_model: ClickModel | str | os.PathLike[str] | None,
        user_params: dict[str, Any] | None,
    ) -> ClickModel | None:
        """Return the model that is given; None for a user by name, which slots are needed for."""
        if user is not None and click_model is not None:
            raise ValueError("click_model is for clickgym/Learned-v0; this environment has a user")
        if user_params and not isinstance(user, str):
            raise ValueError("user_params are for an environment of a named user")
        if isinstance(user, str):
            return None
        model = click_model if user is None else user
        if model is None:
            raise ValueError("click_model is missing: give a fitted ClickModel or its path")
        if isinstance(model, (str, os.PathLike)):
            model = ClickModel.load(model)
        if not isinstance(model, ClickModel):
            raise ValueError(
                f"click_model must be a ClickModel or a path, not {type(model).__name__}"
            )
        return model

    def slot_rewards_of(self, shown: Shown) -> Floats:
        """Return what each slot has earned, (n, K), in the way that ``slot_rewards`` asks for."""
        if self.slot_rewards == "gains":
            return self.rewarding.gains(shown)
        return self.rewarding.shares(shown)

    def _check_model(self) -> None:
        self.model.require("generative")
        self.model.check_world(self.world)
        longest = self.model.max_slots
        if longest is not None and self.slots > longest:
            raise ValueError(f"slots is {self.slots}, but the click model knows {longest} ranks")
        if self.expectations:
            check_exact(self.world, self.model, self.slots)


def shared_user(name: str, world: World, slots: int, params: dict[str, Any]) -> ClickModel:
    """Return ``true_user(name, world, slots, **params)``, the same object for equal arguments."""
    params = {"slots": slots, **params}
    users = _SHARED_USERS.setdefault(world, {})
    key = (name, pickle.dumps(sorted(params.items())))  # repr() rounds arrays
    if key not in users:
        users[key] = true_user(name, world, **params)
    return users[key]


def environment_signature(*before: str, **defaults: Any) -> inspect.Signature:
    """Return the arguments of an environment, for ``help``: those named, then the settings'.

    ``defaults`` are other defaults than the settings'.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = [inspect.Parameter(name, kind, default=1, annotation=int) for name in before]
    shared = inspect.signature(EnvironmentSettings)
    changed = [
        parameter.replace(default=defaults.get(name, parameter.default))
        for name, parameter in shared.parameters.items()
    ]
    return shared.replace(parameters=[*own, *changed])
