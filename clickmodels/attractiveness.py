"""What all models with an attractiveness per (query, document) share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import ClickModel
from .tables import Table


class AttractivenessModel(ClickModel):
    """A model whose documents are attractive with a probability that query and document give."""

    def __init__(self, attractiveness: ArrayLike) -> None:
        self._attractiveness = Table(attractiveness, "attractiveness")

    @property
    def attractiveness(self) -> NDArray[np.float64]:
        """P(attractive), (Q, N)."""
        return self._attractiveness.values

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and candidate places."""
        return self.attractiveness.shape[0], self.attractiveness.shape[1]

    def relevance(self) -> NDArray[np.float64]:
        """Return the attractiveness, (Q, N)."""
        return self.attractiveness
