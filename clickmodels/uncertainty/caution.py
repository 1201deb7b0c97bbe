"""How far a fitted model is to be trusted, judged by the log that it was fitted to.

A posterior knows how little data there are, and takes the model for right. What a model that is
wrong does not know shows in the log: pages of one query that it thinks better than others are no
better, or its clicks are at other ranks than the users'. From these follow the pessimism with which
a policy is chosen, and the promise that can be made for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ...common import checks
from ...common.typing import Floats, Integers
from ...data import ClickLog
from ..pages import row_weights
from .posterior import Uncertainty

if TYPE_CHECKING:
    from ..base import ClickModel

AUTO = "auto"
_PAGES = 1 << 17  # of the log, whose values are compared with their clicks
_RANKED_PAGES = 1 << 13  # whose clicks by rank are computed
# The same of a model that enumerates click prefixes: 4 seconds in all for NCM with ten slots.
_EXPENSIVE_PAGES, _EXPENSIVE_RANKED = 1 << 14, 1 << 11
_TRUST, _TRUST_SD = 0.6, 0.3  # before the log: what models are worth on users of other kinds
_MISPLACED = 0.1  # the share of clicks at wrong ranks from which on λ is 1
_MARGIN = 0.25  # λ of the promise, which choosing the best of many pages costs a right model


def assess(
    model: ClickModel, log: ClickLog, models: int = 1
) -> tuple[dict[str, float], NDArray[np.float32]]:
    """Return what the log says about a model that was fitted to it, and each query's level.

    A model that consists of several ``models`` is asked about as many times fewer pages.

    Returns
    -------
    numbers : dict
        ``slope`` and ``slope_stderr``: by how much the clicks of a page rise when the model's
        expectation rises by one, among pages of one query. ``trust``, 0 to 1: the same, shrunk
        towards 0.6 as far as the log leaves it open. ``misplaced``: the share of clicks that
        the model expects at other ranks. ``pessimism``: the λ for choosing a policy.
    level : (Q,)
        The model's expected clicks of the pages that were logged; of a query without any, their
        mean over all.
    """
    cheap = model.cheap_expectations
    rows, weight = _choose_rows(log, max((_PAGES if cheap else _EXPENSIVE_PAGES) // models, 1))
    query, clicks = log.query[rows].astype(np.int64), log.clicks[rows].sum(axis=1).astype(float)
    value = model.score_columns(query, np.ascontiguousarray(log.ranking[rows].T))
    n_queries = model.shape[0]

    def away(of: Floats) -> tuple[Floats, Floats]:
        pages = np.bincount(query, weight, n_queries)
        mean = np.bincount(query, weight * of, n_queries) / np.maximum(pages, 1e-300)
        mean = np.where(pages > 0, mean, float(weight @ of) / float(weight.sum()))
        return mean, of - mean[query]

    level, values = away(value)
    _, excess = away(clicks)
    spread = float(weight @ values**2)
    noise = float(weight @ excess**2) / float(weight.sum())
    slope, stderr = _TRUST, np.inf
    # Counts of a folded log are whole impressions: the noise is that of each of them.
    if spread > 1e-9 * float(weight.sum()) and noise > 0:
        slope, stderr = float(weight @ (values * excess)) / spread, float(np.sqrt(noise / spread))
    prior, own = _TRUST_SD**-2, stderr**-2
    trust = float(np.clip((prior * _TRUST + own * slope) / (prior + own), 0.0, 1.0))
    ranked = (_RANKED_PAGES if cheap else _EXPENSIVE_RANKED) // models
    misplaced = _misplaced(model, log, max(ranked, 1))
    numbers = {
        "slope": slope,
        "slope_stderr": min(stderr, 1e9),
        "trust": trust,
        "misplaced": misplaced,
        "pessimism": min(misplaced / _MISPLACED, 1.0),
    }
    return numbers, level.astype(np.float32)


def _misplaced(model: ClickModel, log: ClickLog, pages: int) -> float:
    """Return the share of a log's clicks that the model expects at other ranks.

    Half of the sum over ranks of what the rates differ, so far as chance does not explain it.
    """
    weight = row_weights(log)
    rate = weight @ log.clicks / weight.sum()
    rows, sampled = _choose_rows(log, pages)
    probs = model.click_probs(log.query[rows], log.ranking[rows])
    expected = sampled @ probs / sampled.sum()
    variance = rate * (1.0 - rate) / weight.sum()
    if len(rows) < len(log):
        variance = variance + probs.var(axis=0) / len(rows)
    wrong = np.maximum(np.abs(expected - rate) - np.sqrt(variance), 0.0)
    return 0.5 * float(wrong.sum() / max(rate.sum(), 1e-12))


def _choose_rows(log: ClickLog, most: int) -> tuple[Integers, Floats]:
    """Return rows and their weights: all, or so many at even steps through the weights."""
    weight = row_weights(log)
    if len(log) <= most:
        return np.arange(len(log)), weight
    total = np.cumsum(weight)
    rows = np.searchsorted(total, (np.arange(most) + 0.5) / most * total[-1])
    return np.minimum(rows, len(log) - 1), np.full(most, total[-1] / most)


def read_pessimism(pessimism: float | str, known: Uncertainty | None) -> float:
    """Return λ, of "auto" that of the log; what cannot be one is a ``ValueError``."""
    if isinstance(pessimism, str):
        checks.choice(pessimism, (AUTO,), "pessimism, if not a number,")
        if known is None or "pessimism" not in known.numbers:
            raise ValueError("this model does not know what its log says: give pessimism as λ")
        return known.numbers["pessimism"]
    value = float(checks.finite(pessimism, "pessimism", 0))
    if value < 0:
        raise ValueError(f"pessimism must be at least 0, not {value}")
    return value


def level_of(pessimism: float) -> float:
    """Return Φ(-λ), the quantile that stands λ standard deviations below the mean."""
    return float(ndtr(-pessimism))


def honest_values(
    model: ClickModel,
    rankings: Integers,
    queries: Integers | None = None,
    lower: ClickModel | None = None,
) -> Floats:
    """Return the expected clicks that can be promised for pages, (n,).

    Under the model a little below its mean (λ = 0.25), and of what that is more than the level of
    the query's logged pages only the share in which the log supports the model. Without
    ``queries`` (n,) there is a page for each query; ``lower`` is ``honest_model(model)``, where
    that is known.
    """
    known = model.uncertainty
    if known is None or known.level is None:
        raise ValueError(f"this {model.name} does not know what its log says")
    lower = honest_model(model) if lower is None else lower
    queries = np.arange(len(rankings)) if queries is None else queries
    value = lower.expected_clicks(queries, rankings)
    level = known.level.astype(np.float64)[queries]
    return level + known.numbers["trust"] * (value - level)


def honest_model(model: ClickModel) -> ClickModel:
    """Return the model at λ = 0.25, where promises are made."""
    return model.lower(level_of(_MARGIN))
