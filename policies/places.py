"""Distributions over the places of a block: -1 = not shown, 0 .. K = so many results above it.

A table of log-probabilities has a column per place, (n, K + 2), the first for "not shown".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..common import checks
from ..common.typing import Floats, Integers

Place = Callable[[Integers, Integers, np.random.Generator], tuple[Integers, Floats]]
_ROUNDS = 500  # draws per page that find the distribution of a policy which only draws
_MISSING = 1e-9  # probability that may be missing from a distribution by rounding


def not_shown(n: int) -> tuple[Integers, Floats]:
    """Return the places of n pages without a block, and their log-probabilities, (n,) each."""
    return np.full(n, -1, dtype=np.int64), np.zeros(n)


def never_shown(n: int, slots: int) -> Floats:
    """Return the log-probabilities of n pages that never have a block, (n, K + 2)."""
    result = np.full((n, slots + 2), -np.inf)
    result[:, 0] = 0.0
    return result


def page_lengths(ranking: Integers) -> Integers:
    """Return how many results each page has, (n,)."""
    return np.count_nonzero(np.asarray(ranking) >= 0, axis=1)


def cut_to_pages(log_probs: Floats, lengths: Integers) -> Floats:
    """Return log-probabilities (n, K + 2) in which a place beyond the page's end is "not shown"."""
    slots = log_probs.shape[1] - 2
    if (lengths >= slots).all():
        return log_probs
    beyond = np.arange(-1, slots + 1) > lengths[:, None]
    hidden = beyond.copy()
    hidden[:, 0] = True
    result = np.where(beyond, -np.inf, log_probs)
    result[:, 0] = np.logaddexp.reduce(np.where(hidden, log_probs, -np.inf), axis=1)
    return result


def draw_columns(log_probs: Floats, rng: np.random.Generator) -> tuple[Integers, Floats]:
    """Draw a place for each row of ``log_probs`` (n, K + 2); return it and its log-probability."""
    probs = np.exp(log_probs)
    ends = np.cumsum(probs, axis=1)
    uniform = rng.random(len(probs)) * ends[:, -1]
    column = (uniform[:, None] >= ends[:, :-1]).sum(axis=1)
    return column - 1, np.take_along_axis(log_probs, column[:, None], axis=1)[:, 0]


def check_drawn(
    name: str, drawn: tuple[Integers, Floats], n: int, slots: int
) -> tuple[Integers, Floats]:
    """Return what ``place`` of the policy ``name`` gave, after checking it."""
    if not isinstance(drawn, tuple) or len(drawn) != 2:
        raise ValueError(
            f"{name}.place() must return two arrays, positions and their log-probabilities, not a "
            f"{type(drawn).__name__} of {len(drawn)}"
        )
    position, log_prob = drawn
    places = checks.integers(position, f"the position that {name}.place() returns", 1)
    chance = np.asarray(log_prob, dtype=np.float64)
    checks.same_shape(places, (n,), f"the position that {name}.place() returns", "query")
    checks.same_shape(chance, (n,), f"the log_prob that {name}.place() returns", "query")
    wrong = (places < -1) | (places > slots)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"{name}.place() returns position {places[row]} for row {row}, but a block stands at 0 "
            f"to {slots}, or nowhere (-1)"
        )
    if not (chance <= _MISSING).all():
        row = int((~(chance <= _MISSING)).argmax())
        raise ValueError(f"{name}.place() returns log_prob {chance[row]} for row {row}")
    return places.astype(np.int64, copy=False), chance


def find_by_drawing(name: str, place: Place, query: Integers, ranking: Integers) -> Floats:
    """Return the log-probabilities (n, K + 2) of a policy that only draws its places.

    Each draw tells one place and its probability, so drawing until they sum to one finds all.
    """
    n, slots = ranking.shape
    result = np.full((n, slots + 2), -np.inf)
    rng, open_rows = np.random.default_rng(0), np.arange(n)
    for _ in range(_ROUNDS):
        if not len(open_rows):
            break
        drawn = place(query[open_rows], ranking[open_rows], rng)
        position, log_prob = check_drawn(name, drawn, len(open_rows), slots)
        result[open_rows, position + 1] = log_prob
        found = np.exp(result[open_rows]).sum(axis=1)
        open_rows = open_rows[found < 1.0 - _MISSING]
    if len(open_rows):
        row = int(open_rows[0])
        raise NotImplementedError(
            f"{name} defines place(), whose probabilities sum to {np.exp(result[row]).sum():.6g} "
            f"after {_ROUNDS} draws for query {query[row]}: exact values and estimators need "
            "place_log_probs() as well"
        )
    return result
