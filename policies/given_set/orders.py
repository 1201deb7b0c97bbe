"""Orders of a Plackett-Luce page, drawn given which documents are on it."""

from __future__ import annotations

import numpy as np

from ...common.typing import Floats, Integers
from .race import find_tangent, log_arrivals

_HIGHEST, _FLAT = 700.0, -50.0


def draw_orders(logs: Floats, log_rest: Floats, rng: np.random.Generator) -> Integers:
    """Draw an order of each page's documents given its set, (n, k): places in ``logs``.

    ``logs`` (n, k) are log-weights, -inf for none, which come last; ``log_rest`` (n,) that of all
    other candidates. Given the time τ of the first other arrival, the documents arrive at
    independent times T < τ: exact, and O(k log k) a page.
    """
    some = log_rest > -np.inf
    log_time = np.full(len(logs), np.inf)
    log_time[some] = draw_times(logs[some], log_rest[some], rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.maximum(logs + np.where(some, log_time, 0.0)[:, None], _FLAT)
        within = -np.expm1(-np.exp(np.minimum(scaled, _HIGHEST)))  # P(T < τ)
        within[~some] = 1.0
        scaled[~some] = logs[~some]
        arrival = np.log(-np.log1p(-rng.random(logs.shape) * within)) - scaled  # log T / τ
    return np.argsort(np.where(logs > -np.inf, arrival, np.inf), axis=1)


def draw_times(logs: Floats, log_rest: Floats, rng: np.random.Generator) -> Floats:
    """Draw log τ of each page, (n,), by rejection.

    The logarithm of Π (1 - exp(-w τ)) is concave in log τ, so a tangent with slope C lies above it:
    the density of τ is below a multiple of that of a Gamma distribution with shape 1 + C and rate
    W. The tangent touches near the mode, and most proposals are taken.
    """
    place, slope, height = find_tangent(logs, log_rest)
    log_time = np.empty(len(logs))
    rows = np.arange(len(logs))
    while len(rows):
        tried = np.log(rng.standard_gamma(1.0 + slope[rows])) - log_rest[rows]
        bound = height[rows] + slope[rows] * (tried - place[rows])
        reached = log_arrivals(logs[rows], tried)
        taken = np.log(rng.random(len(rows))) <= reached - bound
        log_time[rows[taken]] = tried[taken]
        rows = rows[~taken]
    return log_time
