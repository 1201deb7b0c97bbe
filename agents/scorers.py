"""What gives the candidates of the policy gradient their logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.typing import Floats, Integers
from ..data import World


class Adam:
    """Adam's moments and step counts of an array, row by row.

    Rows without a gradient in a step are left as they are, so a rare query's moments do not fade
    while other queries are asked. ``torch.optim.SparseAdam`` counts steps for the whole array, so
    it would correct the moments of a rare query as if it had been asked all the time; it also
    needs torch, and takes 2.2 times as long (264 against 120 microseconds for 300 of 1,000 queries
    of 30 documents).

    Parameters
    ----------
    shape : tuple of int
        Of the array; the first axis has the rows.
    decay : (float, float)
        Of the first and the second moment.
    """

    def __init__(self, shape: tuple[int, ...], decay: tuple[float, float] = (0.9, 0.999)) -> None:
        self.first, self.second = np.zeros(shape), np.zeros(shape)
        self.steps = np.zeros(shape[0])
        self.decay = decay

    def step(self, gradient: Floats, rows: Integers) -> Floats:
        """Return how far to move the ``rows`` (each once) that have this ``gradient``."""
        slow, slower = self.decay
        self.steps[rows] += 1
        first = slow * self.first[rows] + (1 - slow) * gradient
        second = slower * self.second[rows] + (1 - slower) * gradient**2
        self.first[rows], self.second[rows] = first, second
        steps = self.steps[rows].reshape(-1, *(1,) * (gradient.ndim - 1))
        spread = np.sqrt(second / (1 - slower**steps))
        return first / (1 - slow**steps) / (spread + 1e-8)

    def state(self) -> dict[str, Floats]:
        """Return moments and step counts."""
        moments = {"first": self.first, "second": self.second, "steps": self.steps}
        return {name: array.copy() for name, array in moments.items()}

    def restore(self, state: dict[str, Floats]) -> None:
        """Take over a ``state``."""
        self.first, self.second = state["first"].copy(), state["second"].copy()
        self.steps = state["steps"].copy()


class Table:
    """A logit for each query and document."""

    def __init__(self, world: World) -> None:
        self.values = np.zeros(world.candidates.shape)
        self.adam = Adam(self.values.shape)

    def logits(self, query: Integers) -> Floats:
        """Return the logits of queries, (q, N)."""
        return self.values[query]

    final_logits = logits

    def ascend(self, query: Integers, gradient: Floats, rate: float) -> None:
        """Move the logits of different queries (q,) along ``gradient`` (q, N)."""
        self.values[query] += rate * self.adam.step(gradient, query)

    def state(self) -> dict[str, Any]:
        """Return the logits and the optimiser's moments."""
        return {"values": self.values.copy(), "adam": self.adam.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a ``state``."""
        self.values = state["values"].copy()
        self.adam.restore(state["adam"])
