"""Estimators that weight the log's rewards: on-policy, IPS and pseudoinverse."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...common import checks
from ...common.runtime import warn_caller
from ...policies.propensities import WrongLogging, describe_difference, find_other_propensity
from ...policies.slates.moments import SAMPLES
from .importance import importance_weights, warn_without_overlap
from .inputs import Inputs
from .pi_weights import PseudoinverseWeights
from .slate_estimates import (
    SlateEstimate,
    about_weights,
    mean_of,
    nothing_known,
    ratio_of,
    without_spread,
)


def on_policy(inputs: Inputs) -> SlateEstimate:
    """Return the mean reward of a log that the target policy itself made."""
    _check_own_log(inputs)
    result = mean_of(inputs.rewards, inputs.counts, "on-policy mean")
    return result.saying(**about_weights(np.ones(len(inputs.rewards)), inputs.counts))


def _check_own_log(inputs: Inputs) -> None:
    """Warn where propensities say that the log is not the target's own."""
    row = None if inputs.target is None else find_other_propensity(inputs.log, inputs.target)
    if row is not None:
        found = describe_difference(inputs.log, inputs.need_target(), row, "the target")
        warn_caller(
            f"the log is not the target's own: {found}; this is the value of whoever made it",
            WrongLogging,
        )


def ips(inputs: Inputs, clip: float | None = None, seed: int = 0) -> SlateEstimate:
    """Return the mean of rewards times π/μ (equation 4, left)."""
    return _by_weights(inputs, importance_rows(inputs, seed), None, clip, "IPS", weighted=False)


def wips(inputs: Inputs, clip: float | None = None, seed: int = 0) -> SlateEstimate:
    """Return the ratio form of IPS (equation 4, right)."""
    rows = importance_rows(inputs, seed)
    return _by_weights(inputs, rows, None, clip, "weighted IPS", weighted=True)


def importance_rows(inputs: Inputs, seed: int) -> NDArray[np.float64]:
    """Return the importance weights of the rows, (n,), after looking for overlap."""
    target = inputs.need_target()
    weights = importance_weights(inputs.log, target, inputs.logging)
    warn_without_overlap(inputs.logging, target, inputs.queries, seed)
    return weights


