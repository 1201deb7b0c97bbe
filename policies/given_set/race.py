"""Plackett-Luce as a race, and when the first document outside of the page arrives.

Every document arrives at its own time T ~ Exp(weight), and the page is the first k arrivals. Let τ
be the time of the first arrival outside of the displayed set S. Given S and τ the arrival times of
S are independent exponentials cut off at τ, and τ has a density proportional to

    W exp(-W τ) Π_{i in S} (1 - exp(-w_i τ)),        W the weight outside of S,

whose integral is the probability of S. As a function of log τ its logarithm is concave.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...common.typing import Floats, Integers

NEVER = 45.0  # exponentials cut off after so many of their means are not cut off at all
_HIGHEST = 700.0  # exp of it is still finite
_FLAT = -50.0  # log w τ below it: the arrival is uniform on [0, τ]
_DEPTH = 36.0  # the density is left out where it is below exp(-36) of its largest
_NEGLIGIBLE = 1e-17  # weight of a node
_STEP = 0.23  # the widest step in log τ
_NEWTON = 6


class RaceNodes(NamedTuple):
    """Times τ that stand for its density, for pages one after another.

    Attributes
    ----------
    page : (m,)
    log_time : (m,)
        log τ.
    weight : (m,)
        Those of a page sum to one.
    """

    page: Integers
    log_time: Floats
    weight: Floats


def log_arrival(scaled: Floats) -> Floats:
    """Return log P(T < τ) = log(1 - exp(-w τ)) for log w τ, without loss at either end."""
    t = np.exp(np.minimum(scaled, _HIGHEST))
    with np.errstate(divide="ignore"):
        return np.where(scaled < _FLAT, scaled, np.log(-np.expm1(-t)))


def log_arrivals(logs: Floats, log_time: Floats) -> Floats:
    """Return the log-probability (n,) that all documents come before τ; -inf in logs are none."""
    each = log_arrival(logs + log_time[:, None])
    return np.where(logs > -np.inf, each, 0.0).sum(axis=1)


def log_density(logs: Floats, log_rest: Floats, log_time: Floats) -> Floats:
    """Return the log-density of log τ times P(S), (n, m), at ``log_time`` (n, m).

    ``logs`` (n, k) are the log-weights of S, ``log_rest`` (n,) that of the rest, finite.
    """
    own = log_rest[:, None] + log_time
    result = own - np.exp(np.minimum(own, _HIGHEST))
    for column in logs.T:
        result += log_arrival(column[:, None] + log_time)
    return result


def find_mode(logs: Floats, log_rest: Floats) -> Floats:
    """Return the likeliest log τ, (n,), nearly; -inf in ``logs`` (n, k) are no documents.

    There W τ is 1 + Σ t / (exp(t) - 1), t = w τ, which is between 1 and k + 1: by Newton's steps
    inside of a bracket.
    """
    k = logs.shape[1]
    low, high = np.zeros(len(logs)), np.full(len(logs), np.log(k + 1.0))
    relative = logs - log_rest[:, None]
    place = 0.5 * high  # log W τ
    for _ in range(_NEWTON):
        slope, bend = _differentiate(relative, place)
        mass = np.exp(place)
        value = 1.0 - mass + slope
        low, high = np.where(value > 0, place, low), np.where(value > 0, high, place)
        place = place - value / (bend - mass)
        inside = (place >= low) & (place <= high)
        place = np.where(inside, place, 0.5 * (low + high))
    return place - log_rest


def find_tangent(logs: Floats, log_rest: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a log τ near the mode, (n,), and slope and height of ``log_arrivals`` there."""
    place = find_mode(logs, log_rest)
    slope, _ = _differentiate(logs, place)
    return place, slope, log_arrivals(logs, place)


def _differentiate(logs: Floats, log_time: Floats) -> tuple[Floats, Floats]:
    """Return first and second derivative of ``log_arrivals`` by log τ, (n,) each."""
    t = np.exp(np.clip(logs + log_time[:, None], _FLAT, _HIGHEST))
    slope = t * np.exp(-t) / -np.expm1(-t)  # t / (exp(t) - 1)
    bend = slope * (1.0 - t - slope)
    there = logs > -np.inf
    return np.where(there, slope, 0.0).sum(axis=1), np.where(there, bend, 0.0).sum(axis=1)


def integrate_race(logs: Floats, log_rest: Floats) -> tuple[RaceNodes, Floats]:
    """Return nodes of τ for each page and the log-probability of its set, (n,).

    Trapezoids in log τ, where the density is analytic: their error falls exponentially with the
    step, which shrinks like the width of the density, 1 / sqrt(k). All times after which no
    document of S is still to come are one node; a page of all candidates has no other.

    Notes
    -----
    Costs k exponentials per node, of which there are some 30 to 200.
    """
    n = len(logs)
    latest = np.log(NEVER) - logs.min(axis=1, initial=np.inf)
    some = np.flatnonzero(log_rest > -np.inf)
    log_probability, at_latest = np.zeros(n), np.ones(n)
    if not len(some):
        return RaceNodes(np.arange(n), latest, at_latest), log_probability
    grid, step = _place_grid(logs[some], log_rest[some])
    density = log_density(logs[some], log_rest[some], grid)
    top = density.max(axis=1, keepdims=True)
    share = np.exp(density - top)
    total = share.sum(axis=1)
    log_probability[some] = np.log(total * step) + top[:, 0]
    share /= total[:, None]
    late = grid >= latest[some, None]
    at_latest[some] = np.where(late, share, 0.0).sum(axis=1)
    row, column = np.nonzero(~late & (share > _NEGLIGIBLE))
    ends = np.flatnonzero(at_latest > 0)
    page = np.concatenate([some[row], ends])
    order = np.argsort(page, kind="stable")
    log_time = np.concatenate([grid[row, column], latest[ends]])[order]
    weight = np.concatenate([share[row, column], at_latest[ends]])[order]
    return RaceNodes(page[order], log_time, weight), log_probability


def _place_grid(logs: Floats, log_rest: Floats) -> tuple[Floats, Floats]:
    """Return values of log τ (n, m), in even steps (n,), wherever the density counts.

    With M = W τ at the mode, concavity bounds the log-density at a distance d from it by M (1 - d -
    exp(-d)) to the left and by M (1 + d - exp(d)) to the right: so much below that at the mode.
    """
    mode = find_mode(logs, log_rest)
    mass = np.exp(mode + log_rest)
    depth = _DEPTH / mass
    reach = np.sqrt(2.0 * depth) + depth
    start, end = mode - reach, mode + np.log1p(reach)
    step = np.minimum(_STEP, 0.65 / np.sqrt(mass + 0.31 * logs.shape[1]))
    count = int(np.ceil(((end - start) / step).max())) + 1
    step = (end - start) / (count - 1)
    return start[:, None] + step[:, None] * np.arange(count), step
