"""Numbers that know how sure they are: estimates, intervals over seeds, tests and marks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from ..common import checks
from ..common.typing import Floats

Z90, Z95 = 1.6448536269514722, 1.959963984540054  # normal quantiles for 90% and 95% intervals
BOLD, EQUAL, DAGGER = "bold", "=", "†"


class Estimate(float):
    """A number with its standard error: computes and prints as a float.

    Attributes
    ----------
    value : float
    stderr : float
        0 where nothing was sampled.
    low, high : float
        Bounds of the 95% interval, value ± 1.96 stderr unless given.
    method : str
        How it was found: "exact", "sampled rankings", ...
    n : int
        How many pages it comes from.
    """

    stderr: float
    low: float
    high: float
    method: str
    n: int

    def __new__(
        cls,
        value: float,
        stderr: float = 0.0,
        low: float | None = None,
        high: float | None = None,
        method: str | None = None,
        n: int = 0,
    ) -> Self:
        """Make an estimate; the interval follows from the standard error unless it is given."""
        estimate = super().__new__(cls, value)
        estimate.stderr = float(stderr)
        estimate.low = float(value) - Z95 * estimate.stderr if low is None else float(low)
        estimate.high = float(value) + Z95 * estimate.stderr if high is None else float(high)
        estimate.method = method or ("sampled" if stderr else "exact")
        estimate.n = int(n)
        return estimate

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.value, self.stderr, self.low, self.high, self.method, self.n

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        error = f" ± {self.stderr:.2g}" if self.stderr else ""
        return f"Estimate({self.value:.6g}{error}, {self.method})"


class Interval(NamedTuple):
    """A mean, or another estimate, and the bounds of its confidence interval.

    Attributes
    ----------
    mean, low, high : float
    half_width : float
        Half of ``high - low``; the mean is in the middle for Student-t intervals only.
    n : int
        How many values (seeds), or resampled pages, it comes from.
    """

    mean: float
    low: float
    high: float
    half_width: float
    n: int


def make_interval(estimate: float, low: float, high: float, n: int) -> Interval:
    """Return the interval with these bounds; NaN says that nothing is known of them."""
    half = (high - low) / 2.0 if np.isfinite(low) else float("nan")
    return Interval(estimate, low, high, half, n)


def interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the mean of ``values`` (n,), one per seed, and its Student-t confidence interval.

    Notes
    -----
    Equal values have half width 0. A single value says nothing about its spread: half width and
    bounds are NaN. So they are when a value is infinite. A NaN among the values is an error.
    """
    array = _values(values, "values")
    confidence = check_confidence(confidence)
    mean, variance = _moments(array)
    half = np.nan
    if np.isfinite(variance):
        quantile = stdtrit(len(array) - 1, 0.5 + confidence / 2.0)
        half = float(quantile * np.sqrt(variance / len(array)))
    return Interval(mean, mean - half, mean + half, half, len(array))


def welch(a: ArrayLike, b: ArrayLike) -> float:
    """Return the two-sided p-value of Welch's t-test that ``a`` and ``b`` have the same mean.

    Notes
    -----
    Without any variance on both sides (deterministic models) equal constants have p = 1 and
    different ones p = 0. A mean that is infinite is different from any other, p = 0, and equal to
    itself, p = 1. With a single value on a side there is no test: NaN, unless the means are equal.
    """
    from scipy.stats import ttest_ind_from_stats

    first, second = _values(a, "a"), _values(b, "b")
    (mean_a, variance_a), (mean_b, variance_b) = _moments(first), _moments(second)
    if mean_a == mean_b:
        return 1.0
    if not np.isfinite([mean_a, mean_b]).all():
        return 0.0
    scale = np.sqrt(np.maximum(variance_a, variance_b))  # squares of small variances underflow
    if not scale > 0.0:
        return float("nan") if np.isnan(scale) else 0.0
    return float(ttest_ind_from_stats(
        (mean_a - mean_b) / scale, np.sqrt(variance_a) / scale, len(first),
        0.0, np.sqrt(variance_b) / scale, len(second), equal_var=False,
    ).pvalue)  # fmt: skip


