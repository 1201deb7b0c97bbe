"""What agents that rank whole pages and learn from their clicks have in common."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common import checks
from ..base import Agent
from ..task import Task


class Bandit(Agent):
    """Shows batches of rankings and learns from what became of them.

    One of these defines ``rank`` and ``update``, has ``batch`` among its settings, and keeps what
    it has learned in the arrays that ``learned`` names. Learning goes batch by batch, whichever
    way it is cut into calls of ``learn``, and a checkpoint has both generators and the queries
    that wait for a page: a run that is taken up again equals one that was never stopped.
    """

    learned: tuple[str, ...] = ()  # attributes that are arrays, for checkpoints

    def __init__(self, task: Task, seed: int = 0, **settings: Any) -> None:
        super().__init__(task, seed, **settings)
        self.batch = checks.positive_integer(self.settings.batch, "batch")
        own, of_env = np.random.SeedSequence(self.seed).spawn(2)
        self.rng = np.random.default_rng(own)
        self._env = task.vector_env(self.batch, "ranking", "ids")
        self._query, _ = self._env.reset(seed=int(of_env.generate_state(1)[0]))

    def rank(self, query: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rankings to show, (n, min(K, N)), -1 where a query has too few candidates."""
        raise NotImplementedError

    def update(
        self,
        query: NDArray[np.int64],
        ranking: NDArray[np.int64],
        clicks: NDArray[np.bool_],
        rewards: NDArray[np.float64],
    ) -> None:
        """Learn from pages: ``query`` and ``rewards`` (n,), ``ranking`` and ``clicks`` (n, K)."""
        raise NotImplementedError

    def learn(self, until: int) -> None:
        """Show batches of pages until ``self.pages`` is at least ``until``."""
        while self.pages < until:
            query, ranking = self._query, self.rank(self._query)
            missing = self.task.slots - ranking.shape[1]
            # The environment looks at no slot beyond a short list, but wants a document in it.
            actions = np.pad(np.maximum(ranking, 0), ((0, 0), (0, missing)))
            self._query, rewards, _, _, info = self._env.step(actions)
            shown = info["final_info"]
            self.update(query, shown["ranking"], shown["clicks"], rewards)
            self.pages += self.batch

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
        for name in self.learned:
            setattr(self, name, state["learned"][name].copy())
        self.rng.bit_generator.state = state["rng"]
        self._query, _ = self._env.reset(options={"query": state["query"]})
        self._env.np_random.bit_generator.state = state["env"]


def counts_by_document(
    query: NDArray[np.int64],
    ranking: NDArray[np.int64],
    weights: NDArray[Any],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    """Return the sums of ``weights`` (n, K) by (query, document), of ``shape`` (Q, N).

    ``query`` is (n,), ``ranking`` (n, K); empty slots count nowhere.
    """
    shown = ranking >= 0
    places = (query[:, None] * shape[1] + ranking)[shown]
    sums = np.bincount(places, weights=weights[shown], minlength=shape[0] * shape[1])
    return sums.reshape(shape).astype(np.float64, copy=False)
