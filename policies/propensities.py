"""Whether a policy can have made a log, by the log's propensities or its pages."""

from __future__ import annotations

import numpy as np

from ..common.runtime import warn_caller
from ..data import ClickLog
from .base import Policy

_CHECKED_ROWS = 1_000  # rows whose propensities are compared to a policy's


class WrongLogging(UserWarning):
    """The log's propensities are not those of the policy that should have made it."""


def check_logging(log: ClickLog, logging: Policy) -> None:
    """Raise or warn where ``logging`` cannot have made the log.

    Looks at the first thousand rows. Without propensities in the log, a page that ``logging`` never
    shows is an error; propensities that are not its own are warned about.
    """
    if not logging.has_log_prob:
        return
    if log.log_propensity is None:
        _check_possible(log, logging)
        return
    row = find_other_propensity(log, logging)
    if row is not None:
        difference = describe_difference(log, logging, row, "logging")
        warn_caller(
            f"logging is not who made the log: {difference}. What "
            "divides by propensities takes the log's, what looks at slots takes logging's",
            WrongLogging,
        )


def _check_possible(log: ClickLog, logging: Policy) -> None:
    never = np.isneginf(logging.log_prob(log.query[:_CHECKED_ROWS], log.ranking[:_CHECKED_ROWS]))
    if never.any():
        row = int(never.argmax())
        raise ValueError(
            f"row {row} shows {log.ranking[row].tolist()} for query {log.query[row]}, which the "
            "logging policy never does: its propensity is zero"
        )


def find_other_propensity(log: ClickLog, policy: Policy) -> int | None:
    """Return the first row whose propensity is not the policy's, or None.

    Only the first thousand rows are compared, and only where both propensities are known.
    """
    if log.log_propensity is None or not policy.has_log_prob:
        return None
    some = slice(0, _CHECKED_ROWS)
    own = policy.log_prob(log.query[some], log.ranking[some])
    wrong = ~np.isclose(own, log.log_propensity[some], atol=1e-6)
    return int(wrong.argmax()) if wrong.any() else None


def describe_difference(log: ClickLog, policy: Policy, row: int, name: str) -> str:
    """Return in words how a row's propensity differs from a policy's."""
    assert log.log_propensity is not None
    own = policy.log_prob(log.query[row : row + 1], log.ranking[row : row + 1])[0]
    return f"row {row} has log-propensity {log.log_propensity[row]:.6g}, {name} {own:.6g}"
