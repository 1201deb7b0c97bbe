"""Estimators that ask a reward model: the direct method, and doubly robust ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...clickmodels import ClickModel
from ...common import checks
from ...policies import Policy
from ...policies.slates.moments import SAMPLES
from .direct import Predict, expected_of_target, fitted_regression, model_predictions, predicted
from .inputs import Inputs
from .pi_weights import PseudoinverseWeights
from .slate_estimates import SlateEstimate, about_weights, mean_of
from .weighted import (
    clipped,
    drawn_variance,
    importance_rows,
    method_of,
    pseudoinverse_rows,
    with_overlap,
)

PAGES = 100  # drawn for each query where a reward model is asked about a stochastic target


def regression_value(
    direct: str,
    inputs: Inputs,
    features: ArrayLike | None = None,
    settings: dict[str, Any] | None = None,
    samples: int = PAGES,
    seed: int = 0,
) -> SlateEstimate:
    """Fit a regression to the first half of a log, ask about the second's queries (equation 3)."""
    inputs = inputs.unfolded()
    first, second = _halves(inputs, seed)
    predict = fitted_regression(direct, inputs.part(first), features, settings)
    return _direct_value(inputs.part(second), predict, direct, samples, seed)


def click_model_value(
    inputs: Inputs,
    model: ClickModel | None = None,
    reward: str | Predict = "clicks",
    samples: int = PAGES,
    seed: int = 0,
) -> SlateEstimate:
    """Ask a click model about the log's queries (equation 3)."""
    if not isinstance(model, ClickModel):
        raise ValueError(f"model must be a fitted click model, not {type(model).__name__}")
    predict = model_predictions(model, reward, inputs)
    return _direct_value(inputs, predict, model.name, samples, seed)


def _direct_value(
    inputs: Inputs, predict: Predict, name: str, samples: int, seed: int
) -> SlateEstimate:
    target, rng = inputs.need_target(), np.random.default_rng((seed, 2))
    values, variance = expected_of_target(predict, target, inputs.queries, samples, rng)
    share = np.bincount(inputs.rows, inputs.counts) / inputs.counts.sum()
    method = _drawn(f"direct method, {name}", target, samples)
    result = mean_of(values[inputs.rows], inputs.counts, method, float(share**2 @ variance))
    return result.saying(**about_weights(np.ones(len(inputs.rows)), inputs.counts))


def _drawn(method: str, target: Policy, samples: int) -> str:
    return method if target.deterministic else f"{method}, {samples} sampled rankings a query"


