"""Whether a policy can have made a log, by the log's propensities or its pages."""

from __future__ import annotations

import numpy as np

from ..common.runtime import warn_caller
from ..common.typing import Floats
from ..data import ClickLog, World
from .base import Policy
from .placing.pages import draw_places, logged_log_prob, without_blocks

_CHECKED_ROWS = 1_000  # rows whose propensities are compared to a policy's
_MISFIT = 0.35  # mean over standard deviation: about half a deviation of the policy's own pages
_SURE = 5.0  # standard errors that the same mean must lie from zero
_NEVER = 20.0  # a page this far below even odds on all pages has a chance of 2e-9 to turn up


class WrongLogging(UserWarning):
    """The log's propensities or pages are not those of the policy that should have made it."""


def check_logging(log: ClickLog, logging: Policy, world: World | None = None) -> None:
    """Raise or warn where ``logging`` cannot have made the log.

    The places of blocks count where ``logging`` places some; ``world`` says for which queries.

    With propensities in the log, the first thousand that are not ``logging``'s are warned about,
    unless ``logging`` is an estimate, whose propensities never are. Without them, a thousand rows
    (the same ones each time) are looked at: a page that ``logging`` never shows is an error, and
    pages that are far from as likely as those that it draws itself are warned about.
    """
    if not logging.has_log_prob or not len(log):
        return
    if not logging.places_blocks:
        log = without_blocks(log)
    if log.log_propensity is None:
        _check_pages(log, logging, world)
        return
    if logging.estimated:
        return
    difference = describe_difference(log, logging, "logging", world)
    if difference is not None:
        warn_caller(
            f"logging is not who made the log: {difference}. What divides by propensities takes "
            "the log's, what looks at slots takes logging's",
            WrongLogging,
        )


def _check_pages(log: ClickLog, logging: Policy, world: World | None) -> None:
    rng = np.random.default_rng(0)
    rows = np.arange(len(log))
    if len(log) > _CHECKED_ROWS:
        rows = np.sort(rng.choice(len(log), _CHECKED_ROWS, replace=False))
    query = log.query[rows].astype(np.int64)
    shown = logged_log_prob(logging, log[rows], world)
    never = np.isneginf(shown)
    if never.any():
        row = int(rows[never.argmax()])
        block = "" if log.vertical_position is None else f", block at {log.vertical_position[row]},"
        raise ValueError(
            f"row {row} shows {log.ranking[row].tolist()}{block} for query {log.query[row]}, which "
            "the logging policy never does: its propensity is zero"
        )
    if logging.estimated:  # says itself how well it fits
        return
    pages = logging.sample(query, rng)
    _, of_places = draw_places(logging, world, query, pages, rng)
    drawn = logging.log_prob(query, pages) + of_places
    misfit = _describe_misfit(shown, drawn, log.counts[rows], log.slots * np.log(logging.shape[1]))
    if misfit is not None:
        warn_caller(
            f"the logging policy does not fit the log: {misfit}. What is computed from its "
            "probabilities is wrong where it did not make these pages",
            WrongLogging,
        )


def _describe_misfit(shown: Floats, drawn: Floats, weight: Floats, pages: float) -> str | None:
    """Return in words why pages with log-probabilities ``shown`` cannot be a policy's, or None.

    ``drawn`` (n,) are those of pages that it draws for the same queries, and ``pages`` is the
    logarithm of how many pages there are. If the policy made the log, ``shown`` and ``drawn`` are
    alike, so their differences have mean zero; and all pages less likely than e^-t over the number
    of pages have together at most the probability e^-t.
    """
    total = weight.sum()
    if not total > 0:
        return None
    share = weight / total
    difference = shown - drawn
    mean = float(share @ difference)
    spread = float(np.sqrt(share @ (difference - mean) ** 2))
    effective = 1.0 / float(share @ share)
    if abs(mean) > spread * max(_MISFIT, _SURE / np.sqrt(effective)):
        return (
            f"its pages have log-probability {share @ shown:.4g} on average, pages that the policy "
            f"draws for the same queries {share @ drawn:.4g}"
        )
    lost = (shown < -pages - _NEVER) & (weight > 0)
    if lost.any():
        return (
            f"{lost.sum()} of {len(shown):,} pages are all but impossible, with log-probabilities "
            f"down to {shown[weight > 0].min():.4g}"
        )
    return None


def describe_difference(
    log: ClickLog, policy: Policy, name: str, world: World | None = None
) -> str | None:
    """Return in words the first propensity of the log that is not the policy's, or None.

    Only the first thousand rows are compared, and only where both propensities are known.
    """
    if log.log_propensity is None or not policy.has_log_prob:
        return None
    logged = log.log_propensity[:_CHECKED_ROWS]
    own = logged_log_prob(policy, log[:_CHECKED_ROWS], world)
    wrong = ~np.isclose(own, logged, atol=1e-6)
    if not wrong.any():
        return None
    row = int(wrong.argmax())
    return f"row {row} has log-propensity {logged[row]:.6g}, {name} {own[row]:.6g}"
