"""What single and vectorised environments share: their arguments, checked once."""

from __future__ import annotations

import os
import pickle
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..clickmodels import ClickModel, true_user
from ..common import checks
from ..common.random import AliasTable
from ..common.typing import Floats, Integers
from ..data import World, embedded_world
from ..evaluation.metrics.graded import discount, ideal_dcg
from .spaces import ACTIONS, OBSERVATIONS, action_space, observation_space

REWARDS = ("clicks", "expected_clicks", "ndcg")
INVALID = ("raise", "repair")

_SHARED_USERS: WeakKeyDictionary[World, dict[Any, ClickModel]] = WeakKeyDictionary()


class Settings:
    """The checked arguments of an environment and what follows from them.

    Parameters are those of :class:`RankingEnv`.
    """

    def __init__(
        self,
        user: str | ClickModel | None,
        world: World | None,
        click_model: ClickModel | str | os.PathLike[str] | None,
        user_params: dict[str, Any] | None,
        slots: int,
        action: str,
        observation: str,
        reward: str,
        invalid: str | None,
        expectations: bool,
    ) -> None:
        if world is not None and not isinstance(world, World):
            raise ValueError(
                f"world must be a clickgym.data.World (of data.synthetic_world or "
                f"data.load_letor), not {type(world).__name__}"
            )
        self.world = embedded_world() if world is None else world
        self.slots = checks.positive_integer(slots, "slots")
        self.action = checks.choice(action, ACTIONS, "action")
        self.observation = checks.choice(observation, OBSERVATIONS, "observation")
        self.reward = checks.choice(reward, REWARDS, "reward")
        default = "raise" if action == "ranking" else "repair"
        self.invalid = checks.choice(default if invalid is None else invalid, INVALID, "invalid")
        self.expectations = bool(expectations)
        self.learned = user is None
        self.model = self._model(user, click_model, user_params)
        self.model.require("generative")
        self.model.check_world(self.world)
        self._check_reward()
        self.action_space = action_space(action, self.world, self.slots)
        self.observation_space: spaces.Space[Any] = observation_space(
            observation, action, self.world, self.slots
        )
        self.queries = AliasTable(self.world.query_probs)
        possible = self.world.candidates.any(axis=1)  # options may ask what is never drawn
        self.all_candidates = bool(self.world.candidates[possible].all())
        self.lengths: Integers = np.minimum(self.slots, self.world.n_candidates)

    def _model(
        self,
        user: str | ClickModel | None,
        click_model: ClickModel | str | os.PathLike[str] | None,
        user_params: dict[str, Any] | None,
    ) -> ClickModel:
        if user is not None and click_model is not None:
            raise ValueError("click_model is for clickgym/Learned-v0; this environment has a user")
        if user_params and not isinstance(user, str):
            raise ValueError("user_params are for an environment of a named user")
        if isinstance(user, str):
            return shared_user(user, self.world, self.slots, user_params or {})
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

    def _check_reward(self) -> None:
        longest = self.model.max_slots
        if longest is not None and self.slots > longest:
            raise ValueError(f"slots is {self.slots}, but the click model knows {longest} ranks")
        if self.reward == "ndcg":
            if self.learned:
                raise ValueError(
                    "reward='ndcg' needs a true user: in a learned environment it would leak grades"
                )
            self.ideal = ideal_dcg(self.world, self.slots)
            self.discount = discount(self.slots)
        if self.reward == "expected_clicks" or self.expectations:
            query = int(self.world.query_probs.argmax())
            page = np.full((1, self.slots), -1)
            page[0, 0] = self.world.candidates[query].argmax()
            self.model.click_probs([query], page)  # raises NotExact now rather than mid-training

    def rewards(
        self, query: Integers, ranking: Integers, n_clicks: NDArray[Any]
    ) -> Floats:
        """Return the rewards (n,) of pages (n, K) with ``n_clicks`` (n,) clicks."""
        if self.reward == "clicks":
            return n_clicks.astype(np.float64)
        if self.reward == "expected_clicks":
            return self.model.expected_clicks(query, ranking)
        gain = np.where(ranking >= 0, self.world.gain[query[:, None], ranking], 0.0)
        ideal = self.ideal[query]
        return (gain @ self.discount) / np.where(ideal > 0, ideal, 1.0)


def shared_user(name: str, world: World, slots: int, params: dict[str, Any]) -> ClickModel:
    """Return ``true_user(name, world, **params)``, the same object for the same arguments."""
    params = {"slots": slots, **params}
    made = _SHARED_USERS.setdefault(world, {})
    key = (name, pickle.dumps(sorted(params.items())))  # repr() rounds arrays
    if key not in made:
        made[key] = true_user(name, world, **params)
    return made[key]
