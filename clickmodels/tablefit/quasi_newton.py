"""Full-batch quasi-Newton search (L-BFGS), with priors learned on the way.

It is written by hand because it keeps its memory: what one round learned about the Hessian serves
the next, after the priors changed a little, above all the valley in which attractiveness is traded
for examination. SciPy's L-BFGS-B in scaled variables, which begins each round anew, takes 0.7 to
1.7 times its time.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_ROUNDS, _WARM_ROUNDS = 20, 1  # at most, that serve the priors, before the last
_STEPS, _LAST_STEPS = 5, 200
_SETTLED = 0.005  # a relative change of a prior that ends the rounds
_TOLERANCE = 1e-6  # a gain, as a part of the log-likelihood, that is none
_PAIRS = 12  # of steps and gradient changes that are remembered
_LONGEST = 4.0  # the most that a step changes a parameter
_ENOUGH = 1e-4  # of the decrease that the slope promises

Floats = NDArray[np.float64]


class Objective(Protocol):
    """Minus a log posterior, whose priors can be learned."""

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""

    def curvature(self, point: Floats) -> Floats:
        """Return an estimate of the Hessian's diagonal."""

    def learn(self, point: Floats) -> float:
        """Replace the priors by those that ``point`` makes likely; return how far they moved."""


class Memory:
    """The latest steps and what they did to the gradient: an approximate inverse Hessian."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_PAIRS)

    def add(self, step: Floats, change: Floats) -> None:
        """Remember a step and the change of the gradient, where the function curves upwards."""
        product = float(step @ change)
        if product > 1e-10 * float(np.sqrt((step @ step) * (change @ change))):
            self._pairs.append((step, change, product))

    def clear(self) -> None:
        """Forget everything."""
        self._pairs.clear()

    def times(self, gradient: Floats, curvature: Floats) -> Floats:
        """Return the inverse Hessian times ``gradient``; without memory it is 1 / ``curvature``."""
        result = gradient.copy()
        shares = []
        for step, change, product in reversed(self._pairs):
            shares.append(float(step @ result) / product)
            result -= shares[-1] * change
        result /= curvature
        for (step, change, product), share in zip(self._pairs, reversed(shares), strict=True):
            result += (share - float(change @ result) / product) * step
        return result


def search(objective: Objective, start: Floats, warm: bool) -> Floats:
    """Return the minimiser of ``objective``, with its priors learned in place.

    Rounds of a few steps and of learning the priors, until the priors stay as they are, then a
    search to the end. Logs that confound attractiveness with examination need the most rounds:
    there the likelihood is flat, and the prior decides how much a model promises. A ``warm``
    start, the fit to a similar log, needs one, after its priors are learned at once.
    """
    point, memory = start, Memory()
    if warm:
        objective.learn(point)
    for _ in range(_WARM_ROUNDS if warm else _ROUNDS):
        point = _minimise(objective, point, memory, _STEPS)
        if objective.learn(point) < _SETTLED:
            break
    return _minimise(objective, point, memory, _LAST_STEPS)


def _minimise(objective: Objective, point: Floats, memory: Memory, steps: int) -> Floats:
    """Return the point after at most so many steps, each downwards; ``memory`` is added to.

    The Hessian's diagonal stands in for what is not remembered, because a pair seen a hundred
    thousand times and one seen twice have very different slopes.
    """
    curvature = np.maximum(objective.curvature(point), 1e-12)
    value, gradient = objective(point)
    if not np.isfinite(value):
        raise FloatingPointError("the likelihood became infinite while fitting")
    for _ in range(steps):
        direction = -memory.times(gradient, curvature)
        slope = float(gradient @ direction)
        if not slope < 0:  # what is remembered is of no use here
            memory.clear()
            direction = -gradient / curvature
            slope = float(gradient @ direction)
        length = min(1.0, _LONGEST / max(float(np.abs(direction).max()), 1e-300))
        while True:
            ahead = point + length * direction
            new_value, new_gradient = objective(ahead)
            if new_value <= value + _ENOUGH * length * slope:
                break
            # The minimum of the parabola through what is known, within bounds.
            excess = new_value - value - length * slope
            best = -0.5 * slope * length / excess if np.isfinite(excess) and excess > 0 else 0.5
            length *= min(max(best, 0.1), 0.5)
            if length < 1e-12:
                return point
        memory.add(ahead - point, new_gradient - gradient)
        gain = value - new_value
        point, value, gradient = ahead, new_value, new_gradient
        if gain <= _TOLERANCE * max(abs(value), 1.0):
            break
    return point
