"""What gives the candidates of the policy gradient their logits."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..data import World
from .adam import Adam


class Scorer(Protocol):
    """Gives logits to candidates, and moves them along a gradient."""

    def logits(self, query: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the logits of queries, (q, N)."""

    def final_logits(self, query: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the logits to deploy, (q, N)."""

    def ascend(
        self, query: NDArray[np.int64], gradient: NDArray[np.float64], rate: float
    ) -> None:
        """Move the logits of different queries (q,) along ``gradient`` (q, N)."""

    def state(self) -> dict[str, Any]:
        """Return parameters and the optimiser's moments."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a ``state``."""


class Table:
    """A logit for each query and document."""

    def __init__(self, world: World) -> None:
        self.values = np.zeros(world.candidates.shape)
        self.adam = Adam(self.values.shape)

    def logits(self, query: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the logits of queries, (q, N)."""
        return self.values[query]

    final_logits = logits

    def ascend(
        self, query: NDArray[np.int64], gradient: NDArray[np.float64], rate: float
    ) -> None:
        """Move the logits of different queries (q,) along ``gradient`` (q, N)."""
        self.values[query] += rate * self.adam.step(gradient, query)

    def state(self) -> dict[str, Any]:
        """Return the logits and the optimiser's moments."""
        return {"values": self.values.copy(), "adam": self.adam.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over a ``state``."""
        self.values = state["values"].copy()
        self.adam.restore(state["adam"])
