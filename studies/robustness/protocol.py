"""The robustness protocol: users x logging policies x click models x seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ... import clickmodels, policies
from ...common import checks
from ..engine.artefacts import (
    LOG_VERSION,
    TEST_POLICIES,
    USER_VERSION,
    LogCell,
    UserCell,
    log_cell,
    user_cell,
)
from ..engine.grid import Result, require_results, run_grid
from ..engine.plugins import candidate_name, candidate_source
from ..setting import WorldSetting, check_page, scores_of
from .protocol_cells import (
    NDCG_DEPTHS,
    ORACLE,
    POLICY_FIELDS,
    POLICY_VERSION,
    VERSION,
    PolicyCell,
    ProtocolCell,
    policy_cell,
    protocol_cell,
)

Row = dict[str, Any]
ROW_VERSION = f"{VERSION}; {POLICY_VERSION}"


@dataclass(frozen=True)
class Protocol:
    """What a run of the protocol does: everything that its results depend on.

    ``candidates`` are click models from outside the package, ``module:Class``. The other
    parameters are those of ``LogCell`` and ``ProtocolCell``. ``optimise`` is whether the models'
    policies are made and deployed, which can be added later: everything else is kept.
    """

    users: tuple[str, ...]
    loggings: tuple[str, ...]
    models: tuple[str, ...]
    seeds: int
    world: WorldSetting = field(default_factory=WorldSetting)
    impressions: int = 100_000
    slots: int = 10
    parameters: str = "table"
    test_pages: int = 10_000
    temperature: float | None = None
    tests: tuple[str, ...] = TEST_POLICIES
    optimise: bool = True
    candidates: tuple[str, ...] = ()

    def check(self, jobs: int = 1) -> None:
        """Raise where the protocol could not run; the world is loaded for it."""
        checks.positive_integer(self.seeds, "seeds")
        checks.positive_integer(self.test_pages, "test_pages")
        names = tuple(candidate_name(one) for one in self.candidates)
        for what, given, known in (
            ("users", self.users, clickmodels.user_names()),
            ("loggings", self.loggings, policies.ranker_names()),
            ("tests", self.tests, policies.ranker_names()),
            ("models", (*self.models, *names), (*clickmodels.names(), ORACLE)),
            ("parameters", (self.parameters,), ("table", "embedding")),
        ):
            for one in given:
                checks.choice(one, known, what)
        check_page(self.world, self.slots, self.impressions, jobs)
        for ranker in {*self.loggings, *self.tests} - {"random", "LambdaMART"}:
            scores_of(ranker, self.world)  # some need features that a world may not have

    @cached_property
    def sources(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """The hash of the source and the module of every model; the candidates' are not empty."""
        known: dict[str, tuple[str, tuple[str, ...]]] = dict.fromkeys(self.models, ("", ()))
        for candidate in self.candidates:
            known[candidate_name(candidate)] = candidate_source(candidate), (candidate,)
        return known

    def said(self) -> Row:
        """Return the settings for people."""
        lists = ("users", "loggings", "models", "candidates", "seeds", "tests", "optimise")
        return {name: getattr(self, name) for name in lists} | shared_settings(self)

    def log_cells(self, folder: str) -> list[LogCell]:
        """Return the logs, seeds outermost, so that more seeds only add some."""
        return [
            LogCell(
                user, logging, seed, folder, self.world, self.impressions, self.slots,
                self.test_pages, self.temperature, self.tests,
            )
            for seed in range(self.seeds)
            for logging in dict.fromkeys(self.loggings)
            for user in dict.fromkeys(self.users)
        ]  # fmt: skip

    def cells(self, logs: Sequence[LogCell], folder: str) -> list[ProtocolCell]:
        """Return the cells of ``logs``, seeds outermost, the longest first.

        The fitted models are kept in ``folder``.
        """
        models = sorted(self.sources.items(), key=lambda item: item[0] != "NCM")
        return [
            ProtocolCell(model, log, folder, self.parameters, source, modules)
            for seed in range(self.seeds)
            for model, (source, modules) in models
            for log in logs
            if log.seed == seed
        ]


def protocol(
    folder: str | Path,
    study: Protocol,
    jobs: int = 1,
    retry_failed: bool = False,
    scheduler: str = "",
) -> list[Row]:
    """Return a row for every user, logging policy, model and seed that could be computed.

    A row has the settings, the numbers of ``protocol_cell``, and in clicks a page the values of
    the logging policy, of random and of the best rankings; None where a model cannot do something.
    Logs, fitted models and finished cells are files in ``folder``; the same call goes on from them.
    """
    study.check(jobs)
    folder = Path(folder)
    users = [UserCell(user, study.world, study.slots) for user in dict.fromkeys(study.users)]
    logs = study.log_cells(str(folder / "logs"))
    cells = study.cells(logs, str(folder / "models"))
    known: dict[Any, Result | None] = {}

    def compute(function: Any, todo: Sequence[Any], version: str, description: str) -> None:
        found = run_grid(
            function, todo, folder / "cells", version, jobs, description, retry_failed, scheduler
        )
        known.update(zip(todo, found, strict=True))

    if study.optimise:
        compute(user_cell, users, USER_VERSION, "users")
    compute(log_cell, logs, LOG_VERSION, "logs")
    compute(protocol_cell, cells, VERSION, "fitting and judging")
    require_results(cells, [known[cell] for cell in cells], folder / "cells", VERSION)
    cells = [cell for cell in cells if known[cell] is not None]
    if study.optimise:
        optimised = [PolicyCell(cell) for cell in cells]
        compute(policy_cell, optimised, POLICY_VERSION, "policies")
        results = [known[cell] for cell in optimised]
        require_results(optimised, results, folder / "cells", POLICY_VERSION)
        cells = [cell for cell in cells if known[PolicyCell(cell)] is not None]
    parts = [(cell, _user(cell), cell.log, PolicyCell(cell)) for cell in cells]
    return [_row(study, every[0], *map(known.get, every)) for every in parts]


def _user(cell: ProtocolCell) -> UserCell:
    return UserCell(cell.log.user, cell.log.world, cell.log.slots)


def shared_settings(study: Protocol) -> Row:
    """Return the settings that all rows of a study have in common."""
    world = study.world
    return {
        "parameters": study.parameters, "impressions": study.impressions, "slots": study.slots,
        "test_pages": study.test_pages, "temperature": study.temperature,
        "world": Path(world.path).name or "synthetic", "contents": world.contents,
        "n_queries": world.n_queries, "n_docs": world.n_docs, "world_seed": world.seed,
    }  # fmt: skip


def _row(study: Protocol, cell: ProtocolCell, *results: Result | None) -> Row:
    """Return a flat row with the same fields for every model."""
    log = cell.log
    row = {"user": log.user, "logging": log.logging, "model": cell.model, "seed": log.seed}
    names = [
        "perplexity", *(f"perplexity_{name}" for name in log.tests),
        *(f"ndcg_{depth}" for depth in NDCG_DEPTHS), *POLICY_FIELDS,
        "logging_value", "random_value", "best", "best_is", "fit_seconds", "evaluation_seconds",
    ]  # fmt: skip
    known = {name: value for result in results if result for name, value in result.items()}
    return (
        row
        | shared_settings(study)
        | {"source": cell.source, "version": ROW_VERSION}
        | {name: known.get(name) for name in names}
    )
