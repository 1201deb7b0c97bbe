"""Plackett-Luce as a race, and when the first document outside of the page arrives.

Every document arrives at its own moment T ~ Exp(weight), and the page is the first k arrivals. Let
τ be the moment of the first arrival outside of the displayed set S. Given S and τ the moments of S
are independent exponentials cut off at τ, and τ has a density proportional to

    W exp(-W τ) Π_{i in S} (1 - exp(-w_i τ)),        W the weight outside of S,

whose integral is the probability of S. As a function of log τ its logarithm is concave.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.typing import Floats, Integers

NEVER = 45.0  # exponentials cut off after so many of their means are not cut off at all
_HIGHEST = 700.0  # exp of it is still finite
_FLAT = -50.0  # log w τ below it: the moment is uniform on [0, τ]
_DEPTH = 36.0  # the density is left out where it is below exp(-36) of its largest
_STEP = 0.27  # the widest step in log τ
_NEWTON = 6


class RaceNodes(NamedTuple):
    """Moments τ that stand for its density, for pages one after another.

    Attributes
    ----------
    page : (m,)
    log_moment : (m,)
        log τ.
    weight : (m,)
        Those of a page sum to one.
    """

    page: Integers
    log_moment: Floats
    weight: Floats


def log_hazard(log_times: Floats) -> Floats:
    """Return log(1 - exp(-t)) for log t, without loss where t is small or large."""
    t = np.exp(np.minimum(log_times, _HIGHEST))
    with np.errstate(divide="ignore"):
        return np.where(log_times < _FLAT, log_times, np.log(-np.expm1(-t)))


def log_hazards(logs: Floats, moment: Floats) -> Floats:
    """Return the log-probability (n,) that all documents arrive before log τ; -inf are none."""
    each = log_hazard(logs + moment[:, None])
    return np.where(logs > -np.inf, each, 0.0).sum(axis=1)


def log_density(logs: Floats, log_rest: Floats, log_moment: Floats) -> Floats:
    """Return the log-density of log τ times P(S), (n, m), at ``log_moment`` (n, m).

    ``logs`` (n, k) are the log-weights of S, ``log_rest`` (n,) that of the rest, finite.
    """
    own = log_rest[:, None] + log_moment
    result = own - np.exp(np.minimum(own, _HIGHEST))
    for column in logs.T:
        result += log_hazard(column[:, None] + log_moment)
    return result


def find_mode(logs: Floats, log_rest: Floats) -> Floats:
    """Return the likeliest log τ, (n,), nearly; -inf in ``logs`` (n, k) are no documents.

    There W τ is 1 + Σ t / (exp(t) - 1), t = w τ, which is between 1 and k + 1: by Newton's steps
    inside of a bracket.
    """
    k = logs.shape[1]
    low, high = np.zeros(len(logs)), np.full(len(logs), np.log(k + 1.0))
    relative = logs - log_rest[:, None]
    place = 0.5 * high
    for _ in range(_NEWTON):
        share, bend = _slopes(relative, place)
        mass = np.exp(place)
        value = 1.0 - mass + share
        low, high = np.where(value > 0, place, low), np.where(value > 0, high, place)
        place = place - value / (bend - mass)
        inside = (place >= low) & (place <= high)
        place = np.where(inside, place, 0.5 * (low + high))
    return place - log_rest


def find_tangent(logs: Floats, log_rest: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a log τ near the mode, (n,), and slope and height of the log-hazards there."""
    place = find_mode(logs, log_rest)
    slope, _ = _slopes(logs, place)
    return place, slope, log_hazards(logs, place)


def _slopes(logs: Floats, place: Floats) -> tuple[Floats, Floats]:
    """Return first and second derivative of the log-hazards at log τ = ``place``, (n,) each."""
    with np.errstate(invalid="ignore"):
        log_times = logs + place[:, None]
    t = np.exp(np.clip(log_times, _FLAT, _HIGHEST))
    share = t * np.exp(-t) / -np.expm1(-t)  # t / (exp(t) - 1)
    bend = share * (1.0 - t - share)  # d share / d log t
    there = logs > -np.inf
    return np.where(there, share, 0.0).sum(axis=1), np.where(there, bend, 0.0).sum(axis=1)


def integrate_race(logs: Floats, log_rest: Floats) -> tuple[RaceNodes, Floats]:
    """Return nodes of τ for each page and the log-probability of its set, (n,).

    Trapezoids in log τ, where the density is analytic: their error falls exponentially with the
    step, which shrinks like the width of the density, 1 / sqrt(k). Moments after which no document
    of S comes any more are one node; there is no other where S has all candidates.

    Notes
    -----
    With M = W τ at the mode, concavity bounds the log-density at a distance d from it by M (1 - d -
    exp(-d)) to the left and by M (1 + d - exp(d)) to the right. So it is known beforehand where
    it is negligible. Costs k exponentials per node, of which there are some 30 to 200.
    """
    n, k = logs.shape
    some = np.flatnonzero(log_rest > -np.inf)
    latest = np.log(NEVER) - logs.min(axis=1, initial=np.inf)
    log_probability = np.zeros(n)
    pages = [np.setdiff1d(np.arange(n), some)]
    moments, weights = [latest[pages[0]]], [np.ones(n - len(some))]
    if len(some):
        mode = find_mode(logs[some], log_rest[some])
        mass = np.exp(mode + log_rest[some])
        depth = _DEPTH / mass
        reach = np.sqrt(2.0 * depth) + depth
        start, end = mode - reach, mode + np.log1p(reach)
        step = np.minimum(_STEP, 0.75 / np.sqrt(mass + 0.31 * k))
        count = int(np.ceil(((end - start) / step).max())) + 1
        step = (end - start) / (count - 1)
        grid = start[:, None] + step[:, None] * np.arange(count)
        density = log_density(logs[some], log_rest[some], grid)
        top = density.max(axis=1, keepdims=True)
        share = np.exp(density - top)
        total = share.sum(axis=1)
        log_probability[some] = np.log(total * step) + top[:, 0]
        share /= total[:, None]
        late = grid >= latest[some, None]
        at_last = np.where(late, share, 0.0).sum(axis=1)
        kept = ~late & (share > 1e-17)
        pages += [some[np.nonzero(kept)[0]], some]
        moments += [grid[kept], latest[some]]
        weights += [share[kept], at_last]
    page, moment = np.concatenate(pages), np.concatenate(moments)
    weight = np.concatenate(weights)
    order = np.argsort(page, kind="stable")
    order = order[weight[order] > 0]
    return RaceNodes(page[order], moment[order], weight[order]), log_probability
