"""The share of pairs on which a scoring function and the clicks disagree, with its error."""

from __future__ import annotations

import math

import numpy as np

from ...common.runtime import warn_caller
from ...common.typing import Floats
from ..offpolicy.slate_estimates import ratio_estimate, summarise_weights, widen_interval
from ..statistics import Estimate

# Accepted samples below which the interval rests on too few pages to be trusted.
ENOUGH_ACCEPTED = 10


class FewAccepted(UserWarning):
    """Hardly a sample was accepted: the logging policy nearly always shows the same page."""


class Disagreement(Estimate):
    """How often a scoring function prefers the other product to the clicked one; 0 is perfect.

    Attributes
    ----------
    n : int
        Impressions of the log, those without clicks included.
    rejected : float
        The share of samples (clicks times drawn products) that were rejected.
    effective_pages : float
        Over how many pages the accepted mass is spread: (Σ b)² / Σ b², b the accepted mass of a
        page, but never more than Σ b, the number of samples that are accepted on average.
    tied : float
        The share of the accepted mass in which both products have the same score and a half is
        counted; NaN for whole pages. A ranking ties all products that it does not show, so two
        functions are compared fairly only where both tie little.
    estimated_propensities : bool
        Whether the logging policy was itself estimated from a log; the method says so.
    """

    rejected: float = 0.0
    effective_pages: float = 0.0
    tied: float = math.nan
    estimated_propensities: bool = False


def estimate_disagreement(
    wrong: Floats,
    accepted: Floats,
    counts: Floats,
    *,
    samples: float,
    impressions: float,
    method: str,
    estimated: str = "",
    extra: float = 0.0,
) -> Disagreement:
    """Return Σ wrong / Σ accepted over pages, with pages as the units of its standard error.

    Parameters
    ----------
    wrong, accepted : (P,)
        Mass of each page's samples that disagree, and that are not rejected.
    counts : (P,)
        How many impressions each page stands for.
    samples : float
        The mass of all samples, rejected ones included.
    estimated : str
        How the logging policy was estimated; empty where it is known.
    extra : float
        Variance of the ratio that drawn marginals bring.

    Notes
    -----
    The standard error is the jackknife's, which leaves out one page at a time; the interval is
    Student's with the effective number of pages, as for the off-policy estimators' ratios, and
    infinite below two. Where not a single pair disagrees, or all do, the interval is that of "no
    other page seen".

    A nearly deterministic policy shows many pages with a tiny mass b each, and seldom one with a
    mass near 1, which then decides. A log that has none of those looks far too certain. So the
    variance gets that of one more accepted sample, v(1 - v) / (Σ b)² with v drawn towards 1/2 by
    two samples, times 1 - 2 mean b. It is nothing where half of the samples or more are accepted,
    as on shuffled traffic, and negligible where many are.
    """
    some = (accepted > 0) & (counts > 0)
    wrong, accepted, counts = wrong[some], accepted[some], counts[some]
    mass, size, rare = _summarise_mass(accepted, counts)
    if estimated:
        method = f"{method}, estimated propensities ({estimated})"
    share = np.minimum(wrong / accepted, 1.0)
    if size >= 2.0:
        near = (float(counts @ (accepted * share)) + 1.0) / (mass + 2.0)
        extra += rare * near * (1.0 - near) / mass**2
    found = ratio_estimate(accepted / accepted.max(), share, counts, method, extra, size)
    if math.isfinite(found.stderr) and found.value in (0.0, 1.0):
        found = widen_interval(found, np.array([0.0, 1.0]), size)
    result = Disagreement(
        found.value, found.stderr, found.low, found.high, found.method, round(impressions)
    )
    result.rejected = max(1.0 - mass / samples, 0.0)
    result.effective_pages = size
    result.estimated_propensities = bool(estimated)
    return result


def estimate_difference(
    wrong: Floats,
    accepted: Floats,
    counts: Floats,
    *,
    impressions: float,
    method: str,
    estimated: str = "",
    extra: float = 0.0,
    same: bool = False,
) -> Estimate:
    """Return the difference of two disagreements, Σ wrong / Σ accepted over pages.

    ``wrong`` (P,) is the difference of the mass that disagrees; the rest is as for
    ``estimate_disagreement``. ``same``: whether both are of the same scores, so that the
    difference is zero on any log.
    """
    some = (accepted > 0) & (counts > 0)
    wrong, accepted, counts = wrong[some], accepted[some], counts[some]
    if estimated:
        method = f"{method}, estimated propensities ({estimated})"
    mass, size, rare = _summarise_mass(accepted, counts)
    share = wrong / accepted
    if size >= 2.0 and not same:
        extra += rare * (float(counts @ (accepted * share**2)) + 1.0) / (mass + 2.0) / mass**2
    found = ratio_estimate(accepted / accepted.max(), share, counts, method, extra, size)
    if math.isfinite(found.stderr) and not np.ptp(share) and not same:
        found = widen_interval(found, np.array([-1.0, 1.0]), size)
    return Estimate(
        found.value, found.stderr, found.low, found.high, found.method, round(impressions)
    )


def _summarise_mass(accepted: Floats, counts: Floats) -> tuple[float, float, float]:
    """Return the accepted mass, its effective number of pages, and 1 - 2 mean b or 0."""
    mass = float(counts @ accepted)
    scaled = accepted / accepted.max()  # squares of tiny masses would be 0
    size = min(float(summarise_weights(scaled, counts)["effective_sample_size"]), mass)
    return mass, size, max(1.0 - 2.0 * mass / float(counts.sum()), 0.0)


def warn_few_accepted(mass: float, samples: float) -> None:
    """Warn where fewer than ten samples are accepted, and less than a fifth of all."""
    if mass < min(ENOUGH_ACCEPTED, samples / 5.0):
        warn_caller(
            f"of {samples:,.6g} samples only {mass:.3g} are accepted on average, because the "
            "logging policy nearly always shows the same products at the same ranks: the log "
            "hardly says which of two products is better",
            FewAccepted,
        )
