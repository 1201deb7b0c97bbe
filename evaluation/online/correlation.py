"""How well metrics of judged pages predict what users do: correlations over configurations.

Pearson's correlation over configurations, weighted by their sessions. Intervals and tests come
from resampling whole queries, because the configurations of a query have documents in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Floats, Integers
from ..statistics import Interval, check_confidence, make_interval
from .configurations import Configurations

_COUNTS = 1 << 22  # counts (resample, query) held at once


def weighted_correlation(x: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Return Pearson's correlation of ``x`` and ``y``, (C,), with weighted means.

    NaN where one of them is constant.
    """
    first, second = checks.finite(x, "x", 1), checks.finite(y, "y", 1)
    checks.same_shape(second, first.shape, "y", "x")
    weights = np.ones(len(first)) if weight is None else checks.finite(weight, "weight", 1)
    checks.same_shape(weights, first.shape, "weight", "x")
    if (weights < 0).any():
        raise ValueError("weight must be at least 0")
    return float(_correlations(_moments(first[None], second, weights).sum(axis=0))[0])


class PairedDifference(NamedTuple):
    """How much better one metric predicts than another, on the same resamples.

    Attributes
    ----------
    mean : float
        The difference of the two correlations.
    low, high : float
        Bounds of its interval: percentiles of the resamples.
    p_value : float
        Two-sided, that the difference is 0: how often resamples are on the other side of it.
    """

    mean: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Correlations:
    """Correlations of M metrics of judged pages with L online metrics.

    Attributes
    ----------
    offline, online : tuple of str
        The metrics' names.
    values : (M, L)
        NaN where a metric is constant.
    resampled : (B, M, L)
        The same on each resample of the queries.
    queries, configurations : int
        How many they come from.
    confidence : float
        Of the intervals.
    """

    offline: tuple[str, ...]
    online: tuple[str, ...]
    values: Floats
    resampled: Floats
    queries: int
    configurations: int
    confidence: float

    def value(self, metric: str, online: str) -> float:
        """Return a metric's correlation with an online metric."""
        return float(self.values[self._place(metric, online)])

    def interval(self, metric: str, online: str) -> Interval:
        """Return a metric's correlation and its bootstrap interval over queries."""
        place = self._place(metric, online)
        low, high = self._bounds(self.resampled[:, *place])
        return make_interval(float(self.values[place]), low, high, self.queries)

    def difference(self, metric: str, other: str, online: str) -> PairedDifference:
        """Return how much more a metric correlates with an online metric than another does."""
        one, two = self._place(metric, online), self._place(other, online)
        mean = float(self.values[one] - self.values[two])
        drawn = self.resampled[:, *one] - self.resampled[:, *two]
        drawn = drawn[~np.isnan(drawn)]
        low, high = self._bounds(drawn)
        sides = [1 + int((drawn <= 0).sum()), 1 + int((drawn >= 0).sum())]
        p_value = float("nan") if np.isnan(mean) else min(1.0, 2.0 * min(sides) / (len(drawn) + 1))
        return PairedDifference(mean, low, high, p_value)

    def _place(self, metric: str, online: str) -> tuple[int, int]:
        checks.choice(metric, self.offline, "metric")
        checks.choice(online, self.online, "online")
        return self.offline.index(metric), self.online.index(online)

    def _bounds(self, drawn: Floats) -> tuple[float, float]:
        drawn = drawn[~np.isnan(drawn)]  # where a metric is constant on a resample
        if not len(drawn):
            return float("nan"), float("nan")
        tail = (1.0 - self.confidence) / 2.0
        low, high = np.quantile(drawn, [tail, 1.0 - tail])
        return float(low), float(high)


