"""Weighted means of rewards with their standard errors and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from ...common import checks
from ...common.typing import Floats
from ..statistics import Z95, Estimate
from .inputs import Inputs

# Below as many effective impressions an estimate says little: its standard error is above a tenth
# of the standard deviation of a single reward, and its interval rests on too few rewards to be
# trusted.
ENOUGH = 100


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
    estimated_propensities : bool
        Whether the logging policy's probabilities were estimated from a log; the method says so.
    """

    effective_sample_size: float
    largest_weight: float
    mean_weight: float
    sigma_squared: float | None = None
    rho: float | None = None
    bound: float | None = None
    estimated_propensities: bool = False

    def interval_within(self, least: float, most: float) -> tuple[float, float]:
        """Return the 95% interval, cut to what rewards can be.

        An infinite one stays infinite, and one that lies outside is infinite: it says nothing.
        """
        if not math.isfinite(self.low) or not math.isfinite(self.high):
            return self.low, self.high
        if self.high < least or self.low > most:
            return -math.inf, math.inf
        return min(max(self.low, least), most), min(max(self.high, least), most)

    def value_within(self, least: float, most: float) -> float:
        """Return the value, cut as its interval is: chance takes estimates outside."""
        return min(max(self.value, least), most)

    def set_attributes(self, **attributes: float | None) -> SlateEstimate:
        """Return this estimate after setting attributes of it."""
        self.__dict__.update(attributes)
        return self


def _no_variance(factors: Floats) -> float:
    return 0.0


@dataclass(frozen=True)
class RowWeights:
    """Weights of a log's rows.

    Attributes
    ----------
    values : (n,)
    method : str
        What an estimate by these weights is called.
    variance_of : function
        The variance of Σ weight · factor that drawn marginals bring, of factors (n,).
    attributes : dict
        What an estimate says about these weights beyond ``summarise_weights``.
    """

    values: Floats
    method: str
    variance_of: Callable[[Floats], float] = _no_variance
    attributes: Mapping[str, float] = field(default_factory=dict)

    def clip(self, limit: float | None) -> RowWeights:
        """Return the weights within ± ``limit``; those that were clipped have no variance."""
        if limit is None:
            return self
        limit = float(checks.finite(limit, "clip", 0))
        if limit <= 0:
            raise ValueError(f"clip must be above 0, not {limit}")
        values = np.clip(self.values, -limit, limit)
        kept = np.abs(values) < limit
        return replace(
            self,
            values=values,
            method=f"{self.method}, clipped at {limit:g}",
            variance_of=lambda factors: self.variance_of(np.where(kept, factors, 0.0)),
        )


def mean_estimate(values: Floats, counts: Floats, method: str, extra: float = 0.0) -> SlateEstimate:
    """Return the mean of ``values`` (n,), each of which stands for ``counts`` (n,) impressions.

    ``extra`` is variance of the mean that the values' spread does not show. A single impression
    says nothing about the spread: its interval is infinite.
    """
    n = counts.sum()
    mean = float(counts @ values / n)
    spread = float(counts @ (values - mean) ** 2)
    variance = spread / (n - 1.0) / n if n > 1.0 else math.inf
    return _from_variance(mean, variance + extra, method, n)


def ratio_estimate(
    weights: Floats,
    rewards: Floats,
    counts: Floats,
    method: str,
    extra: float = 0.0,
    most: float = math.inf,
) -> SlateEstimate:
    """Return Σ w r / Σ w, with its jackknife standard error and a Student-t interval.

    ``extra`` is variance that the jackknife does not show; ``most`` bounds the effective sample
    size from above, where more is known than the weights say.

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
    freedom = min(summarise_weights(weights, counts)["effective_sample_size"], most) - 1.0
    if freedom < 1.0:
        return _from_variance(value, math.inf, method, n)
    moved = weights * (rewards - value) / (total - weights)
    variance = (n - 1.0) / n * float(counts @ moved**2)
    return _from_variance(value, variance + extra, method, n, float(stdtrit(freedom, 0.975)))


def estimate_by_weights(
    inputs: Inputs, weights: RowWeights, clip: float | None, ratio: bool = False
) -> SlateEstimate:
    """Return the mean of weights times rewards; with ``ratio`` divided by the mean weight."""
    weights = weights.clip(clip)
    rows, method = weights.values, weights.method
    counts, rewards = inputs.counts, inputs.rewards
    total = float(counts @ rows)
    if not rows[counts > 0].any() or (ratio and not total > 0):
        nothing = f"{method}, nothing known"  # the log says nothing about the target
        result = _from_variance(0.0, math.inf, nothing, counts.sum())
    elif ratio:
        errors = rewards - float(counts @ (rows * rewards)) / total
        extra = weights.variance_of(counts * errors / total)
        result = ratio_estimate(rows, rewards, counts, f"{method}, ratio", extra)
    else:
        extra = weights.variance_of(counts * rewards / counts.sum())
        result = mean_estimate(rows * rewards, counts, method, extra)
    summary = summarise_weights(rows, counts)
    if math.isfinite(result.stderr) and _lacks_spread(rows, inputs, ratio):
        result = widen_interval(result, rewards[counts > 0], summary["effective_sample_size"])
    return result.set_attributes(**summary, **weights.attributes)


def _lacks_spread(weights: Floats, inputs: Inputs, ratio: bool) -> bool:
    """Whether an estimate looks certain because the rows that it rests on are alike.

    All rewards that have a weight are equal (for a plain mean: 0), although others differ.
    """
    counted = inputs.counts > 0
    rewards = inputs.rewards[counted]
    some = rewards[weights[counted] != 0]
    if not len(some) or np.ptp(rewards) == 0:
        return False
    return bool(np.ptp(some) == 0) if ratio else not some.any()


def widen_interval(result: SlateEstimate, rewards: Floats, size: float) -> SlateEstimate:
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


def summarise_weights(weights: Floats, counts: Floats) -> dict[str, Any]:
    """Return effective sample size, largest and mean weight, as attributes of an estimate."""
    squares = float(counts @ weights**2)
    size = float(counts @ weights) ** 2 / squares if squares > 0 else 0.0
    largest = float(np.abs(weights[counts > 0]).max())
    mean = float(counts @ weights / counts.sum())
    return {"effective_sample_size": size, "largest_weight": largest, "mean_weight": mean}


def _from_variance(
    value: float, variance: float, method: str, n: float, quantile: float = Z95
) -> SlateEstimate:
    stderr = math.sqrt(variance)
    half = quantile * stderr
    return SlateEstimate(value, stderr, value - half, value + half, method, round(float(n)))
