"""Whether a metric of ratings predicts click-through rates: lines through systems, and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...common.typing import Floats
from ..statistics import Interval, make_interval
from .click_rates import rate_as
from .system_scores import SystemScores, percentiles


class Line(NamedTuple):
    """The line of least squares from a metric to a rate, over S systems.

    Attributes
    ----------
    slope, intercept : (...)
    residuals : (..., S)
        Observed minus predicted rate: below 0 where the metric promises too much.
    error : (...)
        The residual standard error: the root of their squares' sum over S - 2.
    relative : (...)
        The error over the standard deviation of the rates (S - 1): what the metric does not explain
        of what differs between systems at all. Rates under users who click little have small
        errors because they are small; this one compares users.
    """

    slope: Floats
    intercept: Floats
    residuals: Floats
    error: Floats
    relative: Floats


def fit_line(metric: ArrayLike, rate: ArrayLike) -> Line:
    """Fit the line from the metrics (..., S) to the rates (..., S) of S systems, at least three.

    A metric that is the same for all systems predicts nothing: slope and all else are NaN.
    """
    x, y = np.asarray(metric, dtype=np.float64), np.asarray(rate, dtype=np.float64)
    number = x.shape[-1] if x.ndim else 0
    if x.shape != y.shape or number < 3:
        raise ValueError(
            f"a line needs the metric and the rate of at least three systems, not {x.shape} and "
            f"{y.shape}"
        )
    middle_x, middle_y = x.mean(axis=-1, keepdims=True), y.mean(axis=-1, keepdims=True)
    off_x, off_y = x - middle_x, y - middle_y
    spread_x, spread_y = (off_x**2).sum(axis=-1), (off_y**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(spread_x > 0, (off_x * off_y).sum(axis=-1) / spread_x, np.nan)
        residuals = off_y - slope[..., None] * off_x
        error = np.sqrt((residuals**2).sum(axis=-1) / (number - 2))
        relative = np.where(spread_y > 0, error / np.sqrt(spread_y / (number - 1)), np.nan)
    intercept = middle_y[..., 0] - slope * middle_x[..., 0]
    return Line(slope, intercept, residuals, error, relative)


def kendall_tau(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return Kendall's tau-b of two scorings (..., S) of S systems: 1 the same order, -1 reversed.

    As ``scipy.stats.kendalltau``, for many scorings at a time; NaN where one has only ties.
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    one, other = np.triu_indices(x.shape[-1], 1)
    sign_x = np.sign(x[..., one] - x[..., other])
    sign_y = np.sign(y[..., one] - y[..., other])
    untied = (sign_x**2).sum(axis=-1) * (sign_y**2).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(untied > 0, (sign_x * sign_y).sum(axis=-1) / np.sqrt(untied), np.nan)


@dataclass(frozen=True, eq=False)
class Prediction:
    """How well one metric of ratings predicts one click-through rate.

    Attributes
    ----------
    metric, rate : str
        Names of measures.
    systems : S names
    line : Line
    excess : (S,)
        Metric minus rate: how much the metric itself over-estimates the rate, without a line.
    error, relative : Interval
        Of the line, over resampled users.
    tau : Interval
        Kendall's tau between the two rankings of the systems.
    """

    metric: str
    rate: str
    systems: tuple[str, ...]
    line: Line
    excess: Floats
    error: Interval
    relative: Interval
    tau: Interval


def predict_rates(
    scores: SystemScores,
    metrics: Sequence[str],
    rates: Sequence[str],
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    form: str = "slots",
) -> list[Prediction]:
    """Return for each metric and each rate how well the first predicts the second.

    Parameters are those of ``predict_pairs``, but for the names of measures.
    """
    pairs = [(metric, rate) for metric in metrics for rate in rates]
    return predict_pairs(scores, pairs, resamples, seed, confidence, form)


def predict_pairs(
    scores: SystemScores,
    pairs: Sequence[tuple[str, str]],
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    form: str = "slots",
) -> list[Prediction]:
    """Return for each pair of a metric and a rate how well the first predicts the second.

    Parameters
    ----------
    scores : SystemScores
        Of at least three systems; the paper's five leave three degrees of freedom.
    pairs : sequence of two measures each
    resamples, seed, confidence
        Of the bootstrap over users. An interval says how much the users matter; systems are few and
        are not resampled. Errors of resampled users are larger on average, because noise adds to
        them: the estimate can lie below its interval.
    form : str
        How rates count clicks: "slots" or "odds", see ``rate_as``.
    """
    means, drawn = scores.means(), scores.resample(resamples, seed)
    n_users = len(scores.weight)

    def bounded(value: Floats, values: Floats) -> Interval:
        if np.isnan(value) or np.isnan(values).all():
            return make_interval(float(value), float("nan"), float("nan"), n_users)
        low, high = percentiles(values, confidence)
        return make_interval(float(value), float(low), float(high), n_users)

    result = []
    for metric, rate in pairs:
        x, many_x = means[:, scores.place(metric)], drawn[..., scores.place(metric)]
        y = rate_as(form, means[:, scores.place(rate)])
        many_y = rate_as(form, drawn[..., scores.place(rate)])
        line, lines = fit_line(x, y), fit_line(many_x, many_y)
        result.append(Prediction(
            metric, rate, scores.systems, line, x - y,
            bounded(line.error, lines.error), bounded(line.relative, lines.relative),
            bounded(kendall_tau(x, y), kendall_tau(many_x, many_y)),
        ))  # fmt: skip
    return result
