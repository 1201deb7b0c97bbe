"""Fitting attractiveness × examination to counts by pair and cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..data import World
from .cells import PairCells, sums
from .prior import BetaPrior
from .quasi_newton import ROUNDS, minimise

_EXAMINATION_SD = 6.0  # a weak normal prior on examination logits, against cells hardly seen


class Examination(Protocol):
    """How the examination logits of cells follow from parameters θ."""

    def start(self) -> NDArray[np.float64]:
        """Return the first θ."""

    def logits(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cells' logits, (C,)."""

    def pull_back(
        self, theta: NDArray[np.float64], gradient: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the gradient by θ, given the one by the logits (C,)."""

    def curvature(self, information: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the curvature by θ, given the one by the logits (C,)."""


class LinearExamination:
    """Logits that are linear in θ: ``design`` (C, T), or None for one parameter a cell."""

    def __init__(self, n_cells: int, design: NDArray[np.float64] | None = None) -> None:
        self.design = design
        self._size = n_cells if design is None else design.shape[1]

    def start(self) -> NDArray[np.float64]:
        """Return θ with examination near 0.73 everywhere."""
        theta = np.zeros(self._size)
        theta[: self._size if self.design is None else 1] = 1.0
        return theta

    def logits(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cells' logits, (C,)."""
        return theta if self.design is None else self.design @ theta

    def pull_back(
        self, theta: NDArray[np.float64], gradient: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the gradient by θ."""
        return gradient if self.design is None else gradient @ self.design

    def curvature(self, information: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the curvature by θ."""
        return information if self.design is None else information @ self.design**2


@dataclass(frozen=True)
class Fitted:
    """Attractiveness (Q, N), with the prior's mean for what was never shown, and θ."""

    attractiveness: NDArray[np.float64]
    theta: NDArray[np.float64]
    prior: BetaPrior


def fit_examined(counts: PairCells, world: World, examination: Examination) -> Fitted:
    """Return the most likely attractiveness and θ, with the attractiveness prior learned.

    Each round searches by L-BFGS for the most likely logits under the prior, then learns the
    prior from the clicks of each pair and its expected examinations. A round's step costs one
    pass over the counts. Deterministic.
    """
    n_pairs, n_cells = len(counts.pairs), len(counts.cells)
    prior = BetaPrior()
    point = np.concatenate([np.full(n_pairs, prior.logit), examination.start()])
    clicks = sums(counts.pair, counts.clicks, n_pairs)
    for number in range(ROUNDS):
        objective = _Objective(counts, examination, prior, n_pairs, n_cells)
        last = number == ROUNDS - 1
        point = minimise(objective, point, objective.curvature(point), last)
        prior = prior.learned(clicks, objective.examined(point))
    table = np.full(world.n_queries * world.n_docs, prior.mean)
    table[counts.pairs] = expit(point[:n_pairs])
    return Fitted(table.reshape(world.n_queries, world.n_docs), point[n_pairs:], prior)


class _Objective:
    """Minus the log posterior of the logits of pairs and of θ, and its gradient."""

    def __init__(
        self,
        counts: PairCells,
        examination: Examination,
        prior: BetaPrior,
        n_pairs: int,
        n_cells: int,
    ) -> None:
        self.counts, self.examination, self.prior = counts, examination, prior
        self.n_pairs, self.n_cells = n_pairs, n_cells

    def _split(
        self, point: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        pairs, theta = point[: self.n_pairs], point[self.n_pairs :]
        logits = self.examination.logits(theta)
        return pairs, theta, logits, expit(pairs)

    def __call__(self, point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return value and gradient."""
        counts = self.counts
        pairs, theta, logits, attractive = self._split(point)
        log_attractive, log_examined = -np.logaddexp(0, -pairs), -np.logaddexp(0, -logits)
        log_click = log_attractive[counts.pair] + log_examined[counts.cell]
        click = np.minimum(np.exp(log_click), 1.0 - 1e-15)
        likelihood = counts.clicks @ log_click + counts.skips @ np.log1p(-click)
        pull = counts.clicks - counts.skips * click / (1.0 - click)
        by_pair = sums(counts.pair, pull, self.n_pairs) * (1.0 - attractive)
        by_cell = sums(counts.cell, pull, self.n_cells) * expit(-logits)
        shrink = logits / _EXAMINATION_SD**2
        value = -likelihood + self.prior.loss(pairs) + 0.5 * float(shrink @ logits)
        by_theta = self.examination.pull_back(theta, shrink - by_cell)
        return float(value), np.concatenate([self.prior.gradient(attractive) - by_pair, by_theta])

    def curvature(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the Fisher information's diagonal, with the priors'."""
        counts = self.counts
        _, _, logits, attractive = self._split(point)
        examined = expit(logits)
        click = attractive[counts.pair] * examined[counts.cell]
        weight = (counts.clicks + counts.skips) * click / np.maximum(1.0 - click, 1e-12)
        by_pair = sums(counts.pair, weight, self.n_pairs) * (1.0 - attractive) ** 2
        by_cell = sums(counts.cell, weight, self.n_cells) * (1.0 - examined) ** 2
        by_theta = self.examination.curvature(by_cell + 1.0 / _EXAMINATION_SD**2)
        return np.concatenate([by_pair + self.prior.curvature(attractive), by_theta])

    def examined(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how often each pair was examined, in expectation given its clicks, (P,)."""
        counts = self.counts
        _, _, logits, attractive = self._split(point)
        examined = expit(logits)[counts.cell]
        value = attractive[counts.pair]
        skipped = examined * (1.0 - value) / np.maximum(1.0 - examined * value, 1e-12)
        return sums(counts.pair, counts.clicks + counts.skips * skipped, self.n_pairs)
