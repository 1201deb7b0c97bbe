"""Counting where the slots of a log belong, for several weightings of its rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

Floats = NDArray[np.float64]


class Placed:
    """The chosen slots of a log (n, K), each with the place in which it counts.

    Parameters
    ----------
    mask : (n, K) bool
    place : (n, K) integers
    size : int
        Number of places.
    """

    def __init__(self, mask: NDArray[np.bool_], place: NDArray[Any], size: int) -> None:
        places = place[mask]
        bounds = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        shape = (size, len(mask))
        # A column a row of the log, so nothing has to be sorted: the entries stand as they come.
        self._matrix = csc_array((np.ones(len(places)), places, bounds), shape=shape)

    def counts(self, weights: Floats) -> Floats:
        """Return the weighted counts (M, size) for M weightings of the rows (n, M): one pass."""
        return np.ascontiguousarray((self._matrix @ weights).T)
