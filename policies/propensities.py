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
    shows is an error; propensities that are not its own are warned about, unless ``logging`` is an
    estimate, whose propensities never are.
    """
    if not logging.has_log_prob:
        return
    if log.log_propensity is None:
        _check_possible(log, logging)
        return
    if logging.estimated:
        return
    difference = describe_difference(log, logging, "logging")
    if difference is not None:
        warn_caller(
            f"logging is not who made the log: {difference}. What divides by propensities takes "
            "the log's, what looks at slots takes logging's",
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


def describe_difference(log: ClickLog, policy: Policy, name: str) -> str | None:
    """Return in words the first propensity of the log that is not the policy's, or None.

    Only the first thousand rows are compared, and only where both propensities are known.
    """
    if log.log_propensity is None or not policy.has_log_prob:
        return None
    logged = log.log_propensity[:_CHECKED_ROWS]
    own = policy.log_prob(log.query[:_CHECKED_ROWS], log.ranking[:_CHECKED_ROWS])
    wrong = ~np.isclose(own, logged, atol=1e-6)
    if not wrong.any():
        return None
    row = int(wrong.argmax())
    return f"row {row} has log-propensity {logged[row]:.6g}, {name} {own[row]:.6g}"
