"""Where an agent places the vertical blocks of pages: what it learns, and what it deploys."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.typing import Booleans, Floats, Integers
from ..envs.federated_settings import allowed_places
from ..policies import Placed, Policy, Ranker
from .scorers import Adam
from .task import Task


class PlaceLogits:
    """Logits of "not shown" and of the places 0 to K: those of the block's type and of the query.

    What helps one query's block mostly helps others of its type, which are shown far more often.

    Parameters
    ----------
    types : (Q,)
        -1 = no block.
    allowed : (Q, K + 2) bool
        Which places there are.
    """

    def __init__(self, types: Integers, allowed: Booleans) -> None:
        self._types, self._allowed = types, allowed
        self.of_type = np.zeros((int(types.max()) + 2, allowed.shape[1]))  # the last of no block
        self.own = np.zeros(allowed.shape)
        self._adams = Adam(self.of_type.shape), Adam(self.own.shape)

    def logits(self, query: Integers) -> Floats:
        """Return the logits, (n, K + 2); -inf where a place does not exist."""
        logits = self.of_type[self._types[query]] + self.own[query]
        return np.where(self._allowed[query], logits, -np.inf)

    def draw(self, query: Integers, rng: np.random.Generator) -> Integers:
        """Draw places, (n,); -1 = not shown."""
        logits = self.logits(query)
        self._probs = np.exp(logits - logits.max(axis=1, keepdims=True))
        self._probs /= self._probs.sum(axis=1, keepdims=True)
        return np.argmax(logits + rng.gumbel(size=logits.shape), axis=1) - 1

    def ascend(self, query: Integers, places: Integers, worth: Floats, rate: float) -> None:
        """Move the logits so that places (n,), just drawn, become likelier by their ``worth``.

        A row's gradient is the sum over its pages, divided by the root of their number.
        """
        gradient = -self._probs * worth[:, None]
        gradient[np.arange(len(query)), places + 1] += worth
        tables = (self.of_type, self._types[query]), (self.own, query)
        for (table, rows), adam in zip(tables, self._adams, strict=True):
            some, which, times = np.unique(rows, return_inverse=True, return_counts=True)
            sums = np.zeros((len(some), gradient.shape[1]))
            np.add.at(sums, which, gradient)
            moved = some % len(table)  # no block is the last row
            table[moved] += rate * adam.step(sums / np.sqrt(times)[:, None], moved)

    def best(self) -> Integers:
        """Return the likeliest place of each query, (Q,)."""
        return best_places(self.of_type[self._types] + self.own, self._allowed)

    def state(self) -> dict[str, Any]:
        """Return logits and the optimisers' moments."""
        adams = [adam.state() for adam in self._adams]
        return {"of_type": self.of_type.copy(), "own": self.own.copy(), "adams": adams}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a ``state``."""
        self.of_type, self.own = state["of_type"].copy(), state["own"].copy()
        for adam, saved in zip(self._adams, state["adams"], strict=True):
            adam.restore(saved)


def best_places(scores: NDArray[Any], allowed: Booleans) -> Integers:
    """Return the place of each query's highest score, (Q,), of (Q, K + 2); -1 = not shown."""
    return np.where(allowed, scores, -np.inf).argmax(axis=1) - 1


def find_places(task: Task) -> tuple[Integers, Booleans]:
    """Return the types of the queries' blocks, (Q,), and which places they may have, (Q, K + 2)."""
    assert task.world.vertical is not None
    return task.world.vertical.astype(np.int64), allowed_places(task.world, task.slots)


def policy_of_scores(scores: Floats, task: Task) -> Policy:
    """Return the ranking by scores, (Q, N), or (Q, N + K + 2) with those of a block's places."""
    world = task.world
    ranker = Ranker(scores[:, : world.n_docs], task.slots, world=world)
    if not task.places_blocks:
        return ranker
    _, allowed = find_places(task)
    return with_places(ranker, best_places(scores[:, world.n_docs :], allowed), task)


def with_places(policy: Policy, places: Integers | None, task: Task) -> Policy:
    """Return the policy with its blocks at these places, (Q,); None = it has none."""
    return policy if places is None else Placed(policy, places, task.world)
