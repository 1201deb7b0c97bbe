"""Weighted means of rewards with their errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimates import Estimate


class SlateEstimate(Estimate):
    """A policy's value, estimated from a log.

    Attributes
    ----------
    effective_sample_size : float or None
        (Σ w)² / Σ w²: how many impressions of the target policy itself would say as much.
    largest_weight : float or None
        The largest |w|.
    sigma_squared, rho : float or None
        σ² and ρ of the pseudoinverse estimators (equation 8): the mean of q Γ† q over the log's
        queries, and the largest weight that any page of the logging policy could have.
    bound : float or None
        Theorem 1: with probability 1 - δ the unweighted, unclipped pseudoinverse estimate is no
        further than this from the value, if rewards are sums over slots.
    """

    effective_sample_size: float | None = None
    largest_weight: float | None = None
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
) -> SlateEstimate:
    """Return Σ w r / Σ w; its standard error is that of the ratio's linear part.

    Where a single impression has a weight, its reward is the ratio and says nothing about the
    spread: the interval is infinite.
    """
    n = counts.sum()
    counted = counts * weights
    total = counted.sum()
    value = float(counted @ rewards / total)
    spread = float(counts @ (weights * (rewards - value)) ** 2)
    some = counts[weights != 0].sum() > 1.0
    variance = spread / total**2 * n / (n - 1.0) if some else math.inf
    return _estimate(value, variance, method, n)


def nothing_known(counts: NDArray[np.float64], method: str) -> SlateEstimate:
    """Return 0 with an infinite interval: the log says nothing about the target."""
    return _estimate(0.0, math.inf, f"{method}, nothing known", counts.sum())


def about_weights(weights: NDArray[np.float64], counts: NDArray[np.float64]) -> dict[str, Any]:
    """Return effective sample size and largest weight, as attributes of an estimate."""
    squares = float(counts @ weights**2)
    size = float(counts @ weights) ** 2 / squares if squares > 0 else 0.0
    largest = float(np.abs(weights[counts > 0]).max())
    return {"effective_sample_size": size, "largest_weight": largest}


def _estimate(value: float, variance: float, method: str, n: float) -> SlateEstimate:
    made = SlateEstimate(value, math.sqrt(variance), method=method, n=round(float(n)))
    assert isinstance(made, SlateEstimate)
    return made
