"""Agents trained inside learned click models and deployed on true users, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ... import agents, clickmodels, envs, evaluation, policies
from ...common import checks
from ..engine.artefacts import FIT_VERSION, FitCell, fit_cell, fitted_model
from ..engine.grid import Result, require_results, run_grid
from ..engine.plugins import import_modules
from ..setting import WorldSetting, check_page, logging_of, require_generative, user_of, world_of

VERSION = "3"
TRUE_USER = "true user"  # instead of a click model: the agent learns from the user itself
_SAMPLES, _EXPENSIVE_SAMPLES = 5_000, 1_000  # rankings of stochastic policies in the report
SMALL = WorldSetting(n_queries=100, n_docs=30)


@dataclass(frozen=True)
class CompareCell:
    """One training run: an agent inside a click model, or on the true user itself.

    ``settings`` are all of the agent's, so that changed defaults make another cell.
    """

    agent: str
    fit: FitCell
    pages: int = 50_000
    settings: dict[str, Any] = field(default_factory=dict)


def compare_cell(cell: CompareCell) -> Result:
    """Train the agent, deploy its policy; return the curse and how it came about."""
    fit = cell.fit
    import_modules(fit.modules)
    world, user = world_of(fit.world), user_of(fit.user, fit.world)
    inside = user if fit.model == TRUE_USER else fitted_model(fit)
    env = envs.RankingVectorEnv(1, click_model=inside, world=world, slots=fit.slots)
    run = agents.TrainingRun(
        cell.agent, env, cell.pages, fit.seed, deploy=user, **cell.settings
    )
    run.finish()
    logging = logging_of(fit.logging, fit.world, fit.slots)
    samples = _SAMPLES if inside.cheap_scores else _EXPENSIVE_SAMPLES
    report = evaluation.curse(
        run.agent.policy(), inside, user, world, logging, samples, fit.seed
    )
    return {
        **{name: number.value for name, number in report.numbers().items()},
        "random": _random(fit.user, fit.world, fit.slots),
        "pages": run.agent.pages,
        "history": [asdict(point) for point in run.history],
    }


@lru_cache(maxsize=8)
def _random(user: str, world: WorldSetting, slots: int) -> float:
    """Return the value of a random ranking."""
    known = world_of(world)
    return evaluation.value(policies.Uniform(known, slots), user_of(user, world), known).value


def compare(
    folder: str | Path,
    names: Sequence[str],
    models: Sequence[str] = ("PBM", "UBM", "DBN", "NCM"),
    users: Sequence[str] = ("DBN", "CoCM", "CoCM-mismatch"),
    seeds: int = 3,
    world: WorldSetting = SMALL,
    pages: int = 50_000,
    logging: str = "epsilon-oracle",
    impressions: int = 100_000,
    slots: int = 10,
    jobs: int = 1,
    retry_failed: bool = False,
    budgets: Mapping[str, int] | None = None,
    modules: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return a row for every agent, click model, user and seed.

    Models are fitted once a user, model and seed and kept in ``folder``, as is every finished
    cell; the same call goes on from them. ``pages`` 0 gives every agent its own budget, ``budgets``
    some of them another. The model "true user" trains agents on the user itself. ``modules`` are
    imported first, by every process: they may register agents and models of one's own.
    """
    import_modules(modules)
    for argument, given, known in (
        ("agents", names, agents.names()),
        ("models", models, (*clickmodels.names(), TRUE_USER)),
        ("users", users, clickmodels.user_names()),
        ("logging", [logging], policies.ranker_names()),
    ):
        for one in given:
            checks.choice(one, known, argument)
    seeds = checks.positive_integer(seeds, "seeds")
    for budget in (pages, *(budgets or {}).values()):
        checks.positive_integer(budget, "pages", 0)
    folder = Path(folder)
    require_generative([name for name in models if name != TRUE_USER])
    check_page(world, slots, impressions, jobs)
    fits = [
        FitCell(
            user, logging, model, seed, str(folder / "models"), world, impressions, slots,
            modules=tuple(modules),
        )
        for seed in range(seeds)
        for model in sorted(dict.fromkeys(models), key=lambda name: name != "NCM")  # longest first
        for user in dict.fromkeys(users)
    ]  # fmt: skip
    learned = [fit for fit in fits if fit.model != TRUE_USER]
    run_grid(
        fit_cell, learned, folder / "fits", FIT_VERSION, jobs, "fitting models", retry_failed
    )
    spent = dict.fromkeys(names, pages) | dict(budgets or {})
    classes = {name: agents.agent_class(name) for name in names}
    cells = [
        CompareCell(name, fit, spent[name] or cls.budget, asdict(cls.Settings()))
        for fit in fits
        for name, cls in classes.items()
    ]
    results = run_grid(
        compare_cell, cells, folder / "cells", VERSION, jobs, "training agents", retry_failed
    )
    require_results(cells, results, folder / "cells", VERSION)
    return [
        {"agent": cell.agent, "model": cell.fit.model, "user": cell.fit.user,
         "seed": cell.fit.seed, **result}
        for cell, result in zip(cells, results, strict=True) if result is not None
    ]  # fmt: skip
