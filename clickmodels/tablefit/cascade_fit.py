"""Fitting models that read from the top: counts to the last click, a recursion after it.

Up to its last click a page hides nothing: every document was examined, and reading went on each
time. Those parts of the likelihood fold into counts. Only the tail after the last click (or the
whole page without one) needs a recursion: see ``tails``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from ...common import checks
from ...common.grouping import group_rows
from ...common.typing import Booleans, Floats
from ...data import ClickLog, World
from ..pages import row_weights
from ..uncertainty.information import strength_of
from .continuation import Continuation
from .counting import CountMatrix
from .line_prior import LinePrior, first_prior
from .prior import BetaPrior, logistic
from .quasi_newton import search
from .table_fit import TableFit, pair_table, strength_table
from .tails import TINY, Tails, TailTerms, tail_squares, tail_terms

_CYCLES = 20  # of learning a prior, which the closed form has to do in one go


@dataclass(frozen=True)
class ChainCounts:
    """What a log says for sure, by pair (P,) or click cell (C,), and its tails."""

    clicked: Floats  # (P,)
    skipped: Floats  # (P,), above the last click of their page
    clicked_cells: Floats  # (C,)
    went_on: Floats  # (C,), clicks that a later click followed
    tails: Tails
    skips: float = field(init=False)  # after which reading surely went on

    def __post_init__(self) -> None:
        object.__setattr__(self, "skips", float(self.skipped.sum()))

    def shown(self, n_pairs: int) -> Booleans:
        """Return which of the pairs have a count, (P,)."""
        present = np.zeros(n_pairs + 1, dtype=bool)
        present[:-1] = (self.clicked > 0) | (self.skipped > 0)
        for group in self.tails.groups:
            present[group.below] = True
        return present[:-1]


class ChainFold:
    """A log's places in the counts, to be weighted: what all bootstraps of the log share.

    Costs a sort of the pages' tails; ``counts`` then takes a few passes over the log.

    Attributes
    ----------
    pairs : (P,)
        ``query * N + document`` of the pairs shown, rising.
    whole : ChainCounts
        The counts of the log itself.
    """

    def __init__(self, log: ClickLog, world: World, cells: str) -> None:
        slots, ranks = log.slots, np.arange(log.slots)
        size = world.n_queries * world.n_docs
        integer: Any = np.int32 if size < 2**31 else np.int64
        pair = log.query[:, None].astype(integer) * integer(world.n_docs) + log.ranking
        empty = log.ranking < 0
        if empty.any():
            pair[empty] = size
        present = np.zeros(size + 1, dtype=bool)
        present[pair] = True
        self.pairs = np.flatnonzero(present[:-1])
        number = (np.cumsum(present) - 1).astype(integer)
        number[-1] = len(self.pairs)  # of empty slots
        place = number.take(pair)
        last = slots - 1 - log.clicks[:, ::-1].argmax(axis=1)
        last[~log.clicks.any(axis=1)] = -1
        self.n_cells = len(self.pairs) if cells == "pair" else slots
        cell = place if cells == "pair" else np.broadcast_to(ranks, place.shape)
        n_pairs, above = len(self.pairs), ranks < last[:, None]
        self._clicked = CountMatrix(log.clicks, place, n_pairs)
        self._clicked_cells = CountMatrix(log.clicks, cell, self.n_cells)
        self._skipped = CountMatrix(~log.clicks & above, place, n_pairs)
        self._went_on = CountMatrix(log.clicks & above, cell, self.n_cells)
        tail = np.where(ranks >= last[:, None], log.ranking, -1)
        first, group = group_rows([last[:, None], log.query[:, None], tail])
        order = np.argsort(last[first], kind="stable")  # pages without a click come first
        first = first[order]
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        whole = np.ones((len(group), 1), dtype=bool)
        self._tails = CountMatrix(whole, number[group][:, None], len(first))
        self._last = last[first]
        self._pages = np.ascontiguousarray(place[first].T)
        self._stop = np.where(self._last >= 0, cell[first, self._last], 0)
        (self.whole,) = self.counts(row_weights(log)[:, None])

    def counts(self, weights: Floats) -> list[ChainCounts]:
        """Return the counts for M weightings of the rows (n, M)."""
        sure = (self._clicked, self._skipped, self._clicked_cells, self._went_on)
        counted = [placed.counts(weights) for placed in (*sure, self._tails)]
        return [
            ChainCounts(
                clicked, skipped, cells, went_on,
                Tails.fold(self._pages, self._last, self._stop, pages),
            )
            for clicked, skipped, cells, went_on, pages in zip(*counted, strict=True)
        ]  # fmt: skip


@dataclass(frozen=True)
class FittedChain:
    """Logits of attractiveness (P,), θ, and the priors that were learned.

    ``trials`` are those of attractiveness (P,) and after a click (C,), where they were counted.
    """

    logits: Floats
    theta: Floats
    attractive: BetaPrior | LinePrior
    continuation: Continuation
    trials: tuple[Floats, Floats] | None = None


def fit_chain(
    counts: ChainCounts,
    continuation: Continuation,
    start: FittedChain | None = None,
    attractive: BetaPrior | LinePrior | None = None,
) -> FittedChain:
    """Return the most likely logits and θ, with the priors learned.

    Rounds of searching (L-BFGS) and learning the priors, from ``start`` (the fit to a similar log)
    or from nothing. A step costs one pass over the tails. Deterministic.
    """
    n_pairs = len(counts.clicked)
    if start is None:
        attractive = BetaPrior() if attractive is None else attractive
        theta = continuation.start(len(counts.clicked_cells))
        point = np.concatenate([np.full(n_pairs, attractive.logit), theta])
    else:
        attractive, continuation = start.attractive, start.continuation
        point = np.concatenate([start.logits, start.theta])
    objective = ChainObjective(counts, attractive, continuation)
    point = search(objective, point, start is not None)
    return FittedChain(
        point[:n_pairs], point[n_pairs:], objective.attractive, objective.continuation
    )


class ChainObjective:
    """Minus the log posterior of the logits of attractiveness (P,) and of θ."""

    def __init__(
        self,
        counts: ChainCounts,
        attractive: BetaPrior | LinePrior,
        continuation: Continuation,
    ) -> None:
        self.counts, self.attractive, self.continuation = counts, attractive, continuation
        self.n_pairs = len(counts.clicked)
        self._at: Floats | None = None
        self._terms: TailTerms | None = None

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""
        counts = self.counts
        values, theta = logistic(point[: self.n_pairs]), point[self.n_pairs :]
        a = values.p
        skip, click = self.continuation.values(a, theta)
        tail = self._tails_at(point, a)
        skip, click = max(skip, TINY), np.maximum(click, TINY)
        likelihood = (
            counts.clicked @ values.log_p + counts.skipped @ values.log_not_p
            + counts.skips * np.log(skip) + counts.went_on @ np.log(click)
            + tail.log_likelihood
        )  # fmt: skip
        by_a, by_theta = self.continuation.pull_back(
            a, theta, tail.by_skip + counts.skips / skip, tail.by_click + counts.went_on / click
        )
        by_logits = (
            self.attractive.gradient(a) - counts.clicked * (1 - a) + counts.skipped * a
            - (tail.by_attractive + by_a) * a * (1 - a)
        )  # fmt: skip
        prior, by_prior = self.continuation.prior(theta)
        value = self.attractive.loss(values) + prior - likelihood
        return float(value), np.concatenate([by_logits, by_prior - by_theta])

    def _tails_at(self, point: Floats, a: Floats) -> TailTerms:
        """Return what the tails say; the latest is kept, since a round begins where one ended."""
        if self._terms is None or self._at is None or not np.array_equal(point, self._at):
            skip, click = self.continuation.values(a, point[self.n_pairs :])
            self._terms, self._at = tail_terms(self.counts.tails, a, skip, click), point.copy()
        return self._terms

    def learn(self, point: Floats) -> float:
        """Learn the priors from expected examinations and satisfactions."""
        a, theta = expit(point[: self.n_pairs]), point[self.n_pairs :]
        tail = self._tails_at(point, a)
        before: Any = self.attractive
        self.attractive = before.learn(self.counts.clicked, self._expected_examinations(a, tail))
        self.continuation = self.continuation.learn(
            theta, self.counts.clicked_cells, tail.stops
        )
        return float(self.attractive.distance(before))

    def _expected_examinations(self, a: Floats, tail: TailTerms) -> Floats:
        """Return how often each pair was examined, given the clicks, (P,)."""
        # P(examined, not clicked | tail) = -(1 - a) ∂ log P(tail) / ∂a, because the tail's
        # probability is linear in 1 - a.
        return self.counts.clicked + self.counts.skipped - tail.by_attractive * (1 - a)

    def curvature(self, point: Floats) -> Floats:
        """Return an estimate of the Hessian's diagonal: binomial information of expected trials."""
        a, theta, counts = expit(point[: self.n_pairs]), point[self.n_pairs :], self.counts
        tail = self._tails_at(point, a)
        examined = np.maximum(self._expected_examinations(a, tail), 0.0)
        return np.concatenate([
            examined * a * (1 - a) + self.attractive.curvature(a),
            self.continuation.curvature(a, theta, counts.skips, counts.clicked_cells),
        ])  # fmt: skip


