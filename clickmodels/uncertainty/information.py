"""How much counts say about a logit: minus the second derivative of their log-likelihood.

A Beta distribution of mean m and strength ν has its mode in the logit at m, with curvature
ν m (1 - m) there. So the Beta that has a posterior's mode and curvature has the strength
``information / (m (1 - m))``. Unlike a normal distribution in the logit it is right where a pair
was never clicked: there it is the posterior that a plain count of skips would give.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array

from ...common.typing import Floats, Integers

_CHUNK = 1 << 14  # pairs at a time
_LEAST = 1e-9  # of m (1 - m)


def strength_of(information: Floats, mean: Floats, prior: Floats | float) -> Floats:
    """Return the strength of the Beta with this curvature; never less than the ``prior``'s."""
    return np.maximum(information / np.maximum(mean * (1.0 - mean), _LEAST), prior)


def skip_information(mean: Floats, examined: Floats) -> Floats:
    """Return what a skip of an item of attractiveness ``mean`` says, one by one.

    ``examined`` is P(examined), before it is known that there was no click.
    """
    rest = np.maximum(1.0 - mean * examined, 1e-12)
    flat: Floats = 1.0 - 2.0 * mean + mean**2 * examined
    return examined * mean * (1.0 - mean) * flat / rest**2


class ExaminedInformation:
    """Of counts by pair and cell, P(click) = attractiveness × examination; arrays are (m,).

    Parameters
    ----------
    pair, cell : integers
    clicks, skips : floats
    attractive : (P,)
    examined : (C,)
    """

    def __init__(
        self,
        pair: Integers,
        cell: Integers,
        clicks: Floats,
        skips: Floats,
        attractive: Floats,
        examined: Floats,
    ) -> None:
        self._pair, self._cell, self._totals = pair, cell, clicks + skips
        self._shape = len(attractive), len(examined)
        a, e = attractive[pair], examined[cell]
        seen = clicks * a * (1.0 - a) + skips * skip_information(a, e)
        self.observed = np.maximum(np.bincount(pair, seen, len(attractive)), 0.0)
        # What is expected, for what examination's uncertainty adds: a proper covariance.
        base = self._totals * a * e / np.maximum(1.0 - a * e, 1e-12)
        self._base, self._a, self._e = base, 1.0 - a, 1.0 - e
        self._examinations = np.bincount(cell, self._totals * e, len(examined))

    def variance_from_examination(self, prior: Floats, cell_prior: float, design: Floats) -> Floats:
        """Return the variance that pairs' logits have because examination is not known, (P,).

        Clicks say nothing about the scale on which attractiveness is traded for examination, and
        no prediction depends on it: the cell that was examined most is taken as known.

        Parameters
        ----------
        prior : (P,)
            Curvature of the pairs' prior.
        cell_prior : float
            Curvature of the prior on the logits of cells.
        design : (C, T)
            The derivative of the cells' logits by the parameters that they follow from.
        """
        n_pairs, n_cells = self._shape
        free = design[:, design[self._examinations.argmax()] == 0.0]
        if not free.shape[1]:
            return np.zeros(n_pairs)
        own = np.bincount(self._pair, self._base * self._a**2, n_pairs) + prior
        cells = np.bincount(self._cell, self._base * self._e**2, n_cells) + cell_prior
        both = csr_array((self._base * self._a * self._e, (self._pair, self._cell)), self._shape)
        own = np.maximum(own, 1e-12)
        shared = free.T @ (cells[:, None] * free)
        for start in range(0, n_pairs, _CHUNK):
            part = slice(start, start + _CHUNK)
            rows = both[part] @ free
            shared -= rows.T @ (rows / own[part, None])
        factor = _factor(shared)
        result = np.empty(n_pairs)
        for start in range(0, n_pairs, _CHUNK):
            part = slice(start, start + _CHUNK)
            rows = both[part] @ free / own[part, None]
            result[part] = (rows * cho_solve(factor, rows.T).T).sum(axis=1)
        return np.maximum(result, 0.0)


def _factor(matrix: Floats) -> tuple[Floats, bool]:
    """Return the Cholesky factor of a matrix that rounding may have made slightly improper."""
    ridge, scale = 0.0, max(float(np.abs(np.diag(matrix)).max()), 1e-12)
    for _ in range(8):
        try:
            return cho_factor(matrix + ridge * np.eye(len(matrix)))
        except LinAlgError:
            ridge = max(10.0 * ridge, 1e-8 * scale)
    return cho_factor((scale or 1.0) * np.eye(len(matrix)))  # 0: the counts say nothing