def rank_correlation(first: ArrayLike, second: ArrayLike) -> float:
    """Return Spearman's rank correlation; 0 where one side has only ties, which says nothing."""
    from scipy.stats import spearmanr

    if any(np.ptp(np.asarray(side)) == 0 for side in (first, second)):
        return 0.0
    return float(spearmanr(first, second).statistic)


def marks(
    results: Mapping[str, ArrayLike],
    lower_is_better: bool,
    reference: str | None = None,
    exclude: Collection[str] = (),
    daggers: Collection[str] | None = None,
    confidence: float = 0.95,
) -> dict[str, str]:
    """Return the marks of the paper's tables for one metric.

    Parameters
    ----------
    results : dict of (n,) floats
        Each model's values, one per seed. No values at all: a missing cell, without a mark.
    lower_is_better : bool
        True for perplexity, False for nDCG.
    reference : str, optional
        The model that "†" compares with (ARM-NC in tables 1 and 2).
    exclude : collection of str
        Models that must not be compared (oracles; ARM-NC's perplexity): never best, no mark.
    daggers : collection of str, optional
        The models that may get a "†"; the paper leaves its naive baselines out. Default all.

    Returns
    -------
    dict of str
        "bold": the best mean (all that share it). "=": not significantly worse than the best.
        "†": not significantly worse than the reference. "=†": both. "": neither.

    Notes
    -----
    Significant: p < 1 - confidence in the *two-sided* Welch test. The paper does not say how many
    sides its tests have, and its published means and bounds agree with one and with two; two is
    the convention. There is no correction for multiple comparisons, as in the paper. Where there
    is no test, because a model has a single value, there is no mark.
    """
    confidence = check_confidence(confidence)
    for argument, names in (("exclude", exclude), ("daggers", daggers or ())):
        if isinstance(names, str):
            raise ValueError(f"{argument} must be a collection of names, not {names!r}")
    arrays = {
        name: _values(values, f"the values of {name}")
        for name, values in results.items()
        if np.size(values)
    }
    if reference is not None and reference not in results:
        raise ValueError(f"reference {reference!r} is not among the results")
    sign = 1.0 if lower_is_better else -1.0
    costs = {name: sign * _moments(array)[0] for name, array in arrays.items()}
    compared = [name for name in arrays if name not in exclude]
    lowest = min((costs[name] for name in compared), default=np.nan)
    best = [name for name in compared if costs[name] == lowest]

    def no_worse(name: str, other: str) -> bool:
        better = costs[name] <= costs[other]
        return better or welch(arrays[name], arrays[other]) >= 1.0 - confidence

    result = dict.fromkeys(results, "")
    for name in compared:
        if name in best:
            result[name] = BOLD
            continue
        if any(no_worse(name, other) for other in best):
            result[name] += EQUAL
        may = name != reference and (daggers is None or name in daggers)
        if may and reference in arrays and no_worse(name, str(reference)):
            result[name] += DAGGER
    return result


def check_confidence(confidence: float) -> float:
    """Return ``confidence`` if it lies between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")
    return float(confidence)


def _values(values: ArrayLike, name: str) -> Floats:
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{name} must be one number a seed, not shape {array.shape}")
    checks.finite(np.where(np.isinf(array), 0.0, array), name, 1)
    return array


def _moments(array: Floats) -> tuple[float, float]:
    """Return the mean and the unbiased variance; NaN where there is none."""
    if (array == array[0]).all():  # exactly: rounding must not give a constant a variance
        known = len(array) > 1 and np.isfinite(array[0])
        return float(array[0]), 0.0 if known else np.nan
    if np.isinf(array).any():
        with np.errstate(invalid="ignore"):
            return float(array.sum()), np.nan
    return float(array.mean()), float(array.var(ddof=1))
