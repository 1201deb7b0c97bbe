"""Policies optimised inside click models: promises, estimates and what they earn deployed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import agents, clickmodels, envs, evaluation, policies
from ...common import checks
from ...common.storage import write_whole
from ...data import ClickLog
from ..engine.artefacts import FIT_VERSION, FitCell, fit_cell, fitted_model
from ..engine.grid import Result, require_results, run_grid
from ..setting import WorldSetting, check_page, logging_of, require_generative, user_of, world_of

VERSION = "3"
OPTIMISERS = ("Top-Down", "Max-Reward", "PolicyGradient")
ESTIMATES = ("promise", "ips", "wips", "pi", "wpi", "dr-ips", "dr-pi")
_FRESH = 1_000_000  # added to the seed of the log that estimates are made from
_MARGINALS = 50_000  # pages drawn for a query's marginals where they are not exact
PROMISE_WORLD = WorldSetting(n_queries=100, n_docs=30)


@dataclass(frozen=True)
class PromiseCell:
    """One policy, optimised inside one fitted click model.

    ``optimiser`` is "Top-Down", "Max-Reward" or an agent's name; ``settings`` are all of the
    agent's, ``pages`` its budget.
    """

    optimiser: str
    fit: FitCell
    pages: int = 50_000
    settings: dict[str, Any] = field(default_factory=dict)


def promise_cell(cell: PromiseCell) -> Result:
    """Optimise, deploy and estimate; values in clicks a page.

    The promise is what the model expects of the policy. The other estimates come from another log
    of the logging policy, as long as the whole one of which the model got its training and
    validation parts, so that they owe nothing to the search; the doubly robust ones use the same
    model.
    """
    fit = cell.fit
    world, user, model = world_of(fit.world), user_of(fit.user, fit.world), fitted_model(fit)
    policy = _optimised(cell, model)
    logging = _logging(fit.logging, fit.world, fit.slots)
    log = _fresh_log(fit.user, fit.logging, fit.world, fit.slots, fit.impressions, fit.seed)
    clicks = evaluation.slate_rewards("clicks", log)
    with warnings.catch_warnings():  # without overlap it is ``covered`` that says so
        warnings.simplefilter("ignore", evaluation.NoOverlap)
        tables = evaluation.PseudoinverseWeights(
            logging, policy, np.arange(world.n_queries), _MARGINALS
        )
        robust = {"direct": model, "predictions": _predictions(fit, model, log)}
        options: dict[str, dict[str, Any]] = {
            "ips": {}, "wips": {}, "pi": {"weights": tables}, "wpi": {"weights": tables},
            "dr-ips": robust, "dr-pi": {**robust, "weights": tables},
        }  # fmt: skip
        estimates = {"promise": evaluation.value(policy, model, world)} | {
            name: evaluation.estimate(name, log, clicks, logging, policy, world, **given)
            for name, given in options.items()
        }
    return {
        "deployed": evaluation.value(policy, user, world).value,
        "logging_value": float(clicks.mean()),
        "exact_marginals": tables.exact,
        "covered": float(tables.covered.mean()),
        "estimates": {name: float(value) for name, value in estimates.items()},
        "stderr": {name: _finite(value.stderr) for name, value in estimates.items()},
    }


def fit_and_predict(fit: FitCell) -> Result:
    """Fit a model, and keep what it expects of the pages that estimates are made from."""
    result = fit_cell(fit)
    log = _fresh_log(fit.user, fit.logging, fit.world, fit.slots, fit.impressions, fit.seed)
    _predictions(fit, fitted_model(fit), log)
    return result


def _predictions(
    fit: FitCell, model: clickmodels.ClickModel, log: ClickLog
) -> NDArray[np.float64]:
    """Return the clicks that the model expects of each logged page, (n,), from a file if it can.

    Equal pages are asked about once; they are the same for every policy found inside the model.
    """
    path = fit.path.with_suffix(f".{VERSION}.npy")
    if not path.exists():
        pages = np.column_stack([log.query, log.ranking])
        distinct, places = np.unique(pages, axis=0, return_inverse=True)
        expected = model.expected_clicks(distinct[:, 0], distinct[:, 1:])[places.reshape(-1)]
        with write_whole(path) as temporary, temporary.open("wb") as file:
            np.save(file, expected)
    return np.load(path)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _optimised(cell: PromiseCell, model: clickmodels.ClickModel) -> policies.Policy:
    fit, world = cell.fit, world_of(cell.fit.world)
    if cell.optimiser == "Top-Down":
        return policies.top_down(model, world, fit.slots)
    if cell.optimiser == "Max-Reward":
        return policies.max_reward(model, world, fit.slots, seed=fit.seed)
    env = envs.RankingVectorEnv(1, click_model=model, world=world, slots=fit.slots)
    return agents.train(cell.optimiser, env, cell.pages, fit.seed, **cell.settings)


@lru_cache(maxsize=2)
def _logging(name: str, world: WorldSetting, slots: int) -> policies.Remembering:
    return policies.Remembering(logging_of(name, world, slots), _MARGINALS)


@lru_cache(maxsize=2)
def _fresh_log(
    user: str, logging: str, world: WorldSetting, slots: int, impressions: int, seed: int
) -> ClickLog:
    return envs.collect(
        world_of(world), user_of(user, world), logging_of(logging, world, slots), impressions,
        seed + _FRESH,
    )  # fmt: skip


def promises(
    folder: str | Path,
    users: Sequence[str] = ("DBN", "CoCM", "CoCM-mismatch"),
    models: Sequence[str] = ("PBM", "UBM", "DBN", "NCM"),
    optimisers: Sequence[str] = OPTIMISERS,
    loggings: Sequence[str] = ("epsilon-oracle",),
    seeds: int = 3,
    world: WorldSetting = PROMISE_WORLD,
    pages: int = 50_000,
    impressions: int = 100_000,
    slots: int = 10,
    jobs: int = 1,
    retry_failed: bool = False,
) -> tuple[list[dict[str, Any]], int]:
    """Return a row for every policy and estimate, and how many cells failed.

    A row has ``user``, ``logging``, ``model``, ``optimiser``, ``seed``, ``estimator``,
    ``estimate``, ``stderr`` (None where it is not known) and ``truth``, the deployed value;
    ``covered`` is the share of queries for which logging shows in every slot what the policy
    does, not too rarely to be told (``PseudoinverseWeights.covered``). Models
    are fitted once and kept in ``folder``, as is every finished cell; the same call goes on from
    them.
    """
    for argument, given, known in (
        ("users", users, clickmodels.user_names()),
        ("models", models, clickmodels.names()),
        ("optimisers", optimisers, (*OPTIMISERS[:2], *agents.names())),
        ("loggings", loggings, policies.ranker_names()),
    ):
        for one in given:
            checks.choice(one, known, argument)
    seeds = checks.positive_integer(seeds, "seeds")
    checks.positive_integer(pages, "pages")
    require_generative(models)
    check_page(world, slots, impressions, jobs)
    folder = Path(folder)
    fits = [
        FitCell(user, logging, model, seed, str(folder / "models"), world, impressions, slots)
        for seed in range(seeds)
        for model in sorted(dict.fromkeys(models), key=lambda name: name != "NCM")  # longest first
        for logging in dict.fromkeys(loggings)
        for user in dict.fromkeys(users)
    ]
    place, version = folder / "fits", f"{FIT_VERSION}.{VERSION}"
    run_grid(fit_and_predict, fits, place, version, jobs, "fitting models", retry_failed)
    settings = {
        name: {} if name in OPTIMISERS[:2] else asdict(agents.agent_class(name).Settings())
        for name in optimisers
    }
    cells = [
        PromiseCell(name, fit, pages, given) for fit in fits for name, given in settings.items()
    ]
    place = folder / "cells"
    results = run_grid(
        promise_cell, cells, place, VERSION, jobs, "optimising and estimating", retry_failed
    )
    require_results(cells, results, place, VERSION)
    rows = [
        {"user": cell.fit.user, "logging": cell.fit.logging, "model": cell.fit.model,
         "optimiser": cell.optimiser, "seed": cell.fit.seed, "estimator": name,
         "estimate": value, "stderr": result["stderr"][name], "truth": result["deployed"],
         "logging_value": result["logging_value"], "exact_marginals": result["exact_marginals"],
         "covered": result["covered"]}
        for cell, result in zip(cells, results, strict=True) if result is not None
        for name, value in result["estimates"].items()
    ]  # fmt: skip
    return rows, sum(result is None for result in results)