def count_to_last_click(
    counts: ChainCounts,
    continuation: Continuation,
    abandoned: bool = True,
    attractive: BetaPrior | LinePrior | None = None,
) -> FittedChain:
    """Return the closed form under the assumption that reading ends at the last click.

    Documents down to the last click were examined (all of them on a page without one, unless
    ``abandoned`` pages do not count), and every last click ended its page. Unlike the likelihood,
    this takes for certain what is only likely: the two agree where nothing stands below a last
    click.
    """
    skipped = counts.skipped
    if abandoned:
        skipped = skipped + counts.tails.without_clicks(len(counts.clicked))
    attractive = BetaPrior() if attractive is None else attractive
    attractive = attractive.learn(counts.clicked, counts.clicked + skipped, _CYCLES)
    logits = attractive.posterior(counts.clicked, skipped)
    theta, continuation = continuation.from_counts(counts.clicked_cells, counts.went_on)
    trials = counts.clicked + skipped, counts.clicked_cells
    return FittedChain(logits, theta, attractive, continuation, trials)


def chain_strengths(counts: ChainCounts, fitted: FittedChain) -> tuple[Floats, Floats]:
    """Return the strengths of the posteriors of attractiveness (P,) and of what follows a click.

    The curvature of the likelihood at each pair's logit, other parameters taken as known.
    """
    a, continuation = expit(fitted.logits), fitted.continuation
    if fitted.trials is not None:
        tried, stopped = fitted.trials
        return fitted.attractive.strength + tried, continuation.counted_strengths(stopped)
    skip, click = continuation.values(a, fitted.theta)
    tails = tail_squares(counts.tails, a, max(skip, TINY), np.maximum(click, TINY))
    missed, twice = tails.by_attractive * (1 - a), tails.by_attractive_squared * (1 - a) ** 2
    # A tail whose slot was examined with probability e, given that it had no click, is a skip with
    # information e a (1 - 2 a) + e² a²; missed and twice are the sums of e and e².
    seen = (counts.clicked + counts.skipped) * a * (1 - a)
    seen += missed * a * (1 - 2 * a) + twice * a**2
    seen = np.maximum(seen, 0.0) + fitted.attractive.curvature(a)
    stops = continuation.stop_strengths(
        fitted.theta, counts.went_on, tails.by_click, tails.by_click_squared
    )
    return strength_of(seen, a, 0.0), stops


