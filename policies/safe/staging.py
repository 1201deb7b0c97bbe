"""Staged deployment: a new policy on as much traffic as the worst case allows."""

from __future__ import annotations

from ...common import checks
from ..base import Policy
from ..mixture import Mixture


def staged_share(logging_value: float, max_loss: float, low: float = 0.0) -> float:
    """Return the largest share of traffic that cannot lose more than ``max_loss`` on average.

    With a share ε for a new policy that is worth at least ``low``, a page is worth at least
    (1 - ε) V₀ + ε low, so that ε (V₀ - low) ≤ max_loss bounds the loss: ε = max_loss / (V₀ - low),
    at most 1, and 1 where ``low`` is no less than V₀.

    Parameters
    ----------
    logging_value : float
        V₀, expected clicks on a page of the logging policy; or an upper bound of it.
    max_loss : float
        Clicks per page, at least 0.
    low : float
        A pessimistic value of the new policy. 0, the worst case, needs no model and no estimate.
    """
    value, loss, low = (
        float(checks.finite(number, name, 0))
        for number, name in ((logging_value, "logging_value"), (max_loss, "max_loss"), (low, "low"))
    )
    for number, name in ((value, "logging_value"), (loss, "max_loss"), (low, "low")):
        if number < 0:
            raise ValueError(f"{name} must be at least 0, not {number}")
    if value - low <= loss:
        return 1.0
    return loss / (value - low)


def stage(
    new: Policy, logging: Policy, logging_value: float, max_loss: float, low: float = 0.0
) -> Mixture:
    """Return ``new`` on ``staged_share`` of the pages, and ``logging`` on the others.

    Every page is drawn by itself, so the mixture's value is exactly the weighted mean of both; its
    ``weights`` are (1 - ε, ε), and its log has the propensities of the mixture, which the next
    policy can be learned from.

    Parameters
    ----------
    new, logging : Policy
        For the same queries, candidates and slots; with log-probabilities.
    logging_value, max_loss, low : float
        See ``staged_share``.
    """
    share = staged_share(logging_value, max_loss, low)
    return Mixture([logging, new], [1.0 - share, share])
