"""Plackett-Luce weights from rankings: the most probable ones, of all queries at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...common.typing import Booleans, Floats, Integers
from .pages import LoggedPages

_CHUNK = 1 << 18  # numbers of pages evaluated at a time, so that they stay in cache
_BATCH = 1 << 19  # log-weights searched for at a time, so that memory stays small
_MEMORY = 8  # steps that the search remembers
_MOST_STEPS = 500
_LONGEST = 3.0  # the furthest that a log-weight moves in one step
_ENOUGH = 1e-5  # a query has arrived when no step promises more log-likelihood than this


def fit_log_weights(pages: LoggedPages, spread: float, start: Floats | None = None) -> Floats:
    """Return the log-weights (q, N) under which the pages are likeliest, -inf for no candidate.

    Each candidate's log-weight has a normal prior of mean 0 and standard deviation ``spread``: a
    document that was never shown gets a small weight, no zero, and a query with few pages stays
    close to uniform.

    Parameters
    ----------
    pages : LoggedPages
        Short pages count by the documents that they show.
    spread : float
    start : (q, N), optional
        Where the search begins.

    Notes
    -----
    The posterior is concave. L-BFGS with the curvature's diagonal as its scale climbs all queries
    at once, each with its own steps and memory, and queries that have arrived drop out. A step
    costs O(m (N + K)) for m distinct pages of the queries that are still on their way. Queries with
    about as many candidates are searched together, half a million log-weights at a time, which
    takes some 100 MB besides the result.
    """
    result = np.zeros(pages.candidates.shape) if start is None else start
    result = _centre(result, pages.candidates)
    for queries, width in _batches(pages.candidates):
        part = pages.of_queries(queries, width)
        result[queries, :width] = _climb(part, result[queries, :width], spread)
    return np.where(pages.candidates, result, -np.inf)


def _batches(candidates: Booleans) -> Iterator[tuple[Integers, int]]:
    """Yield queries, ascending, whose candidates stand in the first so many columns."""
    n_docs = candidates.shape[1]
    widths = np.where(candidates.any(axis=1), n_docs - candidates[:, ::-1].argmax(axis=1), 1)
    order = np.argsort(widths, kind="stable")
    while len(order):
        most = max(_BATCH // int(widths[order[0]]), 1)
        longest = int(widths[order[:most]].max())
        batch = order[: max(_BATCH // longest, 1)]
        yield np.sort(batch), int(widths[batch].max())
        order = order[len(batch) :]


def _climb(pages: LoggedPages, start: Floats, spread: float) -> Floats:
    """Return the best log-weights of a batch of queries, (q, N); 0 for no candidate."""
    result, active = start, np.arange(len(pages.queries))
    search, steps = _Search(pages, start, spread), 0
    while len(active) and steps < _MOST_STEPS:
        search.step()
        steps += 1
        result[active] = search.best
        if search.arrived.mean() > 0.3:
            kept = np.flatnonzero(~search.arrived)
            active, search = active[kept], search.only(kept)
    return result


def page_log_probs(pages: LoggedPages, log_weights: Floats) -> Floats:
    """Return the log-probabilities of pages under log-weights (q, N), (m,).

    That of the documents that a page shows, in their order, whatever its length.
    """
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    parts = [_look_up(pages, weights, part)[0] for part in _chunks(pages)]
    return np.concatenate([np.zeros(0), *parts])


class _Search:
    """The climb of several queries: where they are, their gradients and last steps."""

    def __init__(self, pages: LoggedPages, start: Floats, spread: float) -> None:
        self.pages, self.spread, self.best = pages, spread, start
        self.wins = _count_shown(pages)
        self.height, self.gradient, self.scale = self._evaluate(start)
        self.length = np.ones(len(start))
        self.moves = np.zeros((_MEMORY, 2, *start.shape))  # steps, and how gradients changed
        self.number = 0

    def only(self, kept: Integers) -> _Search:
        """Return the climb of the queries ``kept`` alone."""
        search = object.__new__(_Search)
        search.pages, search.spread = self.pages.of_queries(kept), self.spread
        for name in ("best", "wins", "height", "gradient", "scale", "length"):
            setattr(search, name, getattr(self, name)[kept])
        search.moves, search.number = self.moves[:, :, kept], self.number
        return search

    @property
    def arrived(self) -> Booleans:
        """Whether a query has nothing more to gain, (q,)."""
        return (self.gradient**2 / self.scale).sum(axis=1) < 2.0 * _ENOUGH

    def step(self) -> None:
        """Try one step for every query; those that do not climb shorten their next one."""
        direction = _centre(self._direction(), self.pages.candidates)
        furthest = np.maximum(np.abs(direction).max(axis=1), 1e-300)
        direction *= np.minimum(self.length, _LONGEST / furthest)[:, None]
        promised = (direction * self.gradient).sum(axis=1)
        trial = self.best + direction
        height, gradient, scale = self._evaluate(trial)
        rounding = 1e-12 * np.abs(self.height)
        better = height >= self.height + 1e-4 * promised - rounding
        taken = better[:, None]
        self.length = np.where(better, 1.0, self.length / 4.0)
        memory = self.moves[self.number % _MEMORY]
        memory[0] = np.where(taken, direction, 0.0)
        memory[1] = np.where(taken, self.gradient - gradient, 0.0)
        self.number += 1
        self.best = np.where(taken, trial, self.best)
        self.gradient = np.where(taken, gradient, self.gradient)
        self.scale = np.where(taken, scale, self.scale)
        self.height = np.where(better, height, self.height)

    def _direction(self) -> Floats:
        """Return the step of the limited-memory quasi-Newton method, (q, N)."""
        latest = [(self.number - 1 - i) % _MEMORY for i in range(min(self.number, _MEMORY))]
        wanted, kept = self.gradient.copy(), []
        for i in latest:
            move, change = self.moves[i]
            product = (move * change).sum(axis=1)
            inverse = np.divide(1.0, product, out=np.zeros_like(product), where=product > 1e-12)
            share = inverse * (move * wanted).sum(axis=1)
            wanted -= share[:, None] * change
            kept.append((move, change, inverse, share))
        wanted /= self.scale
        for move, change, inverse, share in reversed(kept):
            back = inverse * (change * wanted).sum(axis=1)
            wanted += (share - back)[:, None] * move
        return wanted

    def _evaluate(self, log_weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the log-posterior (q,), its gradient (q, N) and the scale of its curvature."""
        pages, n_docs = self.pages, log_weights.shape[1]
        candidates = pages.candidates
        top = np.where(candidates, log_weights, -np.inf).max(axis=1, keepdims=True)
        weights = np.where(candidates, np.exp(log_weights - top), 0.0)
        height = np.zeros(len(log_weights))
        chance = np.zeros((len(log_weights), n_docs))
        for part in _chunks(pages):
            log_prob, inverse = _look_up(pages, weights, part)
            place, counts = pages.place[part], pages.counts[part]
            height += np.bincount(place, counts * log_prob, len(height))
            inverse *= counts
            until = np.cumsum(inverse, axis=0)  # of the draws in which a document was there
            there = np.repeat(until[-1][:, None], n_docs + 1, axis=1)
            rows = np.arange(len(place))
            for slot, documents in enumerate(pages.ranking[part].T):
                there[rows, documents] = until[slot]
            starts = np.flatnonzero(np.diff(place, prepend=-1))
            chance[place[starts]] += np.add.reduceat(there[:, :-1], starts, axis=0)
        chance *= weights
        precision = self.spread**-2.0
        height -= 0.5 * precision * (log_weights**2).sum(axis=1)
        gradient = np.where(candidates, self.wins - chance - precision * log_weights, 0.0)
        return height, gradient, chance + precision