def correlate(
    offline: Mapping[str, ArrayLike],
    online: Mapping[str, ArrayLike],
    configurations: Configurations,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Correlations:
    """Return how metrics of judged pages correlate with online metrics, over configurations.

    Parameters
    ----------
    offline : mapping from names to (C,)
        One value a configuration: ``evaluation.metric``.
    online : mapping from names to (n,)
        One value a row of the log: ``online_metrics``. NaN does not count, and a configuration
        without any other value is left out for this metric.
    configurations : Configurations
        Of the log.
    resamples : int
        How often queries are drawn, as many as there are, with replacement. All metrics see the
        same draws, so that their differences are paired.
    seed : int
    confidence : float

    Notes
    -----
    Sums of products are taken once for each query; a resample then costs one product of
    matrices: time grows with C M L + B G M L for G queries, memory with B M L.
    """
    resamples = checks.positive_integer(resamples, "resamples", 2)
    confidence = check_confidence(confidence)
    for kind, given in (("offline", offline), ("online", online)):
        if not given:
            raise ValueError(f"{kind} has no metrics")
    x = np.stack([_read_metric(values, name, configurations) for name, values in offline.items()])
    _, group = np.unique(configurations.query, return_inverse=True)
    queries = int(group.max(initial=-1)) + 1
    if queries < 2:
        raise ValueError(f"correlations need at least 2 queries to resample, not {queries}")
    tables = []  # (G, M, 6) for each online metric
    for values in online.values():
        means = configurations.mean(values)
        y = np.where(means.sessions > 0, means.values, 0.0)
        moments = _moments(x, y, means.sessions)
        tables.append(_sum_by_group(moments, group, queries))
    shape = (len(offline), len(online))
    found = np.stack([_correlations(table.sum(axis=0)) for table in tables], axis=-1)
    drawn = [
        np.stack([_correlations(np.tensordot(counts, table, 1)) for table in tables], axis=-1)
        for counts in _draw_queries(queries, resamples, seed)
    ]
    return Correlations(
        tuple(offline), tuple(online), found.reshape(shape), np.concatenate(drawn), queries,
        len(configurations), confidence,
    )  # fmt: skip


def _read_metric(values: ArrayLike, name: str, configurations: Configurations) -> Floats:
    array = checks.finite(values, name, 1)
    checks.same_shape(array, (len(configurations),), name, "the configurations")
    return array


def _moments(x: Floats, y: Floats, weight: Floats) -> Floats:
    """Return weighted products of metrics x (M, C) and y (C,): (C, M, 6).

    In turn: 1, x, y, x², y² and xy, each times the weight, of x and y that are standardised
    first, so that sums lose no digits.
    """
    x, y = _standardise(x, weight), _standardise(y, weight)
    ones, both = np.ones(x.shape), np.broadcast_to(y, x.shape)
    products = np.stack([ones, x, both, x * x, both * both, x * both], axis=-1)
    products *= weight[:, None]
    return np.swapaxes(products, 0, 1)


def _standardise(values: Floats, weight: Floats) -> Floats:
    """Return values (..., C) less their weighted mean, over their weighted deviation."""
    total = max(float(weight.sum()), 1e-300)
    centred = values - (values @ weight / total)[..., None]
    spread = np.sqrt(centred**2 @ weight / total)[..., None]
    largest = np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
    constant = spread <= 1e-12 * largest  # what is left is rounding
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, spread))


def _sum_by_group(moments: Floats, group: Integers, size: int) -> Floats:
    """Return the sums (size, M, 6) of moments (C, M, 6) over the configurations of each query."""
    total = np.zeros((size, *moments.shape[1:]))
    np.add.at(total, group, moments)
    return total


def _correlations(sums: Floats) -> Floats:
    """Return the correlations (..., M) of sums of moments (..., M, 6); NaN if one is constant."""
    weight, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = xy / weight - x * y / weight**2
        spread = (xx / weight - (x / weight) ** 2) * (yy / weight - (y / weight) ** 2)
        varies = spread > 1e-18
        return np.where(varies, np.clip(covariance / np.sqrt(spread), -1.0, 1.0), np.nan)


def _draw_queries(queries: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Draw the queries with replacement: how often each came, (b, G), for b resamples at a time."""
    rng = np.random.default_rng(seed)
    size = max(_COUNTS // queries, 1)
    for start in range(0, resamples, size):
        number = min(size, resamples - start)
        drawn = rng.integers(queries, size=(number, queries))
        drawn += np.arange(number)[:, None] * queries
        counts = np.bincount(drawn.reshape(-1), minlength=number * queries)
        yield counts.reshape(number, queries).astype(np.float64)