def _halves(inputs: Inputs, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the rows that count into the first and the second half of the log.

    Random halves where its order says nothing of when: of a folded log, and of one that is sorted
    by query, whose halves would ask different ones.
    """
    rows = np.flatnonzero(inputs.counts > 0)
    if len(rows) < 2:
        raise ValueError("the log has one row: there is no half of it to fit a reward model to")
    query = inputs.log.query
    if inputs.log.weight is not None or (query[:-1] <= query[1:]).all():
        rows = np.random.default_rng((seed, 3)).permutation(rows)
    middle = len(rows) // 2
    return np.sort(rows[:middle]), np.sort(rows[middle:])


def doubly_robust_ips(
    inputs: Inputs,
    clip: float | None = None,
    direct: Any = "tree",
    reward: str | Predict = "clicks",
    predictions: ArrayLike | None = None,
    features: ArrayLike | None = None,
    settings: dict[str, Any] | None = None,
    samples: int = PAGES,
    seed: int = 0,
) -> SlateEstimate:
    """Return what a reward model expects, mended by importance weights."""
    inputs = inputs if isinstance(direct, ClickModel) else inputs.unfolded()
    weights, method = clipped(importance_rows(inputs, seed), clip, "doubly robust IPS")
    parts = _predictors(inputs, direct, reward, features, settings, seed)
    means, errors, drawn = _asked(inputs, parts, _known(predictions, direct, inputs), samples, seed)
    return _mended(inputs, weights, means, errors, drawn, _method(method, direct, inputs, samples))


def doubly_robust_pi(
    inputs: Inputs,
    clip: float | None = None,
    weights: PseudoinverseWeights | None = None,
    direct: Any = "tree",
    reward: str | Predict = "clicks",
    predictions: ArrayLike | None = None,
    features: ArrayLike | None = None,
    settings: dict[str, Any] | None = None,
    samples: int = PAGES,
    seed: int = 0,
) -> SlateEstimate:
    """Return what a reward model expects, mended by pseudoinverse weights."""
    inputs = inputs if isinstance(direct, ClickModel) else inputs.unfolded()
    tables, rows = pseudoinverse_rows(inputs, weights, SAMPLES, seed)
    rows, method = clipped(rows, clip, method_of("doubly robust PI", tables))
    parts = _predictors(inputs, direct, reward, features, settings, seed)
    means, errors, drawn = _asked(inputs, parts, _known(predictions, direct, inputs), samples, seed)
    factors = inputs.counts * errors / inputs.counts.sum()
    drawn += drawn_variance(inputs, tables, factors, rows, clip)
    method = _method(method, direct, inputs, samples)
    return with_overlap(_mended(inputs, rows, means, errors, drawn, method), inputs, tables)


def _method(method: str, direct: Any, inputs: Inputs, samples: int) -> str:
    name = direct if isinstance(direct, str) else getattr(direct, "name", type(direct).__name__)
    return _drawn(f"{method}, {name}", inputs.need_target(), samples)


def _known(
    predictions: ArrayLike | None, direct: Any, inputs: Inputs
) -> NDArray[np.float64] | None:
    """Return the given predictions of the log's rows, (n,), checked; None where there are none."""
    if predictions is None:
        return None
    if not isinstance(direct, ClickModel):
        raise ValueError("predictions are a click model's: regressions are fitted to the log first")
    values = checks.finite(predictions, "predictions", 1)
    checks.same_shape(values, inputs.rewards.shape, "predictions", "the log")
    return values


def _predictors(
    inputs: Inputs,
    direct: Any,
    reward: str | Predict,
    features: ArrayLike | None,
    settings: dict[str, Any] | None,
    seed: int,
) -> list[tuple[NDArray[np.int64], Predict]]:
    """Return parts of the log's rows, each with a reward model that was not fitted to it.

    A regression that is fitted to one half predicts the other, and the other way round.
    """
    if isinstance(direct, ClickModel):
        if features is not None or settings:
            raise ValueError("features and settings are a regression's; direct is a click model")
        return [(np.arange(len(inputs.rows)), model_predictions(direct, reward, inputs))]
    if reward != "clicks":
        raise ValueError("reward is what a click model predicts; direct is a regression")
    first, second = _halves(inputs, seed)
    return [
        (asked, fitted_regression(direct, inputs.part(seen), features, settings))
        for seen, asked in ((first, second), (second, first))
    ]


def _asked(
    inputs: Inputs,
    parts: list[tuple[NDArray[np.int64], Predict]],
    known: NDArray[np.float64] | None,
    samples: int,
    seed: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return what is expected for each row and the error of its prediction, (n,) each.

    And the variance of the mean that drawing the target's pages brings.
    """
    target, rng = inputs.need_target(), np.random.default_rng((seed, 2))
    means, errors = np.zeros(len(inputs.rows)), np.zeros(len(inputs.rows))
    drawn = 0.0
    for rows, predict in parts:
        part = inputs.part(rows)
        expected, variance = expected_of_target(predict, target, part.queries, samples, rng)
        found = predicted(predict, part.log.query, part.log.ranking) if known is None else known
        means[rows], errors[rows] = expected[part.rows], part.rewards - found
        share = np.bincount(part.rows, part.counts) / inputs.counts.sum()
        drawn += float(share**2 @ variance)
    return means, errors, drawn


def _mended(
    inputs: Inputs,
    weights: NDArray[np.float64],
    means: NDArray[np.float64],
    errors: NDArray[np.float64],
    drawn: float,
    method: str,
) -> SlateEstimate:
    """Return the mean of what is expected plus the weighted errors of what was predicted.

    Where all weights are zero the log says nothing about those errors: what the model expects, with
    an infinite interval.
    """
    if not weights[inputs.counts > 0].any():
        method, drawn = f"{method}, the model alone: nothing known of its errors", math.inf
    result = mean_of(means + weights * errors, inputs.counts, method, drawn)
    return result.saying(**about_weights(weights, inputs.counts))
