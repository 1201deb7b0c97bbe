"""Probabilities and their logarithms from logits, all from one exponential."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Logistic(NamedTuple):
    """Of logits x: p = 1 / (1 + e^-x), log p and log(1 - p), laid out alike."""

    p: Floats
    log_p: Floats
    log_not_p: Floats


def logistic(logits: Floats) -> Logistic:
    """Return probabilities and logarithms of them and of their complements; none overflows."""
    small = np.exp(-np.abs(logits))
    shift = np.log1p(small)
    p = np.where(logits >= 0, 1.0, small) / (1.0 + small)
    return Logistic(p, np.minimum(logits, 0.0) - shift, -np.maximum(logits, 0.0) - shift)
