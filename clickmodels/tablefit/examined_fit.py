"""Fitting attractiveness × examination to counts by pair and cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from ...common.typing import Floats
from ...data import ClickLog, World
from ..cells import Cells, prefix_design
from ..uncertainty.information import ExaminedInformation, strength_of
from .counting import sums
from .line_prior import LinePrior, first_prior
from .pair_counts import PairCellFold, PairCells
from .prior import BetaPrior, Logistic, logistic
from .quasi_newton import search
from .table_fit import LoadNetwork, TableFit, pair_table, strength_table

if TYPE_CHECKING:
    from ..networks.network import CellNetwork

_EXAMINATION_SD = 6.0  # a weak normal prior on examination logits, against cells hardly seen


class Examination:
    """How the examination logits of cells follow from parameters θ: here θ is the logits."""

    def start(self) -> Floats:
        """Return the first θ."""
        raise NotImplementedError(f"{type(self).__name__} does not define start()")

    def logits(self, theta: Floats) -> Floats:
        """Return the cells' logits, (C,)."""
        return theta

    def pull_back(self, theta: Floats, gradient: Floats) -> Floats:
        """Return the gradient by θ, given the one by the logits (C,)."""
        return gradient

    def curvature(self, information: Floats) -> Floats:
        """Return the curvature by θ, given the one by the logits (C,)."""
        return information

    def linear(self) -> Floats | None:
        """Return the derivative of the logits by θ, (C, T), if they are linear in it."""
        return None

    def arguments(self, theta: Floats) -> dict[str, Floats]:
        """Return the keyword arguments that θ gives the model."""
        raise NotImplementedError(f"{type(self).__name__} does not define arguments()")


class CellLogits(Examination):
    """One logit for each cell. The model takes ``examination``, a table of all cells."""

    def __init__(self, fold: PairCellFold, seed: int = 0) -> None:
        self._cells, self._shape = fold.cells, fold.kind.shape(fold.slots)

    def start(self) -> Floats:
        """Return θ with examination near 0.73 everywhere."""
        return np.ones(len(self._cells))

    def linear(self) -> Floats:
        """Return ones on the diagonal."""
        return np.eye(len(self._cells))

    def arguments(self, theta: Floats) -> dict[str, Floats]:
        """Return the examination of all cells, 1/2 where a cell does not occur in the log."""
        table = np.full(self._shape, 0.5)
        table.reshape(-1)[self._cells] = expit(theta)
        return {"examination": table}


class ClickRegression(Examination):
    """A logistic regression on the clicks of a prefix, θ its ``weights``."""

    def __init__(self, fold: PairCellFold, seed: int = 0) -> None:
        (prefixes,) = fold.kind.shape(fold.slots)
        self.design = prefix_design(prefixes.bit_length())[fold.cells]

    def start(self) -> Floats:
        """Return θ with examination near 0.73 everywhere."""
        return np.eye(self.design.shape[1])[0]

    def logits(self, theta: Floats) -> Floats:
        """Return the cells' logits, (C,)."""
        return self.design @ theta

    def pull_back(self, theta: Floats, gradient: Floats) -> Floats:
        """Return the gradient by θ."""
        return gradient @ self.design

    def curvature(self, information: Floats) -> Floats:
        """Return the curvature by θ."""
        return information @ self.design**2

    def linear(self) -> Floats:
        """Return the design."""
        return self.design

    def arguments(self, theta: Floats) -> dict[str, Floats]:
        """Return the weights."""
        return {"weights": theta}


