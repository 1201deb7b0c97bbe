"""Full-batch quasi-Newton minimisation with a diagonal preconditioner."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

ROUNDS = 4  # of fitting and learning a prior in turn
_STEPS, _TOLERANCE = 8, 1e-6  # of a round that only serves the prior
_LAST_STEPS, _LAST_TOLERANCE = 200, 1e-9

Objective = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]


def minimise(
    objective: Objective,
    start: NDArray[np.float64],
    curvature: NDArray[np.float64],
    last: bool,
) -> NDArray[np.float64]:
    """Return the minimiser of ``objective`` (value and gradient) from ``start``, by L-BFGS.

    ``curvature`` is an estimate of the Hessian's diagonal: the search runs in variables in which
    it is one, because a pair seen a hundred thousand times and one seen twice have very different
    slopes. ``last`` searches to the end; before the last round, a few steps are enough to learn the
    prior from.
    """
    scale = 1.0 / np.sqrt(np.maximum(curvature, 1e-12))

    def scaled(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, gradient = objective(point * scale)
        return value, gradient * scale

    options = {
        "maxiter": _LAST_STEPS if last else _STEPS,
        "ftol": _LAST_TOLERANCE if last else _TOLERANCE,
        "gtol": 1e-7,
        "maxcor": 20,
    }
    result = minimize(scaled, start / scale, jac=True, method="L-BFGS-B", options=options)
    if not np.isfinite(result.fun):
        raise FloatingPointError("the likelihood became infinite while fitting")
    point: NDArray[np.float64] = result.x * scale
    return point
