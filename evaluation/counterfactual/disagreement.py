"""The share of pairs on which a scoring function and the clicks disagree, with its error."""

from __future__ import annotations

import math

import numpy as np

from ...common.typing import Floats
from ..offpolicy.slate_estimates import ratio_estimate, summarise_weights, widen_interval
from ..statistics import Estimate


class Disagreement(Estimate):
    """How often a scoring function prefers the other product to the clicked one; 0 is perfect.

    Attributes
    ----------
    n : int
        Impressions of the log, those without clicks included.
    rejected : float
        The share of samples (clicks times drawn products) that were rejected.
    effective_pages : float
        (Σ b)² / Σ b² over pages, b the accepted mass of a page: how many pages with one accepted
        sample each would say as much.
    estimated_propensities : bool
        Whether the logging policy was itself estimated from a log; the method says so.
    """

    rejected: float = 0.0
    effective_pages: float = 0.0
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
    Student's with the effective number of pages, as for the off-policy estimators' ratios. Where
    not a single pair disagrees, or all do, the interval is that of "no other page seen".
    """
    some = (accepted > 0) & (counts > 0)
    wrong, accepted, counts = wrong[some], accepted[some], counts[some]
    mass = float(counts @ accepted)
    size = summarise_weights(accepted, counts)["effective_sample_size"]
    if estimated:
        method = f"{method}, estimated propensities ({estimated})"
    found = ratio_estimate(accepted, np.minimum(wrong / accepted, 1.0), counts, method, extra)
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
    found = ratio_estimate(accepted, wrong / accepted, counts, method, extra)
    if math.isfinite(found.stderr) and not np.ptp(wrong / accepted) and not same:
        size = summarise_weights(accepted, counts)["effective_sample_size"]
        found = widen_interval(found, np.array([-1.0, 1.0]), size)
    return Estimate(
        found.value, found.stderr, found.low, found.high, found.method, round(impressions)
    )
