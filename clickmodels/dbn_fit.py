"""Fitting DBN tables: counts up to the last click, a recursion for what comes after it.

Up to its last click a page hides nothing: every document was examined, every earlier click did not
satisfy, reading went on each time. Those parts of the likelihood fold into counts. Only the tail
after the last click (or the whole page without one) needs a recursion: with R_k the probability
of no further click once the user is done with rank k,

    R_k = 1 - γ + γ B_{k+1},   B_k = (1 - a_k) R_k,   R = 1 at the page's end,

the tail has probability ``s + (1 - s) R`` at the last click, or ``B_1`` without one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..data import ClickLog, World
from .cells import sums
from .prior import BetaPrior
from .quasi_newton import ROUNDS, minimise

_START_CONTINUATION = 2.0  # logit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Counts:
    """What a log says for sure, by pair (P,), and the tails that need the recursion.

    ``tails`` is (K, m): the pair of every slot, P on empty slots, with m distinct (query, ranking,
    last click); ``last`` (m,) is the slot of the last click or -1, ``weight`` (m,) the pages.
    """

    pairs: NDArray[np.int64]
    clicked: Floats
    skipped: Floats
    went_on: Floats  # clicks that a later click followed
    passes: float  # transitions that reading surely made
    tails: NDArray[np.int64]
    last: NDArray[np.int64]
    weight: Floats


def count(log: ClickLog, world: World) -> Counts:
    """Fold a log."""
    slots = log.slots
    weight = np.ones(len(log)) if log.weight is None else log.weight
    shown = log.ranking >= 0
    pair = log.query[:, None].astype(np.int64) * world.n_docs + log.ranking
    pairs, index = np.unique(pair[shown], return_inverse=True)
    place = np.full(pair.shape, len(pairs))
    place[shown] = index
    last = np.where(log.clicks.any(axis=1), slots - 1 - log.clicks[:, ::-1].argmax(axis=1), -1)
    ranks = np.arange(slots)
    sure = ranks <= last[:, None]
    weights = np.broadcast_to(weight[:, None], pair.shape)

    def total(mask: NDArray[np.bool_]) -> Floats:
        return sums(place[mask], weights[mask], len(pairs) + 1)[:-1]

    return Counts(
        pairs,
        total(log.clicks),
        total(sure & ~log.clicks),
        total(log.clicks & (ranks < last[:, None])),
        float(weight @ np.maximum(last, 0)),
        np.ascontiguousarray(place.T),
        last,
        weight,
    )


class Objective:
    """Minus the log posterior of the logits of attractiveness, satisfaction and continuation."""

    def __init__(self, counts: Counts, attractive: BetaPrior, satisfied: BetaPrior) -> None:
        self.counts, self.attractive, self.satisfied = counts, attractive, satisfied
        self.n_pairs = len(counts.pairs)

    def split(self, point: Floats) -> tuple[Floats, Floats, float]:
        """Return the logits of attractiveness (P,), satisfaction (P,) and continuation."""
        return point[: self.n_pairs], point[self.n_pairs : -1], float(point[-1])

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""
        counts = self.counts
        logit_a, logit_s, logit_g = self.split(point)
        a, s, g = expit(logit_a), expit(logit_s), float(expit(logit_g))
        log_tail, by_a, by_s, by_g = self._tails(a, s, g)
        log_a, log_not_a = -np.logaddexp(0, -logit_a), -np.logaddexp(0, logit_a)
        likelihood = (
            counts.clicked @ log_a + counts.skipped @ log_not_a
            - counts.went_on @ np.logaddexp(0, logit_s) - counts.passes * np.logaddexp(0, -logit_g)
            + counts.weight @ log_tail
        )  # fmt: skip
        gradient = np.empty(len(point))
        gradient[: self.n_pairs] = (
            self.attractive.gradient(a) - counts.clicked * (1 - a) + counts.skipped * a
            - by_a * a * (1 - a)
        )  # fmt: skip
        gradient[self.n_pairs : -1] = (
            self.satisfied.gradient(s) + counts.went_on * s - by_s * s * (1 - s)
        )
        gradient[-1] = -counts.passes * (1 - g) - by_g * g * (1 - g)
        value = self.attractive.loss(logit_a) + self.satisfied.loss(logit_s) - likelihood
        return float(value), gradient

    def _tails(self, a: Floats, s: Floats, g: float) -> tuple[Floats, Floats, Floats, float]:
        """Return log P(tail), (m,), and its weighted derivatives by a, s (P,) and g."""
        counts = self.counts
        slots, n = counts.tails.shape
        values = np.append(a, 0.0)[counts.tails]
        stop = np.append(s, 0.0)
        rest, none = np.ones((slots, n)), np.ones((slots + 1, n))  # R and B
        for slot in range(slots - 1, -1, -1):
            if slot < slots - 1:
                rest[slot] = 1.0 - g + g * none[slot + 1]
            none[slot] = (1.0 - values[slot]) * rest[slot]
        rows = np.flatnonzero(counts.last >= 0)
        end = counts.tails[counts.last[rows], rows]
        satisfied = stop[end]
        remaining = rest[counts.last[rows], rows]
        tail = none[0].copy()
        tail[rows] = satisfied + (1.0 - satisfied) * remaining
        tail = np.maximum(tail, 1e-300)
        share = counts.weight / tail
        by_s = sums(end, share[rows] * (1.0 - remaining), self.n_pairs + 1)[:-1]
        first = np.zeros((slots, n))  # derivative by R at the last click
        first[counts.last[rows], rows] = share[rows] * (1.0 - satisfied)
        by_none = np.where(counts.last < 0, share, 0.0)  # derivative by B at the current slot
        by_value, by_g = np.empty((slots, n)), 0.0
        for slot in range(slots):
            by_value[slot] = -by_none * rest[slot]
            by_rest = by_none * (1.0 - values[slot]) + first[slot]
            if slot < slots - 1:
                by_g += float(by_rest @ (none[slot + 1] - 1.0))
                by_none = g * by_rest
        by_a = sums(counts.tails.ravel(), by_value.ravel(), self.n_pairs + 1)[:-1]
        return np.log(tail), by_a, by_s, by_g

    def expected(self, point: Floats) -> tuple[Floats, Floats]:
        """Return how often each pair was examined and satisfied, given the clicks, (P,) each."""
        counts = self.counts
        logit_a, logit_s, logit_g = self.split(point)
        a, s, g = expit(logit_a), expit(logit_s), float(expit(logit_g))
        _, by_a, by_s, _ = self._tails(a, s, g)
        # P(examined, not clicked | tail) = -(1 - a) ∂ log P(tail) / ∂a, because the tail's
        # probability is linear in 1 - a; likewise s ∂ log P(tail) / ∂s = P(satisfied) - s P(...).
        examined = counts.clicked + counts.skipped - by_a * (1 - a)
        last_clicks = counts.clicked - counts.went_on
        return examined, np.clip(s * (last_clicks + (1 - s) * by_s), 0.0, counts.clicked)

    def curvature(self, point: Floats) -> Floats:
        """Return an estimate of the Hessian's diagonal: binomial information of expected trials."""
        logit_a, logit_s, logit_g = self.split(point)
        a, s, g = expit(logit_a), expit(logit_s), float(expit(logit_g))
        examined, _ = self.expected(point)
        by_a = np.maximum(examined, 0.0) * a * (1 - a) + self.attractive.curvature(a)
        by_s = self.counts.clicked * s * (1 - s) + self.satisfied.curvature(s)
        by_g = (self.counts.passes + 1.0) * (1 - g)
        return np.concatenate([by_a, by_s, [by_g]])


