"""What a policy will earn when it is deployed: a predicted interval and a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...common import checks
from ...policies import Policy
from ..offpolicy.inputs import check_policy
from ..statistics import Z90, Estimate
from .calibration import Calibration, Calibrations, shipped_calibrations
from .evidence import Evidence, gather
from .traits import find_traits
from .verdict import decide
from .witnesses import Witnesses


@dataclass(frozen=True)
class Forecast:
    """The predicted value of a policy that was learned from a log, in clicks per page.

    Attributes
    ----------
    verdict : str
        "deploy", "test on a share" or "do not deploy".
    reason : str
        Why, in a sentence.
    deployed : Estimate
        The predicted value with its 90% interval (``low``, ``high``), which need not lie evenly
        around it; ``stderr`` is that of a normal distribution with an interval of this width.
    lift : Estimate
        The same minus what the log earned.
    relative_lift : Estimate
        The same as a share of what the log earned.
    traits : dict of float
        What the interval was computed from (``docs/deployment_card.md``).
    strange : tuple of str
        Traits outside of what the calibration has seen.
    calibration : Calibration
    evidence : Evidence
        What witnesses and log say about the policy.
    """

    verdict: str
    reason: str
    deployed: Estimate
    lift: Estimate
    relative_lift: Estimate
    traits: dict[str, float] = field(repr=False)
    strange: tuple[str, ...]
    calibration: Calibration = field(repr=False)
    evidence: Evidence = field(repr=False)


def forecast(
    policy: Policy,
    witnesses: Witnesses,
    seed: int = 0,
    calibrations: Calibrations | None = None,
) -> Forecast:
    """Return what a policy is predicted to earn; nobody's truth is needed.

    It is what a ``deployment_card`` concludes, without all that the card shows beside it: a few
    milliseconds for each policy, once the witnesses of its log are there.

    Parameters
    ----------
    policy : Policy
    witnesses : Witnesses
        ``call_witnesses(log, world, logging)`` of the log that the policy was learned from.
    seed : int
        For the pages of a stochastic policy.
    calibrations : Calibrations, optional
        Instead of those that come with the package.
    """
    check_policy("policy", policy, witnesses.log, witnesses.world)
    checks.positive_integer(seed, "seed", 0)
    evidence = gather(policy, witnesses, seed)
    traits = find_traits(evidence.numbers)
    chosen = (calibrations or shipped_calibrations()).choose(witnesses.knows_scores)
    found, earned = chosen.predict(traits), witnesses.earned

    def interval(of: Callable[[float], float]) -> Estimate:
        middle, low, high = (
            float(of(1.0 + lift)) for lift in (found.centre, found.low, found.high)
        )
        return Estimate(middle, (high - low) / (2.0 * Z90), low, high, "predicted", earned.n)

    relative = interval(lambda ratio: ratio - 1.0)
    verdict, reason = decide(relative.low, relative.value, relative.high, found.strange)
    return Forecast(
        verdict, reason, interval(lambda ratio: ratio * earned.value),
        interval(lambda ratio: (ratio - 1.0) * earned.value), relative, traits, found.strange,
        chosen, evidence,
    )  # fmt: skip
