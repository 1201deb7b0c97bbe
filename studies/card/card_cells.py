"""One simulated deployment: a log, its witnesses, policies of all sorts, and what they earn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ... import envs, evaluation, policies
from ...clickmodels import ClickModel
from ...evaluation.deployment.evidence import gather
from ...evaluation.deployment.witnesses import Witnesses, call_witnesses
from ...policies import Policy
from ..engine.grid import Result
from ..worlds import UserParameters, WorldSetting, logging_of, ranker_of, user_of, world_of
from .card_policies import Drawing, draw_policy

VERSION = "1"
SAMPLES = 3_000  # pages of a stochastic policy, for its value
_MARGINALS = 1_000  # pages for marginals that are not exact
_JUDGED = 6  # policies of a log that rivals estimate, too


@dataclass(frozen=True)
class CardCell:
    """A log and the families of the policies that follow it; ``seed`` draws both.

    With ``rivals`` PI, DR and a click model's promise estimate the first six of the policies.
    """

    user: str
    parameters: UserParameters
    logging: str
    temperature: float
    world: WorldSetting
    impressions: int
    seed: int
    families: tuple[str, ...]
    rivals: bool = False
    slots: int = 10


RESULT = {
    "logging_value": float, "earned": float, "best": float, "random": float, "policies": list[Any],
}  # fmt: skip


def card_cell(cell: CardCell) -> Result:
    """Log, fit the witnesses, make the policies, gather evidence, and deploy."""
    world, user = world_of(cell.world), user_of(cell.user, cell.world, cell.slots, cell.parameters)
    logging = logging_of(cell.logging, cell.world, cell.slots, cell.temperature)
    log = envs.collect(world, user, logging, cell.impressions, cell.seed)
    witnesses = call_witnesses(log, world, logging)
    ranker = partial(ranker_of, setting=cell.world, slots=cell.slots, world=world)
    assert isinstance(logging, policies.PlackettLuce)
    drawing = Drawing(world, log, logging, ranker, np.random.default_rng(cell.seed))
    drawn = [draw_policy(family, drawing) for family in cell.families]
    records: list[dict[str, Any]] = []
    for family, (name, policy) in zip(cell.families, drawn, strict=True):
        deployed = evaluation.value(policy, user, world, SAMPLES, cell.seed)
        numbers = gather(policy, witnesses, cell.seed).numbers
        records.append({
            "family": family, "policy": name, "deployed": deployed.value, "numbers": numbers,
        })  # fmt: skip
    if cell.rivals:
        _, plain = drawing.model("UBM", "plain")
        targets = [policy for _, policy in drawn[:_JUDGED]]
        found = _estimate(witnesses, logging, targets, plain, cell.seed)
        for record, rivals in zip(records, found, strict=False):
            record["rivals"] = rivals
    best = policies.max_reward(user, world, cell.slots, restarts=0)
    assert best.found is not None
    assert best.found.promise is not None
    return {
        "logging_value": evaluation.value(logging, user, world, SAMPLES, cell.seed).value,
        "earned": witnesses.earned.value,
        "best": best.found.promise,
        "random": evaluation.value(policies.Uniform(world, cell.slots), user, world, SAMPLES).value,
        "policies": records,
    }


def _estimate(
    witnesses: Witnesses,
    logging: Policy,
    targets: Sequence[Policy],
    model: ClickModel,
    seed: int,
) -> list[dict[str, Any]]:
    """Return for each target the model's promise, PI and DR, with 95% intervals."""
    log, world = witnesses.log, witnesses.world
    clicks = evaluation.slate_rewards("clicks", log)
    made = []
    with warnings.catch_warnings():  # without overlap their intervals say it, or do not
        warnings.simplefilter("ignore", evaluation.NoOverlap)
        tables = evaluation.PseudoinverseWeights.of_targets(
            logging, targets, np.unique(log.query), _MARGINALS, seed
        )
        for target, table in zip(targets, tables, strict=True):
            options: dict[str, dict[str, Any]] = {
                "wpi": {}, "dr-pi": {"direct": model, "samples": 100, "seed": seed},
            }  # fmt: skip
            one: dict[str, Any] = {
                "promise": evaluation.value(target, model, world, SAMPLES, seed).value
            }
            for name, given in options.items():
                found = evaluation.estimate(
                    name, log, clicks, logging, target, world, weights=table, **given
                )
                known = np.isfinite(found.stderr)
                one[name] = {
                    "value": found.value,
                    "low": found.low if known else None,
                    "high": found.high if known else None,
                    "size": found.effective_sample_size,
                }
            made.append(one)
    return made
