"""Estimators by importance weights: how much more often the target shows a page than the log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...common.runtime import warn_caller
from ...common.typing import Floats, Integers
from ...data import ClickLog, World
from ...policies import Policy, UncertainPropensities, page_log_prob
from ...policies.placing.pages import draw_positions, logged_log_prob
from ...policies.propensities import WrongLogging, describe_difference
from .inputs import Inputs, decided_blocks
from .slate_estimates import (
    RowWeights,
    SlateEstimate,
    estimate_by_weights,
    mean_estimate,
    summarise_weights,
)

_PAGES_CHECKED = 1000
_MEAN_OFF = 0.05  # of weights by estimated propensities, from 1
_MEAN_UNKNOWN = 0.2  # standard error of that mean, beyond which it says nothing
_LARGEST = 300.0  # log-weight, beyond which squares of weights overflow


class NoOverlap(UserWarning):
    """The target policy shows what the logging policy does not: no estimate can know its value."""


def importance_weights(
    log: ClickLog, target: Policy, logging: Policy | None = None, world: World | None = None
) -> Floats:
    """Return π(s | x) / μ(s | x) of every row, (n,); pages s include the places of blocks.

    μ(s | x) is the log's propensity where it has one, else that of ``logging``. A propensity of
    zero or one that is missing or not finite is an error that names the row. Blocks do not count
    where neither policy places any, nor in a ``world`` without them.
    """
    log = decided_blocks(log, logging, target, world)
    if not target.has_log_prob:
        raise ValueError(f"target ({type(target).__name__}) has no log_prob, which weights need")
    shown = _log_propensity(log, logging, world)
    wrong = ~np.isfinite(shown)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"row {row} of the log has log-propensity {shown[row]}: the logging policy cannot have "
            "shown its page"
        )
    ratio = logged_log_prob(target, log, world) - shown
    wrong = ~(ratio <= _LARGEST)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"row {row} of the log has log-weight {ratio[row]:.6g}: its log-propensity "
            f"{shown[row]:.6g} is too small to divide by"
        )
    return np.exp(ratio)


def _log_propensity(log: ClickLog, logging: Policy | None, world: World | None) -> Floats:
    if log.log_propensity is not None:
        return log.log_propensity
    if logging is None or not logging.has_log_prob:
        raise ValueError(
            "the log has no log_propensity and logging is None or has no log_prob: row 0 has no "
            "propensity"
        )
    return logged_log_prob(logging, log, world)


def warn_without_overlap(
    logging: Policy | None,
    target: Policy,
    queries: Integers,
    seed: int,
    world: World | None = None,
) -> None:
    """Warn where the logging policy never shows a page of the target's.

    The pages of up to a thousand queries: all of a deterministic target's, drawn ones otherwise.
    """
    if logging is None or not logging.has_log_prob:
        return
    rng = np.random.default_rng((seed, 1))
    some = queries
    if len(some) > _PAGES_CHECKED:
        some = np.sort(rng.choice(some, _PAGES_CHECKED, replace=False))
    if target.deterministic:
        pages = target.greedy(some)
    else:
        some = np.repeat(some, max(_PAGES_CHECKED // len(some) // 4, 1))
        pages = target.sample(some, rng)
    position = draw_positions(target, world, some, pages, rng)
    never = np.isneginf(page_log_prob(logging, some, pages, position, world))
    if never.any():
        query = int(some[np.flatnonzero(never)[0]])
        warn_caller(
            f"the logging policy never shows {int(never.sum())} of {len(some)} pages of the "
            f"target that were looked at (query {query} is the first): their rewards are unknown",
            NoOverlap,
        )


def on_policy(inputs: Inputs) -> SlateEstimate:
    """Return the mean reward of a log that the target policy itself made."""
    _check_own_log(inputs)
    result = mean_estimate(inputs.rewards, inputs.counts, "on-policy mean")
    return result.set_attributes(**summarise_weights(np.ones(len(inputs.rewards)), inputs.counts))


def _check_own_log(inputs: Inputs) -> None:
    """Warn where propensities say that the log is not the target's own."""
    target = inputs.target
    found = None if target is None else describe_difference(
        inputs.log, target, "the target", inputs.world
    )
    if found is not None:
        warn_caller(
            f"the log is not the target's own: {found}; this is the value of whoever made it",
            WrongLogging,
        )


def ips(inputs: Inputs, clip: float | None = None, seed: int = 0) -> SlateEstimate:
    """Return the mean of rewards times π/μ (equation 4, left)."""
    return estimate_by_weights(inputs, weigh_pages(inputs, "IPS", seed), clip)


def wips(inputs: Inputs, clip: float | None = None, seed: int = 0) -> SlateEstimate:
    """Return the ratio form of IPS (equation 4, right)."""
    return estimate_by_weights(inputs, weigh_pages(inputs, "weighted IPS", seed), clip, ratio=True)


def weigh_pages(inputs: Inputs, name: str, seed: int) -> RowWeights:
    """Return the importance weights of the rows, after looking for overlap."""
    target = inputs.need_policy("target")
    weights = importance_weights(inputs.log, target, inputs.logging, inputs.world)
    warn_without_overlap(inputs.logging, target, inputs.queries, seed, inputs.world)
    found = RowWeights(weights, name)
    return found if inputs.log.log_propensity is not None else say_estimated(found, inputs)


def say_estimated(weights: RowWeights, inputs: Inputs, logging: Policy | None = None) -> RowWeights:
    """Return weights that say so where the logging policy was estimated from a log.

    Weights have a mean of 1, but for chance, where propensities are right and the log shows what
    the target does. What a log hardly ever shows looks more frequent than it is, which makes the
    mean too small: warns where it is below 1 by more than the standard error of the weights, or of
    their estimate; where it is above by three; and where it is off by more than 5%. Warns as well
    where so few pages count that the mean has a standard error above 0.2 and confirms nothing.
    """
    logging = logging or inputs.logging
    if logging is None or not logging.estimated:
        return weights
    if logging.estimated != "uniform":
        mean = mean_estimate(weights.values, inputs.counts, "mean weight")
        value = mean_estimate(weights.values * inputs.rewards, inputs.counts, "value")
        error = max(mean.stderr, value.stderr / abs(value) if value else 0.0)
        if abs(mean - 1.0) > _MEAN_OFF or not -error <= mean - 1.0 <= 3.0 * error:
            warn_caller(
                f"the weights by estimated propensities have a mean of {mean.value:.3g} instead "
                "of 1: the propensities of the pages that count are wrong, or the log hardly "
                "ever shows what the target does",
                UncertainPropensities,
            )
        elif mean.stderr > _MEAN_UNKNOWN:
            warn_caller(
                f"the weights by estimated propensities have a mean of {mean.value:.3g} ± "
                f"{mean.stderr:.2g}: too few pages count to tell whether their propensities are "
                "right",
                UncertainPropensities,
            )
    return replace(
        weights,
        method=f"{weights.method}, estimated propensities ({logging.estimated})",
        attributes={**weights.attributes, "estimated_propensities": True},
    )