def _look_up(pages: LoggedPages, weights: Floats, part: slice) -> tuple[Floats, Floats]:
    """Return log-probabilities (c,) of pages, and 1 / what was left before each draw, (K, c)."""
    place, ranking = pages.place[part], pages.ranking[part]
    rows = np.arange(len(place))
    left = np.zeros((len(place), weights.shape[1] + 1))  # -1 lands in the last column
    left[:, :-1] = weights.take(place, axis=0)
    chosen = np.empty((ranking.shape[1], len(place)))
    for slot, documents in enumerate(ranking.T):
        chosen[slot] = left[rows, documents]
        left[rows, documents] = 0.0
    # Sums run from what is never shown up to the first draw: nothing is subtracted.
    ahead = np.concatenate([left.sum(axis=1)[None], chosen[::-1]])
    remaining = np.cumsum(ahead, axis=0)[:0:-1]
    filled = ranking.T >= 0
    inverse = np.divide(1.0, remaining, out=np.zeros_like(remaining), where=filled)
    terms = np.log(np.where(filled, chosen * inverse, 1.0))
    return terms.sum(axis=0), inverse


def _centre(values: Floats, candidates: Booleans) -> Floats:
    """Return values (q, N) whose mean over candidates is 0, 0 elsewhere.

    Adding a number to all log-weights of a query changes nothing but the prior, which wants 0.
    """
    mean = np.where(candidates, values, 0.0).sum(axis=1) / np.maximum(candidates.sum(axis=1), 1)
    return np.where(candidates, values - mean[:, None], 0.0)


def _count_shown(pages: LoggedPages) -> Floats:
    """Return how many impressions show each document, (q, N)."""
    n_docs = pages.candidates.shape[1]
    flat = pages.place[:, None] * n_docs + pages.ranking
    shown = pages.ranking >= 0
    counts = np.broadcast_to(pages.counts[:, None], shown.shape)
    total = np.bincount(flat[shown], counts[shown], len(pages.queries) * n_docs)
    return total.reshape(-1, n_docs).astype(np.float64)


def _chunks(pages: LoggedPages) -> Iterator[slice]:
    n, size = len(pages.place), max(_CHUNK // pages.candidates.shape[1], 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
