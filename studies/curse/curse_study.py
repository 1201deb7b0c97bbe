"""Figure 2 of the robustness paper: policies optimised inside click models, deployed on users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ... import clickmodels, evaluation, policies
from ...common import checks
from ..engine.artefacts import fit_parts
from ..engine.grid import Result, require_results, run_grid
from ..setting import (
    WorldSetting,
    check_page,
    logging_of,
    logs_of,
    require_generative,
    shown_in,
    user_of,
    world_of,
)

CURSE_MODELS = ("PBM", "UBM", "DBN", "ARM", "CACM-minus", "NCM")
VERSION = "3"
_SAMPLES = 5_000  # rankings of the logging policy; the optimised policies are exact


@dataclass(frozen=True)
class CurseCell:
    """One click model, fitted to one log, and its two policies.

    ``documents`` that the policies may show: those that the training log "shown" (as in the
    paper), or "all" candidates.
    """

    user: str
    logging: str
    model: str
    seed: int
    world: WorldSetting = field(default_factory=WorldSetting)
    impressions: int = 100_000
    slots: int = 10
    parameters: str = "table"
    documents: str = "shown"


def curse_cell(cell: CurseCell) -> Result:
    """Fit the model, optimise inside it, deploy; return all values in clicks a page."""
    world, user = world_of(cell.world), user_of(cell.user, cell.world)
    logging = logging_of(cell.logging, cell.world, cell.slots)
    setting = (cell.user, cell.logging, cell.world, cell.slots, cell.impressions, cell.seed)
    train, validation, test = logs_of(*setting)
    model = fit_parts(cell.model, train, validation, world, cell.seed, cell.parameters)
    allowed = shown_in(train, world) if cell.documents == "shown" else world
    relevance = policies.top_down(model, allowed, cell.slots)
    optimised = policies.max_reward(model, allowed, cell.slots, seed=cell.seed)
    top_down, max_reward = (
        evaluation.curse(policy, model, user, world, logging, samples=_SAMPLES, seed=cell.seed)
        for policy in (relevance, optimised)
    )
    assert optimised.found is not None
    random = evaluation.value(policies.Uniform(world, cell.slots), user, world)
    return {
        "perplexity": evaluation.perplexity(model, test).mean,
        "top_down": _values(top_down),
        "max_reward": _values(max_reward),
        "best_is": "unknown" if max_reward.best is None else max_reward.best.method,
        "method": optimised.found.method,
        "scored": optimised.found.scored,
        "random": random.value,
    }


def curse_study(
    folder: str | Path,
    users: Sequence[str] = ("CoCM", "CoCM-mismatch"),
    loggings: Sequence[str] = ("epsilon-oracle", "LambdaMART", "BM25"),
    models: Sequence[str] = CURSE_MODELS,
    seeds: int = 5,
    world: WorldSetting | None = None,
    impressions: int = 100_000,
    slots: int = 10,
    parameters: str = "table",
    documents: str = "shown",
    jobs: int = 1,
    retry_failed: bool = False,
) -> list[dict[str, Any]]:
    """Return a row for every user, logging policy, model and seed that could be computed.

    A row has the cell's settings, and the numbers of ``curse_cell`` under flat names such as
    ``max_reward_gap``. Finished cells are files in ``folder``; the same call goes on from them.
    """
    for name, given, known in (
        ("users", users, clickmodels.user_names()),
        ("loggings", loggings, policies.ranker_names()),
        ("models", models, clickmodels.names()),
        ("parameters", [parameters], ("table", "embedding")),
        ("documents", [documents], ("shown", "all")),
    ):
        for one in given:
            checks.choice(one, known, name)
    seeds = checks.positive_integer(seeds, "seeds")
    setting = WorldSetting() if world is None else world
    require_generative(models)
    check_page(setting, slots, impressions, jobs)
    cells = [
        CurseCell(user, logging, model, seed, setting, impressions, slots, parameters, documents)
        for seed in range(seeds)
        for model in sorted(dict.fromkeys(models), key=lambda name: name != "NCM")  # longest first
        for user in dict.fromkeys(users)
        for logging in dict.fromkeys(loggings)
    ]
    description = "fitting, optimising, deploying"
    results = run_grid(curse_cell, cells, folder, VERSION, jobs, description, retry_failed)
    require_results(cells, results, folder, VERSION)
    pairs = zip(cells, results, strict=True)
    return [_row(cell, result) for cell, result in pairs if result is not None]


def _values(report: evaluation.CurseReport) -> dict[str, float]:
    """Return the numbers of a report; its own Top-Down ranks all candidates, so it is left out."""
    return {name: n.value for name, n in report.numbers().items() if name != "top_down"}


def _row(cell: CurseCell, result: Result) -> dict[str, Any]:
    row = {name: value for name, value in asdict(cell).items() if name != "world"}
    for name, value in result.items():
        if isinstance(value, dict):
            row |= {f"{name}_{inner}": number for inner, number in value.items()}
        else:
            row[name] = value
    return row
