"""Maximising a function of expected exposures over the logits of Plackett-Luce policies."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ...common.progress import progress
from ...common.typing import Floats, Integers
from .exposure import expose, exposure_blocks

_FIRST, _LONGEST, _SHORTEST = 0.2, 2.0, 1e-3  # steps of logits
_FASTER, _SLOWER = 1.2, 0.5
_PATIENCE = 15  # steps without progress
_NOTHING = 1e-12  # of the steepest slope: rounding


class Objective(Protocol):
    """What is maximised: a sum over queries, each of a function of its exposures."""

    def evaluate(self, rows: Integers, exposure: Floats) -> tuple[Floats, Floats]:
        """Return the values (n,) of queries ``rows`` and their slopes by exposure, (n, N)."""
        ...


def climb(
    objective: Objective,
    logits: Floats,
    examination: Floats,
    enough: float,
    steps: int,
    lowest: float = -600.0,
) -> Floats:
    """Return the best logits (A, N) on the way up from ``logits``, for every query by itself.

    Parameters
    ----------
    objective : Objective
    logits : (A, N)
        -inf = not a candidate.
    examination : (K,)
    enough : float
        A query that gains no more than this in 15 steps has arrived.
    steps : int
        At most.
    lowest : float
        Of a logit, below the query's largest.

    Notes
    -----
    Exact gradients and steps by their signs alone (Rprop; Riedmiller and Braun 1993): a logit's
    step grows while its slope keeps its sign and shrinks when it turns. So neither the frequency
    of a query nor how small a document's probability still is slows it down, and nothing is drawn.
    """
    best = logits.copy()
    slots = len(examination)
    with progress(len(logits), "safe policy") as advance:
        for rows in exposure_blocks(logits, slots):
            _climb_block(objective, rows, best, examination, enough, steps, lowest)
            advance(len(rows))
    return best


def _climb_block(
    objective: Objective, rows: Integers, best: Floats, examination: Floats,
    enough: float, steps: int, lowest: float,
) -> None:  # fmt: skip
    """Climb from ``best`` (A, N) in its ``rows``, and leave the best logits there."""
    here = best[rows]
    step, last = np.full(here.shape, _FIRST), np.zeros(here.shape)
    value, waited = np.full(len(rows), -np.inf), np.zeros(len(rows), dtype=np.int64)
    for _ in range(steps + 1):
        exposure, pull_back = expose(here, examination)
        found, slopes = objective.evaluate(rows, exposure)
        better = found > value
        best[rows[better]] = here[better]
        waited = np.where(found > value + enough, 0, waited + 1)
        value = np.maximum(value, found)
        gradient = pull_back(slopes)
        gradient[np.abs(gradient) <= _NOTHING * np.abs(slopes).max(axis=1, keepdims=True)] = 0.0
        sign = np.where(np.isfinite(here), np.sign(gradient), 0.0)
        turned = sign * last
        step *= np.where(turned > 0, _FASTER, np.where(turned < 0, _SLOWER, 1.0))
        np.clip(step, _SHORTEST, _LONGEST, out=step)
        sign[turned < 0] = 0.0
        here = here + sign * step
        here -= here.max(axis=1, keepdims=True)
        here = np.where(np.isfinite(here), np.maximum(here, lowest), -np.inf)
        going = (waited < _PATIENCE) & ((turned < 0) | (sign != 0)).any(axis=1)
        if not going.any():
            return
        rows, here, step, last = rows[going], here[going], step[going], sign[going]
        value, waited = value[going], waited[going]
