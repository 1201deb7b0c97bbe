"""Intervals over the pages of a test log, by resampling them with replacement."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...clickmodels import ClickModel
from ...common import checks
from ...common.typing import Booleans, Floats
from ...data import ClickLog
from ..statistics import Interval, check_confidence, make_interval
from .perplexity import losses, perplexity_of_totals

_COUNTS = 1 << 22  # counts (resample, row) held at once


def perplexity_interval(
    model: ClickModel,
    log: ClickLog,
    conditional: bool = True,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """Return the mean perplexity on ``log`` and its bootstrap interval over pages.

    Whole pages are resampled, so the dependence of their slots is kept. The model is asked once;
    then a resample costs a draw and a few multiplications per row. Memory O(n K).

    Returns
    -------
    Interval
        ``mean`` is ``perplexity(model, log).mean``, the bounds are percentiles of the resamples,
        and ``n`` is the number of pages. Bounds are infinite when so many resamples are.
    """
    ((mean, values),) = _resampled_perplexities([model], log, conditional, resamples, seed)
    return _percentiles(mean, values, confidence, log)


def perplexity_difference(
    model: ClickModel,
    other: ClickModel,
    log: ClickLog,
    conditional: bool = True,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """Return how far the perplexity of ``model`` is above that of ``other``, on the same pages.

    Both models predict every resample of the pages, so that what makes a page hard for both
    cancels out. The interval is therefore much narrower than those of the two perplexities, which
    may overlap although one model is clearly worse. Costs as ``perplexity_interval`` of each.

    Returns
    -------
    Interval
        ``mean`` is the difference on ``log``, the bounds are percentiles of the resamples, and
        ``n`` is the number of pages. Where both perplexities are infinite, the difference is 0.
    """
    (mean, values), (other_mean, other_values) = _resampled_perplexities(
        [model, other], log, conditional, resamples, seed
    )
    difference = float(_differences(np.array([mean]), np.array([other_mean]))[0])
    return _percentiles(difference, _differences(values, other_values), confidence, log)


def _differences(values: Floats, others: Floats) -> Floats:
    """Return the differences of perplexities (n,), 0 where both are infinite."""
    both = np.isinf(values) & np.isinf(others)
    return np.subtract(values, others, out=np.zeros(values.shape), where=~both)


def _resampled_perplexities(
    models: Sequence[ClickModel], log: ClickLog, conditional: bool, resamples: int, seed: int
) -> list[tuple[float, Floats]]:
    """Return each model's mean perplexity, on the log and on every resample, (resamples,)."""
    shown = log.ranking >= 0
    weight = log.counts
    some = (weight > 0) & shown[:, 0]  # an empty page has nothing to predict
    found = []
    for model in models:
        loss = np.concatenate([part for _, part in losses(model, log, conditional)])
        table = _split_infinite(loss[some], shown[some])
        values = [
            _means(counts @ table, log.slots) for counts in _batches(log[some], resamples, seed)
        ]
        found.append((float(_means(weight[some] @ table, log.slots)), np.concatenate(values)))
    return found


def bootstrap(
    statistic: Callable[[ClickLog], float],
    log: ClickLog,
    resamples: int = 200,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval:
    """Return ``statistic(log)`` and its bootstrap interval over pages.

    The statistic must honour weights: it gets each resample as a log of the rows that were drawn,
    weighted by how often. For perplexity, ``perplexity_interval`` is much faster.
    """
    values = []
    for counts in resample_counts(log, resamples, seed):
        drawn = counts > 0
        values.append(float(statistic(replace(log[drawn], weight=counts[drawn]))))
    return _percentiles(float(statistic(log)), np.array(values), confidence, log)


def resample_counts(log: ClickLog, resamples: int, seed: int) -> Iterator[Floats]:
    """Draw as many impressions as ``log`` has, again and again: how often each row came, (n,).

    A row of weight w stands for w impressions and is drawn as often as w rows would be.
    """
    resamples = checks.positive_integer(resamples, "resamples", 2)
    if not log.impressions > 0:
        raise ValueError("the log has no impressions to draw from")
    rng = np.random.default_rng(seed)
    n = len(log)
    for _ in range(resamples):
        if log.weight is None:
            drawn = rng.integers(n, size=n)
            yield np.bincount(drawn, minlength=n).astype(np.float64)
        else:
            total = max(round(log.impressions), 1)
            yield rng.multinomial(total, log.weight / log.weight.sum()).astype(np.float64)


def _batches(log: ClickLog, resamples: int, seed: int) -> Iterator[Floats]:
    """Give the counts of several resamples at a time, (b, n)."""
    size = max(_COUNTS // max(len(log), 1), 1)
    counts = resample_counts(log, resamples, seed)
    while batch := list(itertools.islice(counts, size)):
        yield np.stack(batch)


def _split_infinite(loss: Floats, shown: Booleans) -> Floats:
    """Join finite losses, pages and impossible outcomes, (n, 3 K): 0 times inf would be NaN."""
    infinite = np.isinf(loss)
    return np.hstack([np.where(infinite, 0.0, loss), shown, infinite])


def _means(sums: Floats, slots: int) -> Floats:
    """Return the mean perplexity (...) of the sums (..., 3 K) of ``_split_infinite`` rows."""
    total, pages, infinite = np.split(sums, [slots, 2 * slots], axis=-1)
    return np.asarray(perplexity_of_totals(np.where(infinite > 0, np.inf, total), pages)[1])


def _percentiles(estimate: float, values: Floats, confidence: float, log: ClickLog) -> Interval:
    if np.isnan(values).any():
        raise ValueError("the statistic is NaN on a resample of the log")
    tail = (1.0 - check_confidence(confidence)) / 2.0
    ordered = np.sort(values)
    # Without interpolation, which has no answer between a finite and an infinite value.
    low = float(ordered[int(np.floor(tail * (len(values) - 1)))])
    high = float(ordered[int(np.ceil((1.0 - tail) * (len(values) - 1)))])
    return make_interval(estimate, low, high, round(log.impressions))