def pi(
    inputs: Inputs,
    clip: float | None = None,
    weights: PseudoinverseWeights | None = None,
    delta: float = 0.05,
    reward_bound: float | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> SlateEstimate:
    """Return the pseudoinverse estimate (equation 6) with σ², ρ and the bound of Theorem 1."""
    tables, values = pseudoinverse_rows(inputs, weights, samples, seed)
    result = _by_weights(inputs, values, tables, clip, method_of("PI", tables), weighted=False)
    with_overlap(result, inputs, tables)
    factor = _reward_bound(inputs, delta, reward_bound)
    if clip is None and tables.exact and tables.covered[_places(inputs, tables)].all():
        result.saying(bound=factor * _theorem_1(result, inputs, delta))
    return result


def wpi(
    inputs: Inputs,
    clip: float | None = None,
    weights: PseudoinverseWeights | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> SlateEstimate:
    """Return the ratio form of the pseudoinverse estimate (equation 7)."""
    tables, values = pseudoinverse_rows(inputs, weights, samples, seed)
    method = method_of("weighted PI", tables)
    result = _by_weights(inputs, values, tables, clip, method, weighted=True)
    return with_overlap(result, inputs, tables)


def pseudoinverse_rows(
    inputs: Inputs, made: PseudoinverseWeights | None, samples: int, seed: int
) -> tuple[PseudoinverseWeights, NDArray[np.float64]]:
    """Return the tables of pseudoinverse weights, and the weights of the rows, (n,)."""
    if made is None:
        logging, target = inputs.need_logging(), inputs.need_target()
        made = PseudoinverseWeights(logging, target, inputs.queries, samples, seed)
    if not isinstance(made, PseudoinverseWeights):
        raise ValueError(f"weights must be PseudoinverseWeights, not {type(made).__name__}")
    for name in ("logging", "target"):
        given = getattr(inputs, name)
        if given is not None and given is not getattr(made, name):
            raise ValueError(f"weights were made for another {name} policy than this very one")
    return made, made.of(inputs.log.query, inputs.log.ranking)


def method_of(name: str, tables: PseudoinverseWeights) -> str:
    """Return the method of an estimator, with what was sampled for it."""
    return name if tables.exact else f"{name}, sampled marginals"


def with_overlap(
    result: SlateEstimate, inputs: Inputs, tables: PseudoinverseWeights
) -> SlateEstimate:
    """Set σ² and ρ of the log's queries."""
    places = _places(inputs, tables)
    counts = np.bincount(inputs.rows, inputs.counts)
    sigma_squared = float(counts @ tables.sigma_squared[places] / counts.sum())
    return result.saying(sigma_squared=sigma_squared, rho=float(tables.rho[places].max()))


def _places(inputs: Inputs, tables: PseudoinverseWeights) -> NDArray[np.int64]:
    """Return where the tables have the log's queries, (q,)."""
    return np.searchsorted(tables.queries, inputs.queries)


def _reward_bound(inputs: Inputs, delta: float, reward_bound: float | None) -> float:
    """Return what rewards never exceed, after checking Theorem 1's options."""
    if not 0 < float(checks.finite(delta, "delta", 0)) < 1:
        raise ValueError(f"delta must be between 0 and 1, not {delta}")
    largest = float(np.abs(inputs.rewards).max())
    bound = max(largest, 1.0)
    if reward_bound is not None:
        bound = float(checks.finite(reward_bound, "reward_bound", 0))
    if bound < largest:
        raise ValueError(f"reward_bound is {bound}, but a reward has size {largest}")
    return bound


def _theorem_1(result: SlateEstimate, inputs: Inputs, delta: float) -> float:
    """Return the bound of Theorem 1 for rewards of at most 1."""
    assert result.sigma_squared is not None
    assert result.rho is not None
    n, logarithm = inputs.counts.sum(), math.log(2.0 / delta)
    first = math.sqrt(2.0 * result.sigma_squared * logarithm / n)
    return first + 2.0 * (result.rho + 1.0) * logarithm / (3.0 * n)


def _by_weights(
    inputs: Inputs,
    weights: NDArray[np.float64],
    tables: PseudoinverseWeights | None,
    clip: float | None,
    method: str,
    weighted: bool,
) -> SlateEstimate:
    weights, method = clipped(weights, clip, method)
    counts, rewards = inputs.counts, inputs.rewards
    if not weights[counts > 0].any() or (weighted and not counts @ weights > 0):
        result = nothing_known(counts, method)
    elif weighted:
        total = float(counts @ weights)
        errors = rewards - float(counts @ (weights * rewards)) / total
        extra = drawn_variance(inputs, tables, counts * errors / total, weights, clip)
        result = ratio_of(weights, rewards, counts, f"{method}, ratio", extra)
    else:
        extra = drawn_variance(inputs, tables, counts * rewards / counts.sum(), weights, clip)
        result = mean_of(weights * rewards, counts, method, extra)
    about = about_weights(weights, counts)
    if math.isfinite(result.stderr) and _no_spread(weights, inputs, weighted):
        result = without_spread(result, rewards[counts > 0], about["effective_sample_size"])
    return result.saying(**about)


def _no_spread(weights: NDArray[np.float64], inputs: Inputs, weighted: bool) -> bool:
    """Whether an estimate looks certain because the rows that it rests on are alike.

    All rewards that have a weight are equal (for a plain mean: 0), although others differ.
    """
    counted = inputs.counts > 0
    rewards = inputs.rewards[counted]
    some = rewards[weights[counted] != 0]
    if not len(some) or np.ptp(rewards) == 0:
        return False
    return bool(np.ptp(some) == 0) if weighted else not some.any()


def drawn_variance(
    inputs: Inputs,
    tables: PseudoinverseWeights | None,
    factors: NDArray[np.float64],
    weights: NDArray[np.float64],
    clip: float | None,
) -> float:
    """Return the variance of Σ weight · factor, (n,) each, that drawn marginals bring.

    Weights that were clipped stay what they are.
    """
    if tables is None:
        return 0.0
    if clip is not None:
        factors = np.where(np.abs(weights) < clip, factors, 0.0)
    return tables.sampling_variance(inputs.log.query, inputs.log.ranking, factors)


def clipped(
    weights: NDArray[np.float64], clip: float | None, method: str
) -> tuple[NDArray[np.float64], str]:
    """Return the weights within ± ``clip``, and the method that says so."""
    if clip is None:
        return weights, method
    limit = float(checks.finite(clip, "clip", 0))
    if limit <= 0:
        raise ValueError(f"clip must be above 0, not {limit}")
    return np.clip(weights, -limit, limit), f"{method}, clipped at {limit:g}"
