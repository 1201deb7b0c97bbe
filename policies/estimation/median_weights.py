"""Plackett-Luce weights in the middle of what a log allows, instead of the most probable ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...common.typing import Floats, Integers
from .pages import LoggedPages

_CHUNK = 1 << 18  # numbers of pages looked at a time, so that they stay in cache
_POINTS = 257  # of a posterior
_FAR = 30.0  # log-density below the largest, beyond which a posterior is cut off
_MANY = 1000.0  # events, from which on a posterior is as good as normal


def median_log_weights(pages: LoggedPages, log_weights: Floats, spread: float) -> Floats:
    """Return log-weights (q, N) whose rare events have the median of their possible rates.

    The most probable weights (``fit_log_weights``) make events that a log shows once or twice too
    frequent: with rate λ, one that happened by luck counts, one that did not is forgotten. And an
    event that never happened gets the largest rate with which the log is still likely, although
    its rate may be anything below. Half of the posterior lies on either side of the median, and
    does so whether one asks for a rate, its logarithm or, as importance weights do, for 1/λ.

    Parameters
    ----------
    pages : LoggedPages
    log_weights : (q, N)
        What ``fit_log_weights`` found for these pages and this ``spread``.
    spread : float
        Of the log-weights' prior.

    Notes
    -----
    What a log of K slots can be unsure about: how far each of the K heaviest documents is above
    all that are lighter (the lighter one comes first: a rare event), and how heavy each other
    document is (it is shown: a rare event). Along each of these directions alone, the log-posterior
    is -R (t + exp(-t) - 1) - t²/2σ² for a shift of t, where R events are expected and σ is the
    prior's standard deviation. Posteriors of different directions hardly depend on each other
    where R is small; elsewhere medians are where the maximum is. Costs as much as K gradients of
    the fit.
    """
    order = np.argsort(-log_weights, axis=1, kind="stable")
    heaviest = min(pages.slots, log_weights.shape[1])
    contests, shown = _expect_events(pages, log_weights, order, heaviest)
    number = np.maximum(pages.candidates.sum(axis=1), 1)[:, None]
    above = np.arange(1, heaviest)
    below = number - above
    width = spread * np.sqrt(number / np.maximum(above * below, 1))
    gaps = np.where(below > 0, _median_shift(contests, width), 0.0)
    alone = np.where(number > 1, spread * np.sqrt(number / np.maximum(number - 1, 1)), 0.0)
    result = np.take_along_axis(log_weights, order, axis=1)
    result[:, 1:heaviest] -= np.cumsum(gaps, axis=1)
    lighter = shown[:, heaviest:]
    result[:, heaviest:] -= gaps.sum(axis=1, keepdims=True)
    result[:, heaviest:] -= _median_shift(lighter, np.broadcast_to(alone, lighter.shape))
    medians = np.empty_like(result)
    np.put_along_axis(medians, order, result, axis=1)
    return np.where(pages.candidates, medians, -np.inf)


def _expect_events(
    pages: LoggedPages, log_weights: Floats, order: Integers, heaviest: int
) -> tuple[Floats, Floats]:
    """Return the expected events that bear on the gaps below the heaviest, and on each document.

    In ``order``, (q, heaviest - 1) and (q, N). The first is the variance of the number of draws in
    which a document below the gap comes before one above it.
    """
    n_docs = log_weights.shape[1]
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(n_docs), order.shape), axis=1)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights = np.take_along_axis(weights, order, axis=1)
    contests, shown = np.zeros((len(order), heaviest - 1)), np.zeros(order.shape)
    for part, queries, starts in _chunks(pages):
        place, rows = pages.place[part], np.arange(part.stop - part.start)
        left = weights.take(place, axis=0)
        for documents in pages.ranking[part].T:
            drawn = documents >= 0
            upward = np.cumsum(left[:, ::-1], axis=1)[:, ::-1]
            total = np.where(upward[:, 0] > 0, upward[:, 0], 1.0)
            counts = np.where(drawn, pages.counts[part], 0.0) / total
            above = np.cumsum(left[:, : heaviest - 1], axis=1)
            both = above * upward[:, 1:heaviest] * (counts / total)[:, None]
            contests[queries] += np.add.reduceat(both, starts, axis=0)
            shown[queries] += np.add.reduceat(left * counts[:, None], starts, axis=0)
            left[rows[drawn], rank[place[drawn], documents[drawn]]] = 0.0
    return contests, shown


def _chunks(pages: LoggedPages) -> Iterator[tuple[slice, Integers, Integers]]:
    """Yield parts of the pages, their queries' places, and where each query begins."""
    n, size = len(pages.place), max(_CHUNK // pages.candidates.shape[1], 1)
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        place = pages.place[part]
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        yield part, place[starts], starts


def _median_shift(events: Floats, width: Floats) -> Floats:
    """Return the median of t with log-density -R (t + exp(-t) - 1) - t²/2σ², of any shape."""
    flat, deviation = events.reshape(-1), width.reshape(-1)
    result = 1.0 / (3.0 * np.maximum(flat, _MANY))
    few = np.flatnonzero(flat < _MANY)
    for start in range(0, len(few), _CHUNK // _POINTS):
        chosen = few[start : start + _CHUNK // _POINTS]
        result[chosen] = _integrate(flat[chosen], deviation[chosen])
    return result.reshape(events.shape)


def _integrate(events: Floats, width: Floats) -> Floats:
    """Return the medians of a few posteriors, (n,), by the trapezoid rule."""
    rate, far = np.maximum(events, 1e-300), np.sqrt(2.0 * _FAR) * width
    low = -np.minimum(np.log1p(_FAR / rate + 1.0), far)
    high = np.minimum(1.0 + _FAR / rate, far)
    step = (high - low) / (_POINTS - 1)
    shift = low[:, None] + step[:, None] * np.arange(_POINTS)
    narrow = np.maximum(width, 1e-300)[:, None]
    height = -rate[:, None] * (shift + np.expm1(-shift)) - 0.5 * (shift / narrow) ** 2
    density = np.exp(height)
    mass = np.cumsum(0.5 * (density[:, 1:] + density[:, :-1]), axis=1)
    half = 0.5 * mass[:, -1]
    cell = (mass < half[:, None]).sum(axis=1)
    rows = np.arange(len(cell))
    before = np.where(cell > 0, mass[rows, cell - 1], 0.0)
    return low + step * (cell + (half - before) / (mass[rows, cell] - before))
