"""Correlations over configurations, and their differences, with intervals over queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...common.typing import Floats, Integers

# Metric, what it is compared with ("" nothing), online metric, value, and bounds.
Line = tuple[str, str, str, float, float, float]
_TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class PageCorrelations:
    """Pearson's correlations of M metrics with O online metrics, weighted by sessions.

    Attributes
    ----------
    metrics, columns : tuple of str
    values : (M, O)
        NaN where a metric or an online metric is the same on all configurations.
    drawn : (R, M, O)
        The same on each resample of the queries.
    """

    metrics: tuple[str, ...]
    columns: tuple[str, ...]
    values: Floats
    drawn: Floats

    def compare(self, weights: Mapping[str, float], names: tuple[str, str]) -> Iterator[Line]:
        """Give a weighted sum of metrics' correlations for each online metric, under ``names``."""
        places = [self.metrics.index(name) for name in weights]
        factors = np.array(list(weights.values()))
        values = np.einsum("m,mo->o", factors, self.values[places])
        drawn = np.einsum("m,rmo->ro", factors, self.drawn[:, places])
        for column, value, sample in zip(self.columns, values, drawn.T, strict=True):
            known = sample[np.isfinite(sample)]
            low, high = np.quantile(known, _TAILS) if known.size else (np.nan, np.nan)
            yield *names, column, float(value), float(low), float(high)


def correlate_pages(
    metrics: Mapping[str, Floats],
    online: Mapping[str, Floats],
    weight: Floats,
    query: Integers,
    resamples: int,
    seed: int,
) -> PageCorrelations:
    """Return the correlations over configurations, and those of resampled queries.

    Parameters
    ----------
    metrics, online : by name, (C,) each
        Of each configuration; online metrics are means over its sessions.
    weight : (C,)
        Sessions of each configuration. Means are weighted, too.
    query : (C,)
        Configurations of one query are drawn together.

    Notes
    -----
    A resample costs a product of counts (Q,) with sums by query, (Q, 1 + 2M + 2O + MO): O(Q M O),
    however many configurations there are.
    """
    x, y = (_centre(list(one.values()), weight) for one in (metrics, online))
    _, group = np.unique(query, return_inverse=True)
    moments = [np.ones((1, len(weight))), x, x**2, y, y**2,
               (x[:, None] * y).reshape(-1, len(weight))]  # fmt: skip
    n = int(group.max()) + 1
    sums = np.stack([np.bincount(group, weight * row, n) for row in np.concatenate(moments)], 1)
    rng = np.random.default_rng(seed)
    counts = np.ones((resamples + 1, n))
    for row in counts[1:]:
        row[:] = np.bincount(rng.integers(n, size=n), minlength=n)
    found = _correlation(counts @ sums, len(x), len(y))
    return PageCorrelations(tuple(metrics), tuple(online), found[0], found[1:])


def _centre(values: Sequence[Floats], weight: Floats) -> Floats:
    """Return values (m, C) less their means, with variance 1: sums of squares lose no digits."""
    table = np.stack(values)
    table = table - np.average(table, axis=1, weights=weight)[:, None]
    spread = np.sqrt(np.average(table**2, axis=1, weights=weight))[:, None]
    return np.asarray(table / np.where(spread > 0.0, spread, 1.0))


def _correlation(sums: Floats, m: int, o: int) -> Floats:
    """Return correlations (R, M, O) of the sums of weights, x, x², y, y² and xy, (R, ...)."""
    total, *parts = np.split(sums, np.cumsum([1, m, m, o]), axis=1)
    x, xx, y, rest = (part / total for part in parts)
    yy, xy = rest[:, :o], rest[:, o:].reshape(-1, m, o)
    variance = (xx - x**2)[:, :, None] * (yy - y**2)[:, None]
    shared = xy - x[:, :, None] * y[:, None]
    known = variance > 1e-18
    return np.divide(shared, np.sqrt(variance, where=known, out=np.ones(shared.shape)),
                     where=known, out=np.full(shared.shape, np.nan))  # fmt: skip
