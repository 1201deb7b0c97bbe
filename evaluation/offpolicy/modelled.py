"""Estimators that ask a reward model: the direct method, and doubly robust ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...clickmodels import ClickModel
from ...policies import Policy
from ...policies.marginals import SAMPLES
from .direct import Predict, expected_of_target, fitted_regression, model_predictions, predicted
from .inputs import Inputs
from .pi_weights import PseudoinverseWeights
from .results import SlateEstimate, about_weights, mean_of
from .weighted import clipped, importance_rows, method_of, pseudoinverse_rows, with_overlap

PAGES = 100  # drawn for each query where a reward model is asked about a stochastic target


def regression_value(
    direct: str,
    inputs: Inputs,
    features: ArrayLike | None = None,
    settings: dict[str, Any] | None = None,
    samples: int = PAGES,
    seed: int = 0,
) -> SlateEstimate:
    """Fit a regression to one half of the log and ask about the other's queries (equation 3)."""
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
    return mean_of(values[inputs.rows], inputs.counts, method, float(share**2 @ variance))


def _drawn(method: str, target: Policy, samples: int) -> str:
    return method if target.deterministic else f"{method}, {samples} sampled rankings a query"


def _halves(inputs: Inputs, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the rows that count at random into two parts of equal size."""
    rows = np.flatnonzero(inputs.counts > 0)
    if len(rows) < 2:
        raise ValueError("the log has one row: there is no half of it to fit a reward model to")
    order = np.random.default_rng((seed, 3)).permutation(rows)
    middle = len(order) // 2
    return np.sort(order[:middle]), np.sort(order[middle:])


def doubly_robust_ips(
    inputs: Inputs,
    clip: float | None = None,
    direct: Any = "tree",
    reward: str | Predict = "clicks",
    features: ArrayLike | None = None,
    settings: dict[str, Any] | None = None,
    samples: int = PAGES,
    seed: int = 0,
) -> SlateEstimate:
    """Return what a reward model expects, mended by importance weights."""
    inputs = inputs if isinstance(direct, ClickModel) else inputs.unfolded()
    weights, method = clipped(importance_rows(inputs, seed), clip, "doubly robust IPS")
    parts = _predictors(inputs, direct, reward, features, settings, seed)
    return _mended(inputs, weights, parts, f"{method}, {_label(direct)}", samples, seed)


def doubly_robust_pi(
    inputs: Inputs,
    clip: float | None = None,
    weights: PseudoinverseWeights | None = None,
    direct: Any = "tree",
    reward: str | Predict = "clicks",
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
    result = _mended(inputs, rows, parts, f"{method}, {_label(direct)}", samples, seed)
    return with_overlap(result, inputs, tables)


def _label(direct: Any) -> str:
    return direct if isinstance(direct, str) else getattr(direct, "name", type(direct).__name__)


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
        return [(np.arange(len(inputs.rows)), model_predictions(direct, reward, inputs))]
    first, second = _halves(inputs, seed)
    return [
        (asked, fitted_regression(direct, inputs.part(seen), features, settings))
        for seen, asked in ((first, second), (second, first))
    ]


def _mended(
    inputs: Inputs,
    weights: NDArray[np.float64],
    parts: list[tuple[NDArray[np.int64], Predict]],
    method: str,
    samples: int,
    seed: int,
) -> SlateEstimate:
    """Return the mean of what is expected plus the weighted errors of what was predicted.

    Where all weights are zero the log says nothing about those errors: what the model expects, with
    an infinite interval.
    """
    target, rng = inputs.need_target(), np.random.default_rng((seed, 2))
    terms = np.zeros(len(weights))
    drawn = 0.0
    for rows, predict in parts:
        part = inputs.part(rows)
        expected, variance = expected_of_target(predict, target, part.queries, samples, rng)
        known = predicted(predict, part.log.query, part.log.ranking)
        terms[rows] = expected[part.rows] + weights[rows] * (part.rewards - known)
        share = np.bincount(part.rows, part.counts) / inputs.counts.sum()
        drawn += float(share**2 @ variance)
    method = _drawn(method, target, samples)
    if not weights[inputs.counts > 0].any():
        method, drawn = f"{method}, the model alone: nothing known of its errors", math.inf
    result = mean_of(terms, inputs.counts, method, drawn)
    return result.saying(**about_weights(weights, inputs.counts))
