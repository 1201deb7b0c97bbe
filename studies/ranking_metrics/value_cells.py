"""Off-policy estimates of what every scoring function would earn, from the same traffic."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import clickmodels, evaluation, policies
from ...common.typing import Floats
from ...data import ClickLog
from ...evaluation import PseudoinverseWeights
from ..engine.grid import Result
from .setting import Scene, TrafficSetting, scene_of

VERSION = "1"
PLAIN, PSEUDOINVERSE, ROBUST = ("ips", "wips"), ("pi", "wpi"), ("dr-ips", "dr-pi")
DIRECT = {"dm-pbm": "PBM", "dm-dctr": "dCTR"}  # click models whose promise is taken
ESTIMATORS = (*PLAIN, *PSEUDOINVERSE, *ROBUST, *DIRECT)
_REWARD_MODEL = "PBM"  # of the doubly robust estimates
_MARGINALS = 50_000  # pages drawn for a query's marginals where they are not exact


@dataclass(frozen=True)
class ValueCell:
    """All off-policy estimates of one banner and seed; ``sizes`` are lengths of logs."""

    traffic: TrafficSetting
    sizes: tuple[int, ...]


# Name, impressions of the log, and each function's estimate and standard error.
RESULT: dict[str, Any] = {"estimates": list[tuple[str, int, list[float], list[float | None]]]}


def value_cell(cell: ValueCell) -> Result:
    """Estimate the value of every function's ranker, from pages that production ordered."""
    scene = scene_of(cell.traffic)
    world, policy = scene.world, scene.traffic.policy
    targets = [policies.Ranker(one, cell.traffic.slots, world=world) for one in scene.scores]
    found = []
    with warnings.catch_warnings():  # where nothing overlaps, the standard error says so
        warnings.simplefilter("ignore", evaluation.NoOverlap)
        tables = PseudoinverseWeights.of_targets(
            policy, targets, np.arange(world.n_queries), _MARGINALS
        )
        for size in cell.sizes:
            by_target = [
                _estimate_all(scene, scene.ordered(size), models, target, table)
                for models in [_fit_models(scene, scene.ordered(size))]
                for target, table in zip(targets, tables, strict=True)
            ]
            found += [
                (name, size, [one[name][0] for one in by_target],
                 [one[name][1] for one in by_target])
                for name in ESTIMATORS
            ]  # fmt: skip
    return {"estimates": found}


@dataclass(frozen=True)
class _Models:
    """Click models fitted to a log: to the whole of it, and to its halves crosswise.

    ``halves`` has for each half its rows, the reward model of the other half, and what that one
    expects of the rows.
    """

    direct: dict[str, clickmodels.ClickModel]
    halves: list[tuple[ClickLog, clickmodels.ClickModel, Floats]]


def _fit_models(scene: Scene, log: ClickLog) -> _Models:
    world, seed = scene.world, scene.setting.seed
    first, second = log[::2], log[1::2]
    halves = []
    for part, other in ((first, second), (second, first)):
        model = clickmodels.fit(_REWARD_MODEL, other, world, seed)
        halves.append((part, model, model.expected_clicks(part.query, part.ranking)))
    direct = {
        name: clickmodels.fit(model, log, world, seed) for name, model in DIRECT.items()
    }
    return _Models(direct, halves)


def _estimate_all(
    scene: Scene,
    log: ClickLog,
    models: _Models,
    target: policies.Policy,
    table: PseudoinverseWeights,
) -> dict[str, tuple[float, float | None]]:
    """Return each estimate with its standard error, None where nothing is known."""
    policy, world = scene.traffic.policy, scene.world

    def ask(name: str, part: ClickLog, **options: Any) -> evaluation.SlateEstimate:
        rewards = evaluation.slate_rewards("clicks", part)
        return evaluation.estimate(name, part, rewards, policy, target, world, **options)

    found = {name: _plain(ask(name, log)) for name in PLAIN}
    found |= {name: _plain(ask(name, log, weights=table)) for name in PSEUDOINVERSE}
    for name in ROBUST:
        given = {"weights": table} if name == "dr-pi" else {}
        halves = [
            ask(name, part, direct=model, predictions=expected, **given)
            for part, model, expected in models.halves
        ]
        value = sum(float(one) for one in halves) / 2.0
        error = math.hypot(*(one.stderr for one in halves)) / 2.0
        found[name] = value, error if math.isfinite(error) else None
    for name, model in models.direct.items():
        found[name] = float(evaluation.value(target, model, world)), None
    return found


def _plain(estimate: evaluation.SlateEstimate) -> tuple[float, float | None]:
    return float(estimate), estimate.stderr if math.isfinite(estimate.stderr) else None
