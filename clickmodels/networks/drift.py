"""Adam for tables of which a batch shows a few rows: how far it carries the others meanwhile."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...common.typing import Floats, Integers

BETAS, EPSILON = (0.9, 0.999), 1e-8  # torch's defaults
_RATIO = BETAS[0] / math.sqrt(BETAS[1])  # of a move to the one before, without a gradient
_WINDOW = 256  # steps after which a row stands still: _RATIO ** 256 < 1e-11
_POWERS = _RATIO ** np.arange(_WINDOW, 0, -1)


class Drift:
    """Counts the steps of Adam, and knows how far rows without a gradient went on by themselves.

    Adam moves a weight by -s m / √v in a step of size s. Without a gradient the mean m shrinks by
    β₁ and the square v by β₂, so that a row which a batch showed in step u goes on by
    -m / √v Σ s_t (β₁ / √β₂)^(t - u) in the steps t after it. The sum is the same for all rows of
    step u, so that a row can be left alone until it is needed and catches up at once. (Adam's ε is
    taken as constant meanwhile, which matters only to gradients as small as it.)

    Attributes
    ----------
    steps : int
        Taken so far.
    """

    def __init__(self) -> None:
        self.steps = 0
        self._sums: Floats = np.zeros(1024)  # by step u

    def take_step(self, learning_rate: float) -> tuple[float, float]:
        """Begin a step; return its size s, and its ε, for -s m / (√v + ε)."""
        self.steps += 1
        bias = math.sqrt(1.0 - BETAS[1] ** self.steps)
        size = learning_rate * bias / (1.0 - BETAS[0] ** self.steps)
        if self.steps >= len(self._sums):
            self._sums = np.concatenate([self._sums, np.zeros(len(self._sums))])
        first = max(self.steps - _WINDOW, 0)
        self._sums[first : self.steps] += size * _POWERS[first - self.steps :]
        return size, EPSILON * bias

    def since(self, last: Integers) -> NDArray[np.float32]:
        """Return what happened to rows (d,) since their ``last`` step, (3, d, 1).

        That is how far they went, in units of -m / √v, and what their m and v shrink by.
        """
        skipped = self.steps - last
        mean = np.where(skipped < _WINDOW, BETAS[0] ** np.minimum(skipped, _WINDOW), 0.0)
        result = np.stack([self._sums[last], mean, BETAS[1] ** skipped])
        return result.astype(np.float32)[:, :, None]