class ExaminedFit(TableFit):
    """The fit of models with P(click) = attractiveness of the pair × examination of the cell.

    Parameters
    ----------
    cells : Cells
        What examination depends on.
    examination : callable, optional
        Returns how examination follows from θ, given a ``PairCellFold`` and a seed. By default
        there is one logit for each cell (``CellLogits``), in a network too.
    network : callable, optional
        Returns the network that goes with the ``examination``, see ``TableFit``.
    uses_network : bool
        Whether ``examination`` itself is a network.
    """

    informed = True

    def __init__(
        self,
        cells: Cells,
        examination: Callable[[PairCellFold, int], Examination] | None = None,
        network: LoadNetwork | None = None,
        uses_network: bool = False,
    ) -> None:
        self.cells, self.uses_network = cells, uses_network
        self.examination = CellLogits if examination is None else examination
        self.network = self._cell_network if examination is None else network

    def _cell_network(self) -> partial[CellNetwork]:
        from ..networks.network import CellNetwork

        return partial(CellNetwork, cells=self.cells)

    def check_slots(self, name: str, slots: int) -> None:
        """Raise where the log's pages are too long to number their cells."""
        most = self.cells.most_slots
        if most is not None and slots > most:
            raise ValueError(f"{name} takes pages of up to {most} slots, the log has {slots}")

    def fold(self, log: ClickLog, world: World) -> PairCellFold:
        """Return the places of the log's slots in the counts by pair and cell."""
        return PairCellFold(log, world, self.cells)

    def search(
        self,
        fold: PairCellFold,
        counts: PairCells,
        seed: int,
        start: Any,
        covariate: Floats | None = None,
        **settings: Any,
    ) -> Fitted:
        """Return the most likely attractiveness and θ."""
        size = len(fold.pairs), len(fold.cells)
        prior = first_prior(covariate, fold.pairs)
        return fit_examined(counts, *size, self.examination(fold, seed), start, prior)

    def strengths(
        self, fold: PairCellFold, counts: PairCells, fitted: Fitted, world: World
    ) -> dict[str, Floats]:
        """Return the strength of the posterior of attractiveness, examination's error included.

        An examination that is not linear in its parameters is taken as known.
        """
        attractive, prior = expit(fitted.logits), fitted.prior
        logits = fitted.examination.logits(fitted.theta)
        found = ExaminedInformation(
            counts.pair, counts.cell, counts.clicks, counts.skips, attractive, expit(logits)
        )
        before = prior.curvature(attractive)
        information, design = found.observed + before, fitted.examination.linear()
        if design is not None:
            more = found.variance_from_examination(before, _EXAMINATION_SD**-2, design)
            information = 1.0 / (1.0 / np.maximum(information, 1e-12) + more)
        strength = strength_of(information, attractive, 0.0)
        return {"attractiveness": strength_table(fold.pairs, strength, prior, world)}

    def arguments(self, fold: PairCellFold, fitted: Fitted, world: World) -> dict[str, Any]:
        """Return attractiveness, and what follows from θ."""
        attractiveness = pair_table(fold.pairs, fitted.logits, fitted.prior, world)
        return {"attractiveness": attractiveness, **fitted.examination.arguments(fitted.theta)}


@dataclass(frozen=True)
class Fitted:
    """Logits of attractiveness (P,), its learned prior, θ, and how examination follows from θ."""

    logits: Floats
    prior: BetaPrior | LinePrior
    theta: Floats
    examination: Examination


def fit_examined(
    counts: PairCells,
    n_pairs: int,
    n_cells: int,
    examination: Examination,
    start: Fitted | None = None,
    prior: BetaPrior | LinePrior | None = None,
) -> Fitted:
    """Return the most likely attractiveness and θ, with the attractiveness prior learned.

    Each round searches by L-BFGS for the most likely logits under the prior, then learns the
    prior from the clicks of each pair and its expected examinations; it begins at ``start`` (the
    fit to a similar log) or from nothing. A round's step costs one pass over the counts.
    Deterministic.
    """
    if start is None:
        prior = BetaPrior() if prior is None else prior
        point = np.concatenate([np.full(n_pairs, prior.logit), examination.start()])
    else:
        prior, point = start.prior, np.concatenate([start.logits, start.theta])
    objective = ExaminedObjective(counts, examination, prior, n_pairs, n_cells)
    point = search(objective, point, start is not None)
    return Fitted(point[:n_pairs], objective.prior, point[n_pairs:], examination)


class ExaminedObjective:
    """Minus the log posterior of the logits of pairs and of θ, and its gradient.

    Pairs stand in order in the counts, so that what belongs to one is summed in one sweep.
    """

    def __init__(
        self,
        counts: PairCells,
        examination: Examination,
        prior: BetaPrior | LinePrior,
        n_pairs: int,
        n_cells: int,
    ) -> None:
        self.counts, self.examination, self.prior = counts, examination, prior
        self.n_pairs, self.n_cells = n_pairs, n_cells
        self.totals = counts.clicks + counts.skips
        self.pair_clicks = sums(counts.pair, counts.clicks, n_pairs)
        self.cell_clicks = sums(counts.cell, counts.clicks, n_cells)

    def _split(self, point: Floats) -> tuple[Logistic, Floats, Floats]:
        pairs, theta = point[: self.n_pairs], point[self.n_pairs :]
        return logistic(pairs), theta, self.examination.logits(theta)

    def __call__(self, point: Floats) -> tuple[float, Floats]:
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

    def curvature(self, point: Floats) -> Floats:
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

    def learn(self, point: Floats) -> float:
        """Learn the prior from the clicks of each pair and its expected examinations."""
        before: Any = self.prior
        self.prior = before.learn(self.pair_clicks, self.expected_examinations(point))
        return float(self.prior.distance(before))

    def expected_examinations(self, point: Floats) -> Floats:
        """Return how often each pair was examined, in expectation given its clicks, (P,)."""
        counts = self.counts
        (attractive, _, _), _, logits = self._split(point)
        examined = expit(logits)[counts.cell]
        value = attractive[counts.pair]
        skipped = examined * (1.0 - value) / np.maximum(1.0 - examined * value, 1e-12)
        return self.pair_clicks + sums(counts.pair, counts.skips * skipped, self.n_pairs)
