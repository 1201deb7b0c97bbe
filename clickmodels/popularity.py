"""What the models that only rank by a score per query-document pair share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data import checks
from .base import RANK, ClickModel


class PopularityModel(ClickModel):
    """A score for each query-document pair: it ranks, and cannot predict clicks.

    Parameters
    ----------
    scores : (Q, N)
        Memory is 8 bytes a pair, shown or not.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({RANK})
    deterministic: ClassVar[frozenset[str]] = frozenset({"table"})

    def __init__(self, scores: ArrayLike) -> None:
        self.scores = checks.finite(scores, "scores", 2).copy()
        if self.scores.size == 0:
            raise ValueError(f"scores is empty, shape {self.scores.shape}")
        self.scores.flags.writeable = False

    def relevance(self) -> NDArray[np.float64]:
        """Return the scores, (Q, N)."""
        return self.scores

    def state(self) -> dict[str, Any]:
        """Return the scores."""
        return {"scores": self.scores}