def fit_dbn_tables(log: ClickLog, world: World) -> tuple[Floats, Floats, float]:
    """Return attractiveness (Q, N), satisfaction (Q, N) and continuation, priors learned.

    A step costs one pass over the rows of the compressed log. Deterministic.
    """
    counts = count(log.compress(), world)
    attractive, satisfied = BetaPrior(), BetaPrior(1.0, 1.0)
    n_pairs = len(counts.pairs)
    point = np.concatenate([
        np.full(n_pairs, attractive.logit), np.full(n_pairs, satisfied.logit),
        [_START_CONTINUATION],
    ])  # fmt: skip
    for number in range(ROUNDS):
        objective = Objective(counts, attractive, satisfied)
        last = number == ROUNDS - 1
        point = minimise(objective, point, objective.curvature(point), last)
        examined, ends = objective.expected(point)
        attractive = attractive.learned(counts.clicked, examined)
        satisfied = satisfied.learned(ends, counts.clicked)
    logit_a, logit_s, logit_g = Objective(counts, attractive, satisfied).split(point)
    tables = []
    for logits, prior in ((logit_a, attractive), (logit_s, satisfied)):
        table = np.full(world.n_queries * world.n_docs, prior.mean)
        table[counts.pairs] = expit(logits)
        tables.append(table.reshape(world.n_queries, world.n_docs))
    return tables[0], tables[1], float(expit(logit_g))
