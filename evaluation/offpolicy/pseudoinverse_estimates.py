"""Pseudoinverse estimators: the log's rewards weighted slot by slot."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...common import checks
from ...common.runtime import warn_caller
from ...common.typing import Floats, Integers
from ...policies.placing.pages import place_log_probs
from ...policies.slates.moments import SAMPLES
from .importance import NoOverlap, say_estimated
from .inputs import Inputs
from .pseudoinverse_weights import PseudoinverseWeights
from .slate_estimates import RowWeights, SlateEstimate, estimate_by_weights


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
    tables = find_tables(inputs, weights, samples, seed)
    result = estimate_by_weights(inputs, weigh_slots(inputs, tables, "PI"), clip)
    factor = _reward_bound(inputs, delta, reward_bound)
    known = result.sigma_squared is not None and tables.exact
    if clip is None and known and tables.covers[_find_places(inputs, tables)].all():
        result.set_attributes(bound=factor * _bound_error(result, inputs, delta))
    return result


def wpi(
    inputs: Inputs,
    clip: float | None = None,
    weights: PseudoinverseWeights | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> SlateEstimate:
    """Return the ratio form of the pseudoinverse estimate (equation 7)."""
    tables = find_tables(inputs, weights, samples, seed)
    return estimate_by_weights(inputs, weigh_slots(inputs, tables, "weighted PI"), clip, ratio=True)


def find_tables(
    inputs: Inputs, made: PseudoinverseWeights | None, samples: int, seed: int
) -> PseudoinverseWeights:
    """Return the tables of weights for the log's policies: those ``made`` before, or new ones."""
    if made is None:
        logging, target = inputs.need_policy("logging"), inputs.need_policy("target")
        made = PseudoinverseWeights(logging, target, inputs.queries, samples, seed)
    if not isinstance(made, PseudoinverseWeights):
        raise ValueError(f"weights must be PseudoinverseWeights, not {type(made).__name__}")
    for name in ("logging", "target"):
        given = getattr(inputs, name)
        if given is not None and given is not getattr(made, name):
            raise ValueError(f"weights were made for another {name} policy than this very one")
    return made


def weigh_slots(inputs: Inputs, tables: PseudoinverseWeights, name: str) -> RowWeights:
    """Return the pseudoinverse weights of the rows, with σ² and ρ of the log's queries.

    Where policies place blocks, a weight is the page's times π/μ of the place, which is unbiased
    for rewards that are sums over slots given the block; σ² and ρ are then not known.
    """
    query, ranking = inputs.log.query, inputs.log.ranking
    values, places = tables.of(query, ranking), _find_places(inputs, tables)
    of_places = _weigh_places(inputs, tables)
    if of_places is not None:
        def variance_of(factors: Floats) -> float:
            return tables.sampling_variance(query, ranking, factors * of_places)

        found = RowWeights(values * of_places, name, variance_of)
        return say_estimated(found, inputs, tables.logging)
    counts = np.bincount(inputs.rows, inputs.counts)
    sigma_squared = float(counts @ tables.sigma_squared[places] / counts.sum())
    found = RowWeights(
        values,
        name if tables.exact else f"{name}, sampled marginals",
        partial(tables.sampling_variance, query, ranking),
        {"sigma_squared": sigma_squared, "rho": float(tables.rho[places].max())},
    )
    return say_estimated(found, inputs, tables.logging)


def _weigh_places(inputs: Inputs, tables: PseudoinverseWeights) -> Floats | None:
    """Return π/μ of the place of each row's block, (n,); None where policies place none."""
    log, logging, target = inputs.log, tables.logging, tables.target
    if not (logging.places_blocks or target.places_blocks):
        return None
    if not target.places_by_query:
        raise ValueError(
            f"target ({type(target).__name__}) may place blocks by the ranking, which "
            "pseudoinverse estimators cannot use; a policy whose places depend on the query alone "
            "says so: places_by_query = True"
        )
    rows, position = np.arange(len(log)), log.vertical_position
    column = np.zeros(len(log), dtype=np.int64) if position is None else position + 1
    query = log.query.astype(np.int64)
    asked, logged = (
        place_log_probs(policy, query, log.ranking, inputs.world) for policy in (target, logging)
    )
    wanted, shown = asked[rows, column], logged[rows, column]
    never = np.isneginf(shown)
    if never.any():
        row = int(never.argmax())
        raise ValueError(
            f"row {row} has its block at {column[row] - 1} for query {query[row]}, where the "
            "logging policy never places it: its propensity is zero"
        )
    _warn_of_places(query, np.where(np.isneginf(logged), np.exp(asked), 0.0).sum(axis=1))
    return np.exp(wanted - shown)


def _warn_of_places(query: Integers, outside: Floats) -> None:
    """Warn where logging never places a block as the target does, with ``outside`` (n,) chances."""
    if outside.any():
        worst = int(outside.argmax())
        warn_caller(
            "the target places blocks where the logging policy never does, for "
            f"{len(np.unique(query[outside > 0]))} of {len(np.unique(query))} queries (most for "
            f"query {query[worst]}, probability {outside[worst]:.2g}): those rewards are unknown",
            NoOverlap,
        )


def _find_places(inputs: Inputs, tables: PseudoinverseWeights) -> Integers:
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


def _bound_error(result: SlateEstimate, inputs: Inputs, delta: float) -> float:
    """Return the bound of Theorem 1 for rewards of at most 1."""
    assert result.sigma_squared is not None
    assert result.rho is not None
    n, logarithm = inputs.counts.sum(), math.log(2.0 / delta)
    first = math.sqrt(2.0 * result.sigma_squared * logarithm / n)
    return first + 2.0 * (result.rho + 1.0) * logarithm / (3.0 * n)
