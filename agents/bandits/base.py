"""The base of agents that rank whole pages and learn from their clicks."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...common.typing import Booleans, Floats, Integers
from ..base import Agent


class Bandit(Agent):
    """Shows batches of rankings and learns from their clicks and rewards.

    A subclass defines ``rank`` and ``update``, has ``batch`` among its settings, and keeps what it
    has learned in the arrays that ``learned`` names. Learning goes batch by batch, whichever way
    it is cut into calls of ``learn``, and a checkpoint has both generators and the queries that
    wait for a page: a run that is taken up again equals one that was never stopped.
    """

    action = "ranking"
    learned: ClassVar[tuple[str, ...]] = ()  # attributes that are arrays, for checkpoints
    by_slot: ClassVar[bool] = False  # whether ``update`` gets what each slot has earned

    def prepare(self) -> None:
        """Make the generators and the batch of environments."""
        own, of_env = np.random.SeedSequence(self.seed).spawn(2)
        self.rng = np.random.default_rng(own)
        shape = self.settings.batch, self.action
        self._env = self.task.vector_env(*shape, "ids", slot_rewards=self.by_slot)
        self._query, _ = self._env.reset(seed=int(of_env.generate_state(1)[0]))

    def rank(self, query: Integers) -> Integers:
        """Return the rankings to show, (n, min(K, N)), -1 where a query has too few candidates."""
        raise NotImplementedError

    def place(self, query: Integers, ranking: Integers) -> Integers:
        """Return where the blocks of pages stand, (n,), of an agent that places them."""
        raise NotImplementedError

    def update(self, query: Integers, ranking: Integers, clicks: Booleans, rewards: Floats) -> None:
        """Learn from pages: ``query`` and ``rewards`` (n,), ``ranking`` and ``clicks`` (n, K).

        Where rewards come ``by_slot`` they are (n, K).
        """
        raise NotImplementedError

    def learn(self, until: int) -> None:
        """Show batches of pages until ``self.pages`` is at least ``until``."""
        while self.pages < until:
            query, ranking = self._query, self.rank(self._query)
            missing = self.task.slots - ranking.shape[1]
            # The environment looks at no slot beyond a short list, but wants a document in it.
            actions = np.pad(np.maximum(ranking, 0), ((0, 0), (0, missing)))
            if self.task.places_blocks:
                places = self.place(query, ranking)
                actions = np.concatenate([actions, places[:, None] + 1], axis=1)
            self._query, rewards, _, _, info = self._env.step(actions)
            shown = info["final_info"]
            earned = shown["slot_rewards"] if self.by_slot else rewards
            self.update(query, shown["ranking"], shown["clicks"], earned)
            self.pages += len(query)

    def state(self) -> dict[str, Any]:
        """Return what was learned, the generators, and the queries that wait for a page."""
        return {
            "settings": dataclasses.asdict(self.settings),
            "learned": {name: getattr(self, name).copy() for name in self.learned},
            "rng": self.rng.bit_generator.state,
            "env": self._env.np_random.bit_generator.state,
            "query": self._query.copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from ``state``."""
        own = dataclasses.asdict(self.settings)
        if state["settings"] != own:
            raise ValueError(f"the checkpoint has the settings {state['settings']}, not {own}")
        missing = ", ".join(sorted(set(self.learned) - set(state["learned"])))
        if missing:
            raise ValueError(f"the checkpoint has no {missing}: it is of an earlier version")
        for name in self.learned:
            setattr(self, name, state["learned"][name].copy())
        self.rng.bit_generator.state = state["rng"]
        self._query, _ = self._env.reset(options={"query": state["query"]})
        self._env.np_random.bit_generator.state = state["env"]


def sum_by_document(
    query: Integers, ranking: Integers, weights: NDArray[Any], shape: tuple[int, int]
) -> Floats:
    """Return the sums of ``weights`` (n, K) by (query, document), of ``shape`` (Q, N).

    ``query`` is (n,), ``ranking`` (n, K); empty slots count nowhere.
    """
    shown = ranking >= 0
    places = (query[:, None] * shape[1] + ranking)[shown]
    sums = np.bincount(places, weights=weights[shown], minlength=shape[0] * shape[1])
    return sums.reshape(shape).astype(np.float64, copy=False)