class CascadeFit(TableFit):
    """The fit of models that read from the top, until they stop.

    Parameters
    ----------
    continuation : Continuation
        How reading goes on, and by which network it is trained.
    methods : tuple of str
        Of "likelihood", "counts" and "clicked" (counts without the pages that have no click, see
        ``count_to_last_click``), those that the model has; the first is the default, and with
        several there is a setting ``method``.
    cut : callable, optional
        Returns the part of a log that is counted; by default all of it.
    """

    informed = True

    def __init__(
        self,
        continuation: Continuation,
        methods: tuple[str, ...] = ("likelihood",),
        cut: Callable[[ClickLog], ClickLog] | None = None,
    ) -> None:
        self.continuation, self.methods, self.cut = continuation, methods, cut
        self.network = continuation.network
        self.settings = frozenset({"method"} if len(methods) > 1 else ())

    def fold(self, log: ClickLog, world: World) -> ChainFold:
        """Return the places of the log's pages in the counts, and their tails."""
        log = log if self.cut is None else self.cut(log)
        return ChainFold(log, world, self.continuation.cells)

    def search(
        self,
        fold: ChainFold,
        counts: ChainCounts,
        seed: int,
        start: Any,
        covariate: Floats | None = None,
        **settings: Any,
    ) -> FittedChain:
        """Return the most likely parameters, or those of the closed form."""
        method = checks.choice(settings.get("method", self.methods[0]), self.methods, "method")
        prior = first_prior(covariate, fold.pairs)
        if method != "likelihood":
            return count_to_last_click(counts, self.continuation, method == "counts", prior)
        return fit_chain(counts, self.continuation, start, prior)

    def strengths(
        self, fold: ChainFold, counts: ChainCounts, fitted: FittedChain, world: World
    ) -> dict[str, Floats]:
        """Return the strengths of the posteriors of attractiveness and of what goes with it."""

        def table(strengths: Floats, prior: BetaPrior | LinePrior) -> Floats:
            return strength_table(fold.pairs, strengths, prior, world)

        attractive, satisfying = chain_strengths(counts, fitted)
        return {
            "attractiveness": table(attractive, fitted.attractive),
            **fitted.continuation.strengths(satisfying, table),
        }

    def arguments(self, fold: ChainFold, fitted: FittedChain, world: World) -> dict[str, Any]:
        """Return attractiveness, and what follows from θ."""

        def table(logits: Floats, prior: BetaPrior | LinePrior) -> Floats:
            return pair_table(fold.pairs, logits, prior, world)

        return {
            "attractiveness": table(fitted.logits, fitted.attractive),
            **fitted.continuation.arguments(fitted.theta, table),
        }

    def seen(self, fold: ChainFold, counts: ChainCounts, world: World) -> Booleans | None:
        """Return the documents that have a count, (Q, N); None where some were cut off."""
        return None if self.cut is not None else super().seen(fold, counts, world)
