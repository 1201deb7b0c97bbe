"""Fitting attractiveness × examination to counts by pair and cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .cells import sums
from .pair_counts import PairCells
from .prior import BetaPrior, Logistic, logistic
from .quasi_newton import search

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
    """Logits of attractiveness (P,), θ, and the attractiveness prior that was learned."""

    logits: NDArray[np.float64]
    theta: NDArray[np.float64]
    prior: BetaPrior


def fit_examined(
    counts: PairCells,
    n_pairs: int,
    n_cells: int,
    examination: Examination,
    start: Fitted | None = None,
) -> Fitted:
    """Return the most likely attractiveness and θ, with the attractiveness prior learned.

    Each round searches by L-BFGS for the most likely logits under the prior, then learns the
    prior from the clicks of each pair and its expected examinations; it begins at ``start`` (the
    fit to a similar log) or from nothing. A round's step costs one pass over the counts.
    Deterministic.
    """
    if start is None:
        prior = BetaPrior()
        point = np.concatenate([np.full(n_pairs, prior.logit), examination.start()])
    else:
        prior, point = start.prior, np.concatenate([start.logits, start.theta])
    objective = ExaminedObjective(counts, examination, prior, n_pairs, n_cells)
    point = search(objective, point, start is not None)
    return Fitted(point[:n_pairs], point[n_pairs:], objective.prior)


class ExaminedObjective:
    """Minus the log posterior of the logits of pairs and of θ, and its gradient.

    Pairs stand in order in the counts, so that what belongs to one is summed in one sweep.
    """

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
        self.totals = counts.clicks + counts.skips
        self.pair_clicks = sums(counts.pair, counts.clicks, n_pairs)
        self.cell_clicks = sums(counts.cell, counts.clicks, n_cells)

    def _split(
        self, point: NDArray[np.float64]
    ) -> tuple[Logistic, NDArray[np.float64], NDArray[np.float64]]:
        pairs, theta = point[: self.n_pairs], point[self.n_pairs :]
        return logistic(pairs), theta, self.examination.logits(theta)

    def __call__(self, point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return value and gradient."""
        counts = self.counts
        attractive, theta, logits = self._split(point)
        examined = logistic(logits)
        click = attractive.p.take(counts.pair)
        click *= examined.p.take(counts.cell)
        skip = np.maximum(1.0 - click, 1e-15)
        likelihood = (
            self.pair_clicks @ attractive.log_p + self.cell_clicks @ examined.log_p
            + counts.skips @ np.log(skip)
        )  # fmt: skip
        click /= skip
        click *= counts.skips  # the pull of the skips, to be taken from that of the clicks
        pair_pull = self.pair_clicks - sums(counts.pair, click, self.n_pairs)
        cell_pull = self.cell_clicks - sums(counts.cell, click, self.n_cells)
        shrink = logits / _EXAMINATION_SD**2
        value = -likelihood + self.prior.loss(attractive) + 0.5 * float(shrink @ logits)
        by_theta = self.examination.pull_back(theta, shrink - cell_pull * (1.0 - examined.p))
        by_pair = self.prior.gradient(attractive.p) - pair_pull * (1.0 - attractive.p)
        return float(value), np.concatenate([by_pair, by_theta])

    def curvature(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the Fisher information's diagonal, with the priors'."""
        counts = self.counts
        (attractive, _, _), _, logits = self._split(point)
        examined = expit(logits)
        click = attractive.take(counts.pair)
        click *= examined.take(counts.cell)
        weight = self.totals * click
        weight /= np.maximum(1.0 - click, 1e-12)
        by_pair = sums(counts.pair, weight, self.n_pairs) * (1.0 - attractive) ** 2
        by_cell = sums(counts.cell, weight, self.n_cells) * (1.0 - examined) ** 2
        by_theta = self.examination.curvature(by_cell + 1.0 / _EXAMINATION_SD**2)
        return np.concatenate([by_pair + self.prior.curvature(attractive), by_theta])

    def learn(self, point: NDArray[np.float64]) -> float:
        """Learn the prior from the clicks of each pair and its expected examinations."""
        before, self.prior = self.prior, self.prior.learned(self.pair_clicks, self.examined(point))
        return self.prior.distance(before)

    def examined(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how often each pair was examined, in expectation given its clicks, (P,)."""
        counts = self.counts
        (attractive, _, _), _, logits = self._split(point)
        examined = expit(logits)[counts.cell]
        value = attractive[counts.pair]
        skipped = examined * (1.0 - value) / np.maximum(1.0 - examined * value, 1e-12)
        return self.pair_clicks + sums(counts.pair, counts.skips * skipped, self.n_pairs)
