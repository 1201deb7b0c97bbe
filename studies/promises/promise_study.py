"""Policies optimised inside click models: promises, estimates and what they earn deployed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from ... import agents, clickmodels, envs, evaluation, policies
from ...common.typing import Floats
from ...data import ClickLog
from ..constants import FOUR_MODELS, USERS
from ..engine.artefacts import FIT_VERSION, FITTED, FitCell, fit_cell, fitted_model
from ..engine.grid import Result
from ..engine.keeping import keep_file
from ..engine.rows import Row, distinct, where
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import (
    SMALL_WORLD,
    WorldSetting,
    logging_of,
    longest_first,
    require_generative,
    user_of,
    world_of,
)
from .promise_pictures import OPTIMISERS, promise_picture, promise_table

VERSION = "4"
_ESTIMATING = "optimising and estimating"
_FRESH = 1_000_000  # added to the seed of the log that estimates are made from
_MARGINALS = 50_000  # pages drawn for a query's marginals where they are not exact


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


_RESULT = {
    "deployed": float, "logging_value": float, "exact_marginals": bool, "covered": float,
    "estimates": dict[str, float], "stderr": dict[str, float | None],
}  # fmt: skip


def promise_cell(cell: PromiseCell) -> Result:
    """Optimise, deploy and estimate; values in clicks per page.

    The promise is what the model expects of the policy. The other estimates come from another log
    of the logging policy, as long as the whole one of which the model got its training and
    validation parts, so that they owe nothing to the search; the doubly robust ones use the same
    model.
    """
    fit = cell.fit
    world, user = world_of(fit.world), user_of(fit.user, fit.world, fit.slots)
    model = fitted_model(fit)
    policy = _optimise(cell, model)
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
        "covered": float(tables.covers.mean()),
        "estimates": {name: float(value) for name, value in estimates.items()},
        "stderr": {name: _finite(value.stderr) for name, value in estimates.items()},
    }


def fit_and_predict(fit: FitCell) -> Result:
    """Fit a model, and keep what it expects of the pages that estimates are made from."""
    result = fit_cell(fit)
    log = _fresh_log(fit.user, fit.logging, fit.world, fit.slots, fit.impressions, fit.seed)
    _predictions(fit, fitted_model(fit), log)
    return result


def _predictions(fit: FitCell, model: clickmodels.ClickModel, log: ClickLog) -> Floats:
    """Return the clicks that the model expects of each logged page, (n,), from a file if it can.

    Equal pages are asked about once; they are the same for every policy found inside the model.
    """

    def expect() -> Floats:
        pages = np.column_stack([log.query, log.ranking])
        unique, places = np.unique(pages, axis=0, return_inverse=True)
        return model.expected_clicks(unique[:, 0], unique[:, 1:])[places.reshape(-1)]

    def load(path: Path) -> Floats:
        found = np.load(path)
        if found.shape != (len(log),) or found.dtype != float or not np.isfinite(found).all():
            raise ValueError(f"{path}: not a number for each of {len(log)} pages")
        return np.asarray(found)

    path = fit.path.with_suffix(f".{VERSION}.npy")
    return keep_file(path, expect, lambda found, place: np.save(place, found), load)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _optimise(cell: PromiseCell, model: clickmodels.ClickModel) -> policies.Policy:
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
        world_of(world), user_of(user, world, slots), logging_of(logging, world, slots),
        impressions, seed + _FRESH,
    )  # fmt: skip


@register("promises")
@dataclass(frozen=True)
class Promises(Study):
    """Estimate policies that were optimised inside click models, and deploy them.

    A row per policy and estimate has ``user``, ``logging``, ``model``, ``optimiser``, ``seed``,
    ``estimator``, ``estimate``, ``stderr`` (None where it is not known) and ``truth``, the deployed
    value; ``covered`` is the share of queries for which logging shows in every slot what the policy
    does, not too rarely to be told (``PseudoinverseWeights.covers``).

    Example:
      clickgym ope promises --user DBN --model PBM --logging epsilon-oracle random
    """

    command: ClassVar[str] = "ope"

    users: tuple[str, ...] = setting(USERS, flag="user")
    models: tuple[str, ...] = setting(FOUR_MODELS, flag="model")
    optimisers: tuple[str, ...] = setting(
        OPTIMISERS, "how a policy is made", flag="optimiser", metavar="NAME",
        was=("optimisers",), known=lambda: (*OPTIMISERS[:2], *agents.names()),
    )
    loggings: tuple[str, ...] = setting(("epsilon-oracle",), flag="logging")
    seeds: int = setting(3, was=("repetitions",))
    world: WorldSetting = setting(WorldSetting(n_queries=100, n_docs=30), whole_file=True)
    pages: int = setting(50_000)
    impressions: int = setting(100_000, least=10)
    slots: int = setting(10)

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick" and "paper"."""
        quick = cls(
            ("DBN", "CoCM-mismatch"), ("PBM", "DBN"), seeds=1, pages=5_000, impressions=20_000,
            world=WorldSetting(n_queries=20, n_docs=30),
        )  # fmt: skip
        return {"quick": quick, "paper": cls()}

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(
            ("DBN",), ("PBM", "UBM"), ("Top-Down",), ("random",), pages=100, slots=3,
            world=SMALL_WORLD, impressions=300, seeds=1,
        )  # fmt: skip

    def check(self) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        super().check()
        require_generative(self.models)

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the fits, then the policies."""
        fits = [
            FitCell(
                user, logging, seed, str(folder / "models"), self.world, self.impressions,
                self.slots, model=model,
            )
            for seed in range(self.seeds)
            for model in longest_first(self.models)
            for logging in dict.fromkeys(self.loggings)
            for user in dict.fromkeys(self.users)
        ]  # fmt: skip
        yield Stage(
            "fitting models", fit_and_predict, fits, f"{FIT_VERSION}.{VERSION}", FITTED, "fits",
            required=False,
        )  # fmt: skip
        settings = {
            name: {} if name in OPTIMISERS[:2] else asdict(agents.agent_class(name).Settings())
            for name in self.optimisers
        }
        cells = [
            PromiseCell(name, fit, self.pages, given)
            for fit in fits
            for name, given in settings.items()
        ]
        yield Stage(_ESTIMATING, promise_cell, cells, VERSION, _RESULT)

    def rows(self, results: Results) -> list[Row]:
        """Return a row per policy and estimate."""
        return [
            {"user": cell.fit.user, "logging": cell.fit.logging, "model": cell.fit.model,
             "optimiser": cell.optimiser, "seed": cell.fit.seed, "estimator": name,
             "estimate": value, "stderr": result["stderr"][name], "truth": result["deployed"],
             "logging_value": result["logging_value"],
             "exact_marginals": result["exact_marginals"], "covered": result["covered"]}
            for cell, result in results[_ESTIMATING]
            for name, value in result["estimates"].items()
        ]  # fmt: skip

    def report(self, rows: list[Row]) -> Report:
        """Return a table and a picture for every logging policy."""
        parts = {logging: where(rows, logging=logging) for logging in distinct(rows, "logging")}
        return Report(
            "Promises of click models, estimates and deployment",
            "Estimates of the values of policies that were optimised inside click models.",
            {"Tables": [promise_table(part, logging) for logging, part in parts.items()]},
            {
                f"promises-{logging}.png": (f"Log by {logging}", promise_picture(part))
                for logging, part in parts.items()
            },
        )
