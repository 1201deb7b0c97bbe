"""Safe policies by name: each learns from a log, without a click model, what to show."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Floats
from ...data import ClickLog, World
from ..base import Policy
from ..by_query import ByQuery
from ..plackett_luce import PlackettLuce
from .climb import Objective, climb
from .evidence import Evidence, gather_evidence
from .exposure import expected_exposure
from .objectives import (
    Clicks,
    Divergence,
    LowerBound,
    Proximal,
    bound_strength,
    inverse_where_positive,
)

STEPS = 100
_ENOUGH = 1e-5  # of the clicks on a page: what is worth climbing on for
_ROUNDS = 3  # of the bound on the mean, whose root couples queries
BOUNDS = ("query", "mean")


def _climb(evidence: Evidence, objective: Objective, logits: Floats, steps: int) -> Floats:
    enough = _ENOUGH * evidence.clicks_per_page
    return climb(objective, logits, evidence.examination, enough, steps, evidence.lowest_logit)


def learn_from_clicks(
    evidence: Evidence,
    propensity: str = "policy",
    clip: float | None = None,
    steps: int = STEPS,
) -> Floats:
    """Return logits (A, N) with the most clicks by inverse propensity scoring.

    ``clip`` None is 10 / √impressions of the log, as is usual; it trades variance for bias.
    """
    if clip is None:
        clip = min(10.0 / np.sqrt(evidence.impressions.sum()), 1.0)
    rewards = evidence.attractiveness(propensity, clip)
    return _climb(evidence, Clicks(rewards), evidence.logits, steps)


def learn_lower_bound(
    evidence: Evidence,
    delta: float = 0.05,
    bound: str = "query",
    propensity: str = "log",
    clip: float = 0.0,
    steps: int = STEPS,
) -> Floats:
    """Return logits (A, N) with the highest lower bound of their value (exposure-based risk).

    ``bound`` "query": every query's value has its own bound, which holds with probability
    1 - ``delta``. "mean": one bound of the mean over queries, as in the paper; it is mild, because
    a policy's errors on many queries cancel, although those of the best of many policies do not.
    """
    checks.choice(bound, BOUNDS, "bound")
    rewards = evidence.attractiveness(propensity, clip)
    strength = bound_strength(evidence, delta)
    exposure = evidence.logging_exposure
    if bound == "query":
        return _climb(evidence, LowerBound(rewards, exposure, strength), evidence.logits, steps)
    # The root's tangent lies above it, and is a sum over queries: maximising it cannot do worse.
    total, logits = np.sqrt(1.0 / evidence.impressions.sum()), evidence.logits
    factor = float(total * strength[0] * np.sqrt(evidence.impressions[0]))
    inverse = inverse_where_positive(exposure)
    for _ in range(_ROUNDS):
        current = expected_exposure(logits, evidence.examination)
        root = np.sqrt(evidence.share @ (current**2 * inverse).sum(axis=1))
        logits = _climb(evidence, Divergence(rewards, exposure, 0.5 * factor / root), logits, steps)
    return logits


def learn_proximal(
    evidence: Evidence,
    low: float = 0.5,
    high: float = 2.0,
    propensity: str = "log",
    clip: float = 0.0,
    steps: int = STEPS,
) -> Floats:
    """Return logits (A, N) by proximal ranking policy optimisation (PRPO).

    ``low`` and ``high``: beyond these multiples of what the logging policy gives it, a document's
    attention earns nothing more. The paper's are 0.1 and 10.
    """
    low, high = (float(checks.finite(v, n, 0)) for v, n in ((low, "low"), (high, "high")))
    if not 0.0 <= low <= 1.0 <= high:
        raise ValueError(f"low must be within [0, 1] and high at least 1, not {low} and {high}")
    rewards = evidence.attractiveness(propensity, clip)
    objective = Proximal(rewards, evidence.logging_exposure, low, high)
    return _climb(evidence, objective, evidence.logits, steps)


# What each function takes beside the evidence are its choices.
_SAFE: dict[str, Callable[..., Floats]] = {
    "exposure-risk": learn_lower_bound,
    "prpo": learn_proximal,
    "ips": learn_from_clicks,
}


def safe_policy_names() -> tuple[str, ...]:
    """Return the names that ``safe_policy`` takes."""
    return tuple(_SAFE)


def safe_policy_choices(name: str) -> dict[str, Any]:
    """Return the choices of a safe policy and their defaults."""
    checks.choice(name, safe_policy_names(), "name")
    parameters = list(inspect.signature(_SAFE[name]).parameters.values())[1:]
    return {parameter.name: parameter.default for parameter in parameters}


def safe_policy(
    name: str,
    log: ClickLog,
    world: World,
    logging: Policy,
    slots: int = 10,
    seed: int = 0,
    *,
    examination: ArrayLike | None = None,
    **choices: Any,
) -> Policy:
    """Return the policy ``name`` learned from a log, without a click model that could be exploited.

    Plackett-Luce weights of every query's documents are learned from how often each was clicked
    and how much attention it had. Queries that the log never asked keep the logging policy, and
    what the logging policy never shows is not shown.

    Parameters
    ----------
    name : str
        "exposure-risk": exposure-based risk minimisation (Gupta, Oosterhuis and de Rijke 2023).
        "prpo": proximal ranking policy optimisation (the same, 2024). "ips": the policy gradient of
        clipped inverse propensity scoring, which is not safe, as what these improve on.
    log : ClickLog
        That ``logging`` made in ``world``.
    world : World
    logging : Policy
        With log-probabilities; ``policies.estimate_logging`` finds one for a log without them.
    slots : int
        K; that of the log.
    seed : int
        Of pages drawn of a logging policy whose placements are not known exactly; all else is
        exact, so with a Plackett-Luce policy it changes nothing.
    examination : (K,), optional
        How likely each slot is examined, up to a factor. None: that of a position-based model
        fitted to the log.
    choices
        See ``safe_policy_choices(name)``. All: ``propensity`` ("log": clicks are divided by the
        attention that a document had in the log, "policy": by the expected one), ``clip`` (the
        least attention per page that is divided by) and ``steps``. "exposure-risk": ``delta``
        (the bound may fail with this probability) and ``bound`` ("query" or "mean"). "prpo":
        ``low`` and ``high``. An unknown one is a ``TypeError``.

    Returns
    -------
    Policy
        A ``PlackettLuce``, with the temperature of ``logging`` if that is one. After other logging
        policies a ``ByQuery`` of one and ``logging``, if some queries were not asked.

    Notes
    -----
    Objectives are those of the module ``objectives``, and their gradients are exact: nothing is
    sampled. 100 queries of 30 candidates take 2 to 6 seconds on one core.
    """
    slots = checks.positive_integer(slots, "slots")
    seed = checks.positive_integer(seed, "seed", 0)
    known = safe_policy_choices(name)
    unknown = sorted(set(choices) - set(known))
    if unknown:
        raise TypeError(
            f"the safe policy {name} has no choice {', '.join(unknown)}; it has: {', '.join(known)}"
        )
    if "steps" in choices:
        checks.positive_integer(choices["steps"], "steps")
    if slots != log.slots:
        raise ValueError(f"slots is {slots}, but the log has {log.slots}")
    evidence = gather_evidence(log, world, logging, examination, seed)
    return _make_policy(_SAFE[name](evidence, **choices), evidence, world)


def _make_policy(logits: Floats, evidence: Evidence, world: World) -> Policy:
    """Return the policy of logits (A, N), and the logging policy for the queries not asked."""
    asked, logging, weights = evidence.queries, evidence.logging, np.zeros(world.candidates.shape)
    if isinstance(logging, PlackettLuce):
        weights = logging.weights.copy()
    weights[asked] = np.exp(logits * evidence.temperature)
    policy = PlackettLuce(weights, evidence.temperature, logging.slots)
    policy.fingerprint = world.fingerprint
    if isinstance(logging, PlackettLuce) or len(asked) == world.n_queries:
        return policy
    which = np.ones(world.n_queries, dtype=np.int64)
    which[asked] = 0
    return ByQuery([policy, logging], which)
