"""Second opinions without a click model: estimates that weight the log's pages."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from ...policies import Policy
from ..offpolicy.estimators import estimate
from ..offpolicy.importance import NoOverlap
from ..offpolicy.pseudoinverse_weights import PseudoinverseWeights
from ..offpolicy.slate_estimates import ENOUGH
from ..warning_signs.overview import WarningSigns
from ..warning_signs.sample_sizes import SampleSizes
from ..warning_signs.support import MOST_UNSUPPORTED
from .witnesses import EXPOSURE, Witnesses

NAMES = ("wips", "wpi", "dr-pi")
SAMPLES = 1_000  # pages of a query, for moments that must be drawn
MOST_QUERIES = 1_000  # the pseudoinverse costs milliseconds for each
_DIRECT = f"UBM {EXPOSURE}"  # the reward model of the doubly robust estimate


@dataclass(frozen=True)
class WeightedEstimate:
    """An estimate of the deployed value by weights, in clicks per page.

    Attributes
    ----------
    name : str
        As ``estimate`` calls it.
    value, low, high : float or None
        With its 95% interval, cut to what pages can have; None where it was not computed.
    effective_size : float or None
        How many pages of the policy itself would say as much.
    trusted : bool
    doubt : str
        Why it is not trusted, or was not computed; empty where it is trusted.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    effective_size: float | None
    trusted: bool
    doubt: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def weigh_log(
    policy: Policy, witnesses: Witnesses, signs: WarningSigns, samples: int = SAMPLES, seed: int = 0
) -> tuple[WeightedEstimate, ...]:
    """Return IPS, PI and DR estimates, where there is a chance that they say something.

    They are trusted from 100 effective pages on, where the policy shows no more than 5% that was
    never logged in its slot. The pseudoinverse is costly, and is not computed where its slot-wise
    sample size rules that out.
    """
    sizes = signs.report("effective sample size")

    @cache
    def tables() -> PseudoinverseWeights:
        assert witnesses.logging is not None
        queries = np.unique(witnesses.log.query)
        return PseudoinverseWeights(witnesses.logging, policy, queries, samples, seed)

    found = []
    for name in NAMES:
        missing = _find_missing(name, witnesses, sizes, samples)
        if missing:
            found.append(_unknown(name, missing))
        else:
            found.append(_weigh(name, policy, witnesses, sizes, tables, seed))
    return tuple(found)


def _unknown(name: str, doubt: str) -> WeightedEstimate:
    return WeightedEstimate(name, None, None, None, None, False, doubt)


def _weigh(
    name: str,
    policy: Policy,
    witnesses: Witnesses,
    sizes: SampleSizes,
    tables: Callable[[], PseudoinverseWeights],
    seed: int,
) -> WeightedEstimate:
    log, world, logging = witnesses.log, witnesses.world, witnesses.logging
    clicks = log.clicks.sum(axis=1).astype(np.float64)
    options: dict[str, Any] = {}
    try:
        with warnings.catch_warnings():  # what is not covered is among the doubts
            warnings.simplefilter("ignore", NoOverlap)
            if name != "wips":
                options["weights"] = tables()
            if name == "dr-pi":
                options |= {"direct": witnesses.models[_DIRECT], "samples": 100, "seed": seed}
            found = estimate(name, log, clicks, logging, policy, world, **options)
    except ValueError as error:
        return _unknown(name, str(error))
    low, high = found.interval_within(0.0, float(policy.slots))
    doubt = ""
    if found.effective_sample_size < ENOUGH:
        doubt = f"it rests on {found.effective_sample_size:.3g} effective pages"
    elif not (math.isfinite(low) and math.isfinite(high)):
        doubt = "its interval is infinite"
    elif sizes.covered < 1.0 - MOST_UNSUPPORTED:
        doubt = f"{1.0 - sizes.covered:.0%} of what is shown was never logged in its slot"
    known = math.isfinite(low) and math.isfinite(high)
    size = found.effective_sample_size
    if not known:
        return WeightedEstimate(name, None, None, None, size, False, doubt)
    value = found.value_within(0.0, float(policy.slots))
    return WeightedEstimate(name, value, low, high, size, not doubt, doubt)


def _find_missing(
    name: str, witnesses: Witnesses, sizes: SampleSizes | None, samples: int
) -> str:
    """Return why an estimate is not even tried, "" where it is."""
    if sizes is None:
        return "the effective sample size is not known"
    if name == "wips":
        return sizes.no_page
    if witnesses.logging is None:
        return "it is not known who made the log"
    if not samples:
        return "no samples were allowed for it"
    if sizes.slots < ENOUGH:
        return f"the log is worth {sizes.slots:.3g} impressions by slot and document"
    if len(np.unique(witnesses.log.query)) > MOST_QUERIES:
        return f"there are more than {MOST_QUERIES:,} queries, for which it takes minutes"
    return ""
