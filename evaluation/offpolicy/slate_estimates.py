"""Weighted means of rewards with their errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ..statistics import Z95, Estimate


class SlateEstimate(Estimate):
    """A policy's value, estimated from a log.

    Attributes
    ----------
    effective_sample_size : float
        (Σ w)² / Σ w²: how many impressions of the target policy itself would say as much. Direct
        methods weight all impressions alike: it is their number, and says nothing of the reward
        model.
    largest_weight, mean_weight : float
        The largest |w|; the mean of w, which is 1 but for chance and clipping. It is far off where
        the log is not the logging policy's, and where it hardly ever shows what the target does.
    sigma_squared, rho : float or None
        σ² and ρ of the pseudoinverse estimators (equation 8): the mean of q Γ† q over the log's
        queries, and the largest weight that any page of the logging policy could have.
    bound : float or None
        Theorem 1: with probability 1 - δ the unweighted, unclipped pseudoinverse estimate is no
        further than this from the value, if rewards are sums over slots. None where the target
        shows what the logging policy does not, and where marginals are sampled. σ² and ρ are those
        of the log's queries.
    """

    effective_sample_size: float
    largest_weight: float
    mean_weight: float
    sigma_squared: float | None = None
    rho: float | None = None
    bound: float | None = None

    def saying(self, **attributes: float | None) -> SlateEstimate:
        """Return this estimate after setting attributes of it."""
        self.__dict__.update(attributes)
        return self


def mean_of(
    values: NDArray[np.float64], counts: NDArray[np.float64], method: str, extra: float = 0.0
) -> SlateEstimate:
    """Return the mean of ``values`` (n,), each of which stands for ``counts`` (n,) impressions.

    ``extra`` is variance of the mean that the values' spread does not show. A single impression
    says nothing about the spread: its interval is infinite.
    """
    n = counts.sum()
    mean = float(counts @ values / n)
    spread = float(counts @ (values - mean) ** 2)
    variance = spread / (n - 1.0) / n if n > 1.0 else math.inf
    return _estimate(mean, variance + extra, method, n)


def ratio_of(
    weights: NDArray[np.float64],
    rewards: NDArray[np.float64],
    counts: NDArray[np.float64],
    method: str,
    extra: float = 0.0,
) -> SlateEstimate:
    """Return Σ w r / Σ w, with its jackknife standard error and a Student-t interval.

    ``extra`` is variance that the jackknife does not show.

    Leaving row i out moves the ratio by w_i (r_i - ratio) / (Σ w - w_i). The interval has as many
    degrees of freedom as the effective sample size has beyond one; below two effective impressions
    (a single one has nearly all the weight, or weights of both signs cancel) nothing is known of
    the spread, and it is infinite.
    """
    counted = counts > 0
    weights, rewards, counts = weights[counted], rewards[counted], counts[counted]
    n = counts.sum()
    total = float(counts @ weights)
    value = float(counts @ (weights * rewards)) / total
    freedom = about_weights(weights, counts)["effective_sample_size"] - 1.0
    if freedom < 1.0:
        return _estimate(value, math.inf, method, n)
    moved = weights * (rewards - value) / (total - weights)
    variance = (n - 1.0) / n * float(counts @ moved**2)
    return _estimate(value, variance + extra, method, n, float(stdtrit(freedom, 0.975)))


def nothing_known(counts: NDArray[np.float64], method: str) -> SlateEstimate:
    """Return 0 with an infinite interval: the log says nothing about the target."""
    return _estimate(0.0, math.inf, f"{method}, nothing known", counts.sum())


def without_spread(
    result: SlateEstimate, rewards: NDArray[np.float64], size: float
) -> SlateEstimate:
    """Return an estimate whose rewards were all alike, with an interval all the same.

    Of ``size`` effective impressions none had another reward. With a chance of 1 - 0.05^(1/size)
    for one each, that would happen to one log in twenty; it would then be anything between the
    lowest and the highest of the log's ``rewards`` (n,).
    """
    value, chance = float(result), 1.0 - 0.05 ** (1.0 / size)
    low = value - chance * max(value - float(rewards.min()), 0.0)
    high = value + chance * max(float(rewards.max()) - value, 0.0)
    stderr = max(value - low, high - value) / Z95
    return SlateEstimate(value, stderr, low, high, f"{result.method}, no spread seen", result.n)


def about_weights(weights: NDArray[np.float64], counts: NDArray[np.float64]) -> dict[str, Any]:
    """Return effective sample size, largest and mean weight, as attributes of an estimate."""
    squares = float(counts @ weights**2)
    size = float(counts @ weights) ** 2 / squares if squares > 0 else 0.0
    largest = float(np.abs(weights[counts > 0]).max())
    mean = float(counts @ weights / counts.sum())
    return {"effective_sample_size": size, "largest_weight": largest, "mean_weight": mean}


def _estimate(
    value: float, variance: float, method: str, n: float, quantile: float = Z95
) -> SlateEstimate:
    stderr = math.sqrt(variance)
    half = quantile * stderr
    return SlateEstimate(value, stderr, value - half, value + half, method, round(float(n)))
