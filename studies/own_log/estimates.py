"""Off-policy estimates of the policies, from held-out pages and without any model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from ... import evaluation, policies
from ...common import checks
from ...data import ClickLog, World
from ..engine.shapes import Unbounded
from .cells import OwnPolicyCell, found_policy
from .kept_logs import kept_logs
from .source import TEST, WHOLE

VERSION = "3"
ESTIMATORS = {"wips": "weighted IPS", "wpi": "weighted PI"}
_DRAWN = (500, 5_000, 2_000_000)  # pages for a query's marginals: least, most, and all together
_MOST_QUERIES = 2_000  # whose marginals are found
_MOST_PLACES = 2_000  # slots times candidates of a query; marginals take its square
_TOO_MANY = "too many queries or candidates for the marginals that weighted PI needs"


@dataclass(frozen=True)
class EstimateCell:
    """Policies of one log, whose values are estimated from held-out pages."""

    policies: tuple[OwnPolicyCell, ...]


class Estimated(TypedDict):
    """Estimates by policy and estimator, and who is taken to have made the log.

    An estimate is its value and the bounds of its interval (all cut to what clicks per page can
    be), and its effective sample size.
    """

    logging: str
    doubts: list[str]
    left_out: int
    values: dict[str, dict[str, list[Unbounded]]]


def estimate_cell(cell: EstimateCell) -> Estimated:
    """Estimate the policies' values; propensities are the log's own, or estimated from it all.

    Pages that show a document twice, which no policy does, are left out.
    """
    targets = {one.name: found_policy(one) for one in cell.policies}
    fit = cell.policies[0].fit
    world, parts = kept_logs(fit.logs)
    with warnings.catch_warnings():  # doubts and effective sample sizes say it on the page
        warnings.simplefilter("ignore", UserWarning)
        whole, held_out = (parts[name] for name in (WHOLE, TEST))
        log, test = (one[~checks.find_repeats(one.ranking)] for one in (whole, held_out))
        logging = policies.estimate_logging(log, world, seed=fit.seed)
        values, missing = _estimate(test, logging, targets, world)
    own = whole.log_propensity is not None
    kind = "its own, as logged" if own else f"estimated from the log ({logging.kind})"
    doubts = [*missing, *([] if own else logging.doubts)]
    left_out = len(held_out) - len(test)
    return {"logging": kind, "doubts": doubts, "left_out": left_out, "values": values}


def _estimate(
    log: ClickLog,
    logging: policies.Policy,
    targets: Mapping[str, policies.Policy],
    world: World,
) -> tuple[dict[str, dict[str, list[float]]], list[str]]:
    """Return the estimates by policy and estimator, and what could not be estimated."""
    if not len(log):
        return {name: {} for name in targets}, ["no held-out page is left to estimate from"]
    clicks = evaluation.slate_rewards("clicks", log)
    queries = np.unique(log.query)
    places = log.slots * int(world.n_candidates[queries].max())
    tables = None
    if len(queries) <= _MOST_QUERIES and places <= _MOST_PLACES:
        least, most, together = _DRAWN
        samples = int(np.clip(together // len(queries), least, most))
        made = evaluation.PseudoinverseWeights.of_targets(
            logging, list(targets.values()), queries, samples
        )
        tables = dict(zip(targets, made, strict=True))
    found: dict[str, dict[str, list[float]]] = {}
    for name, target in targets.items():
        given = {"wips": {}} if tables is None else {"wips": {}, "wpi": {"weights": tables[name]}}
        estimates = {
            estimator: evaluation.estimate(
                estimator, log, clicks, logging, target, world, **options
            )
            for estimator, options in given.items()
        }
        found[name] = {
            estimator: [
                one.value_within(0, log.slots), *one.interval_within(0, log.slots),
                one.effective_sample_size,
            ]
            for estimator, one in estimates.items()
        }
    return found, [_TOO_MANY] if tables is None else []
