"""Learning the card's calibration from simulated deployments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls

from ...common.typing import Floats, Integers
from ...evaluation.deployment.calibration import CONFIDENCE, Calibration, Group
from ...evaluation.deployment.traits import CENTRE, PROMISE, SPREAD

FOLDS = 10
GROUPS = (0.05, 0.3, 1.0)  # shares of what is shown that the log hardly showed
_PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0)  # as many policies, on coefficients
_TAILS = (0.05, 0.045, 0.04, 0.035, 0.03, 0.025, 0.02)  # of errors, beyond either end
_LEAST_SPREAD = 0.005
_ROBUST = 1.5  # errors beyond so many times their mean size pull no harder


def calibrate(
    traits: Sequence[Mapping[str, float]],
    lifts: Floats,
    log: Integers,
    made: Mapping[str, Any] | None = None,
) -> Calibration:
    """Return the calibration of policies (n,) with these traits.

    Parameters
    ----------
    lifts : (n,)
        The relative lift, deployed / logged clicks per page - 1, which is to be predicted.
    log : (n,)
        Which log each policy followed: those of one log are left out together, so that errors are
        those of logs that were not learned from.
    """
    centre = np.array([[one[name] for name in CENTRE] for one in traits])
    spread = np.array([[one[name] for name in SPREAD] for one in traits])
    hardly = np.array([one["hardly"] for one in traits])
    fold = _deal(log)
    penalty = min(
        _PENALTIES, key=lambda one: float(np.abs(_left_out(centre, lifts, fold, one)).mean())
    )
    residual = _left_out(centre, lifts, fold, penalty)
    size = np.zeros(len(lifts))
    for number in range(FOLDS):
        out = fold == number
        size[out] = _sizes(spread[out], _fit_spread(spread[~out], residual[~out]))
    scaled = residual / size
    enough = (one for one in _TAILS if _cover(scaled, hardly, fold, one) >= CONFIDENCE)
    tail = next(enough, _TAILS[-1])
    names = dict.fromkeys((*CENTRE, *SPREAD))
    every = {name: np.array([one[name] for one in traits]) for name in names}
    return Calibration(
        dict(zip(CENTRE, _fit_centre(centre, lifts, penalty).tolist(), strict=True)),
        dict(zip(("constant", *SPREAD), _fit_spread(spread, residual).tolist(), strict=True)),
        _group(scaled, hardly, tail),
        {name: (float(values.min()), float(values.max())) for name, values in every.items()},
        {"policies": len(lifts), "logs": len(np.unique(log)), "penalty": penalty,
         "tail": tail, **(made or {})},
    )


def _deal(log: Integers) -> Integers:
    """Return a fold for each policy, (n,): those of one log are together."""
    return np.unique(log, return_inverse=True)[1] % FOLDS


def _left_out(values: Floats, lifts: Floats, fold: Integers, penalty: float) -> Floats:
    """Return the errors of each fold's lifts when the others predict them, (n,)."""
    result = np.zeros(len(lifts))
    for number in range(FOLDS):
        out = fold == number
        if out.any() and not out.all():
            fitted = _fit_centre(values[~out], lifts[~out], penalty)
            result[out] = lifts[out] - values[out] @ fitted
    return result


def _fit_centre(values: Floats, lifts: Floats, penalty: float) -> Floats:
    """Return the coefficients of a ridge regression that outliers do not pull, (p,).

    There is no constant: what is neither promised nor unsupported has no lift. The
    promise is taken at its word, and corrected: the penalty is on coefficients of values with mean
    square 1, that of the promise counted from 1.
    """
    scale = np.maximum(np.sqrt((values**2).mean(axis=0)), 1e-9)
    scaled = values / scale
    word = np.array([name == PROMISE for name in CENTRE], dtype=float)
    beyond = lifts - values @ word
    weight = np.ones(len(lifts))
    for _ in range(10):
        gram = scaled.T @ (weight[:, None] * scaled) + penalty * np.eye(scaled.shape[1])
        solved = np.linalg.solve(gram, scaled.T @ (weight * beyond))
        left = np.abs(beyond - scaled @ solved)
        weight = np.minimum(1.0, _ROBUST * left.mean() / np.maximum(left, 1e-12))
    return np.asarray(word + solved / scale)


def _fit_spread(values: Floats, residual: Floats) -> Floats:
    """Return constant and coefficients of the errors' size, none below 0, (1 + p,)."""
    design = np.column_stack([np.ones(len(values)), values])
    goal = np.abs(residual)
    weight = np.ones(len(goal))
    for _ in range(5):  # large errors vary more
        fitted, _ = nnls(design * weight[:, None], goal * weight)
        weight = 1.0 / np.maximum(design @ fitted, goal.mean() / 10.0)
    fitted[0] = max(fitted[0], _LEAST_SPREAD)
    return fitted


def _sizes(values: Floats, fitted: Floats) -> Floats:
    return np.asarray(fitted[0] + values @ fitted[1:])


def _group(scaled: Floats, hardly: Floats, tail: float) -> tuple[Group, ...]:
    """Return the quantiles of standardised errors, by how much was hardly shown.

    Of n errors, the one of rank (n + 1) × ``tail`` from either end.
    """
    groups, before = [], -1.0
    for most in GROUPS:
        own = np.sort(scaled[(hardly > before) & (hardly <= most)])
        own = own if len(own) >= 1.0 / tail else np.sort(scaled)
        place = max(int((len(own) + 1) * tail) - 1, 0)
        groups.append(Group(most, float(own[place]), float(own[-1 - place]), len(own)))
        before = most
    return tuple(groups)


def _cover(scaled: Floats, hardly: Floats, fold: Integers, tail: float) -> float:
    """Return the share of errors that lie between the ends which the other folds give.

    Policies of one log err alike, so that of new logs fewer are covered than of policies.
    """
    inside = np.zeros(len(scaled), dtype=bool)
    for number in np.unique(fold):
        out = fold == number
        if out.all():
            return 0.0
        groups = _group(scaled[~out], hardly[~out], tail)
        place = np.searchsorted(GROUPS, hardly[out])
        low, high = (np.array([getattr(one, end) for one in groups]) for end in ("low", "high"))
        inside[out] = (low[place] <= scaled[out]) & (scaled[out] <= high[place])
    return float(inside.mean())
