"""The metrics of every scoring function on one banner's traffic."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import evaluation, policies
from ...common.typing import Floats
from ...data import ClickLog
from ...evaluation import DrawnPairs, PagePairs
from ..engine.grid import Result
from .setting import Scene, TrafficSetting, scene_of
from .traffic import production_policy

VERSION = "1"
_PAGE_SAMPLES = 4  # pages drawn against each clicked page
WRONG_TEMPERATURE = 1.5  # the factor by which "sharper" and "flatter" policies are wrong


@dataclass(frozen=True)
class MetricCell:
    """All metrics of one banner and seed.

    ``sizes`` are lengths of logs, ascending; the last is the whole one. ``variants``: whether
    metrics with policies that are only roughly known, and those of section 5, are computed too.
    """

    traffic: TrafficSetting
    sizes: tuple[int, ...]
    variants: bool = True


# Name, impressions of the log, accepted share, and each function's value and standard error.
Measured = tuple[str, int, float, list[float], list[float]]
RESULT: dict[str, Any] = {
    "ctr": dict[str, list[float]], "functions": dict[str, list[float]],
    "metrics": list[Measured], "queries": dict[str, list[float]],
}  # fmt: skip


def metric_cell(cell: MetricCell) -> Result:
    """Return click-through rates by rank, the functions' values and metrics, accepted mass."""
    scene = scene_of(cell.traffic)
    world, functions, traffic = scene.world, scene.functions, scene.traffic
    rankers = [policies.Ranker(one, cell.traffic.slots, world=world) for one in scene.scores]
    deployed = [float(evaluation.value(one, scene.user, world)) for one in rankers]
    whole = evaluation.counterfactual_pairs(traffic.log, traffic.policy)
    return {
        "ctr": {
            "production": traffic.log.clicks.mean(axis=0).tolist(),
            "shuffled": traffic.reference.clicks.mean(axis=0).tolist(),
        },
        "functions": {
            "deployed": deployed,
            "quality": functions.quality.tolist(),
            "inherited": functions.inherited.tolist(),
            "closeness": functions.closeness.tolist(),
        },
        "metrics": [
            _measure(name, size, pairs, scene)
            for name, size, pairs in _every_metric(cell, scene, whole)
        ],
        "queries": _by_query(scene, whole),
    }


def _every_metric(
    cell: MetricCell, scene: Scene, whole: DrawnPairs
) -> Iterator[tuple[str, int, DrawnPairs | PagePairs]]:
    """Give the name, the length of the log and the pairs of each metric."""
    traffic, last = scene.traffic, cell.sizes[-1]
    yield "reference", cell.traffic.reference, evaluation.naive_pairs(traffic.reference)
    for size in cell.sizes:
        log = scene.ordered(size)
        yield "pairwise", size, evaluation.naive_pairs(log)
        yield "shuffled", size, evaluation.naive_pairs(scene.shuffled(size))
        pairs = whole if size == last else evaluation.counterfactual_pairs(log, traffic.policy)
        yield "counterfactual", size, pairs
        if cell.variants:
            pairs = evaluation.counterfactual_pairs(log, traffic.policy, resample="page")
            yield "pages", size, pairs
    if cell.variants:
        yield "page-ndcg", last, PagePairs(
            traffic.log, traffic.policy, _PAGE_SAMPLES, cell.traffic.seed
        )
        yield "uniform", last, evaluation.counterfactual_pairs(
            scene.shuffled(last), policies.Uniform(scene.world, cell.traffic.slots)
        )
        unknown = replace(scene.ordered(last), log_propensity=None)
        for name, policy in _rough_policies(scene, unknown).items():
            with warnings.catch_warnings():  # that they do not fit the log is what is studied
                warnings.simplefilter("ignore", evaluation.WrongLogging)
                pairs = evaluation.counterfactual_pairs(unknown, policy)
            yield name, last, pairs


def _rough_policies(scene: Scene, log: ClickLog) -> dict[str, policies.Policy]:
    """Return policies that are not quite production's: estimated, or at a wrong temperature."""
    setting = scene.setting
    with warnings.catch_warnings():  # that propensities are uncertain is what is studied
        warnings.simplefilter("ignore", policies.UncertainPropensities)
        estimated = policies.estimate_logging(log, scene.world, "plackett-luce", setting.seed)
    found: dict[str, policies.Policy] = {"estimated": estimated}
    for name, factor in (("sharper", 1 / WRONG_TEMPERATURE), ("flatter", WRONG_TEMPERATURE)):
        found[name] = production_policy(
            scene.world, scene.production, setting.banner, setting.temperature * factor
        )
    return found


def _measure(name: str, size: int, pairs: DrawnPairs | PagePairs, scene: Scene) -> Measured:
    found = pairs.disagreements(scene.scores)
    values = [float(one) for one in found]
    return name, size, 1.0 - found[0].rejected, values, [one.stderr for one in found]


def _by_query(scene: Scene, pairs: DrawnPairs) -> dict[str, list[float]]:
    """Return by query the clicks, the share of accepted mass, and how sure production is.

    The last is the probability that production's usual product (its most likely one) stands
    first.
    """
    n_queries = scene.world.n_queries
    counts = pairs.counts[pairs.page]
    clicks = np.bincount(pairs.query, counts, n_queries)
    accepted = np.bincount(pairs.query, counts * pairs.mass, n_queries)
    weights: Floats = scene.traffic.policy.weights
    sure = weights.max(axis=1) / np.maximum(weights.sum(axis=1), 1e-300)
    return {
        "clicks": clicks.tolist(),
        "accepted": (accepted / np.maximum(clicks, 1.0)).tolist(),
        "sure": sure.tolist(),
    }
