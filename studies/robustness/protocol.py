"""The robustness protocol: users x logging policies x click models x seeds."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from ... import policies
from ...data.candidates import SAMPLERS
from ...policies.rankers.named import has_quick_scores
from ..constants import (
    CLICK_MODELS,
    GRADED_DEPTHS,
    LOGGINGS,
    NAIVE,
    ORACLE,
    REFERENCE,
    SHIFT_MODELS,
    TEST_POLICIES,
    USERS,
)
from ..engine.artefacts import (
    LOG_VERSION,
    LOGGING_VALUE,
    USER_VALUES,
    USER_VERSION,
    LogCell,
    log_cell,
    user_cell,
)
from ..engine.grid import Result
from ..engine.plugins import candidate_name, candidate_source, import_modules, model_source
from ..engine.rows import Row, load_rows
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import SMALL_WORLD, WorldSetting, longest_first, scores_of
from .protocol_cells import (
    JUDGEMENT,
    POLICY_FIELDS,
    POLICY_VALUES,
    POLICY_VERSION,
    VERSION,
    PolicyCell,
    ProtocolCell,
    policy_cell,
    protocol_cell,
)
from .protocol_report import is_shifted, make_report, shift_table
from .released import SWITCHES, switches_of, user_parameters

ROW_VERSION = f"{VERSION}; {POLICY_VERSION}"
RESULTS = Path(__file__).parent / "results"  # come with the package
SHIFT, RELEASED = "strong-shift", "released"
_USERS, _LOGS, _MODELS, _POLICIES = "users", "logs", "fitting and judging", "policies"


@register("protocol")
@dataclass(frozen=True)
class Protocol(Study):
    """Fit click models to logs of every kind, judge them in and out of distribution.

    A row per user, logging policy, model and seed has the settings, the numbers of
    ``protocol_cell``, and in clicks per page the values of the logging policy, of random and of the
    best rankings; None where a model cannot do something.

    A seed draws the world (of a file, a bootstrap of its queries), the log and the
    initialisation, so that intervals over seeds are over worlds; ``worlds`` keeps them apart.

    ``optimise`` can be added later: everything else is kept. The parameters that have no option
    are those of ``LogCell``; ``join`` takes the results of other models from those that come with
    the package.

    Example:
      clickgym protocol quick --model PBM DBN oracle --seeds 2 --jobs 2
      clickgym protocol --candidate my_module:MyModel
    """

    users: tuple[str, ...] = setting(USERS, flag="user")
    loggings: tuple[str, ...] = setting(
        LOGGINGS, flag="logging"
    )
    models: tuple[str, ...] = setting(
        (*CLICK_MODELS, *NAIVE, REFERENCE, ORACLE), "click model, or oracle for the user itself",
        flag="model", also=(ORACLE,),
    )
    seeds: int = setting(
        2, "number of seeds; each draws a world, a log and an initialisation"
    )
    world: WorldSetting = setting(WorldSetting, whole_file=True)
    impressions: int = setting(100_000, least=10)
    slots: int = setting(10)
    parameters: str = setting("table", choices=("table", "embedding"))
    test_pages: int = setting(10_000, "pages per test policy", least=1, metavar="N")
    temperature: float | None = setting(None, "of the logging policies", flag="")
    tests: tuple[str, ...] = setting(
        TEST_POLICIES, "rankers that test", flag="", known=policies.ranker_names
    )
    optimise: bool = setting(
        True, "say what the models' policies are worth, if the preset asks for it; this can be "
        "added later", flag="policies",
    )  # fmt: skip
    candidates: tuple[str, ...] = setting(
        (), "click model of your own, also of the working directory; without --model it joins "
        "the results that come with the package", flag="candidate", metavar="MODULE:CLASS",
        absent="none",
    )  # fmt: skip
    shift: bool = setting(
        False, "add tables 3 and 4, the strong shift of section 6.1, if its users are among --user"
    )
    worlds: int = setting(0, least=0, nothing=0, later=True)
    sampler: str = setting("stratified", choices=tuple(SAMPLERS), later=True)
    released: tuple[str, ...] = setting((), choices=tuple(SWITCHES), later=True)
    training: str = setting(RELEASED, choices=(RELEASED, "text"), later=True)
    modules: tuple[str, ...] = setting((), flag="module", later=True)
    join: bool = setting(False, "take other models' results from the package", flag="")

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick", "paper" and the strong shift."""
        return {
            "quick": cls(
                world=WorldSetting(n_queries=100, n_docs=20), impressions=10_000,
                test_pages=2_000, shift=True,
            ),
            "paper": cls(
                seeds=10, world=WorldSetting(n_queries=1000, n_docs=0), parameters="embedding",
                shift=True,
            ),
            SHIFT: cls(
                ("DBN", "CoCM"), ("oracle",), (*SHIFT_MODELS, ORACLE), 10,
                WorldSetting(n_queries=1000, n_docs=10), temperature=0.5, tests=("reversed",),
                parameters="embedding", optimise=False, sampler="relevant",
            ),
        }  # fmt: skip

    @classmethod
    def from_options(cls, preset: str, given: dict[str, Any]) -> tuple[str, Self]:
        """Return the study of the options; candidates alone join the paper's results."""
        if given.get("candidates"):
            preset = preset or "paper"
            given = {**given, "join": not given.get("models")}
        return super().from_options(preset, given)

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(
            ("DBN",), ("random", "oracle"), ("PBM", "dCTR", ORACLE), slots=3, test_pages=50,
            tests=("random",), world=SMALL_WORLD, impressions=300, seeds=1,
        )  # fmt: skip

    def check(self) -> None:
        """Raise where the protocol could not run; the world is loaded for it."""
        import_modules(self.modules)
        for candidate in self.candidates:
            candidate_name(candidate)
        super().check()
        if self.sampler != "stratified" and not (self.world.n_docs or self.tests == ("reversed",)):
            raise ValueError("sampler needs --docs: full lists of documents are not drawn")
        for ranker in filter(has_quick_scores, {*self.loggings, *self.tests}):
            scores_of(ranker, self.world_of_seed(0))  # some need features that it may not have

    def world_of_seed(self, seed: int) -> WorldSetting:
        """Return the world that a seed draws, or takes in its turn."""
        number = seed % self.worlds if self.worlds else seed
        drawn = self.world if self.worlds == 1 else self.world.drawn(number)
        usual = self.sampler == "stratified" or drawn.made is not None
        return dataclasses.replace(drawn, sampler="" if usual else self.sampler)

    @cached_property
    def sources(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """The hash of the source and the module of every model; the candidates' are not empty."""
        known: dict[str, tuple[str, tuple[str, ...]]] = {
            model: (source, self.modules if source else ())
            for model in self.models
            for source in [model_source(model)]
        }
        for candidate in self.candidates:
            known[candidate_name(candidate)] = candidate_source(candidate), (candidate,)
        return known

    @cached_property
    def parts(self) -> dict[str, tuple[Protocol, list[Row]]]:
        """The grid and the strong shift: what is to be computed of each, and the known rows."""
        grid, known = self._join_results()
        parts = {"": (grid, known)}
        shift = grid.strong_shift() if self.shift and self.tests != ("reversed",) else None
        if shift is not None:
            parts["strong shift: "] = shift._join_results()
        return parts

    def _join_results(self) -> tuple[Protocol, list[Row]]:
        """Return what is left to compute, and the rows that come with the package."""
        known = shipped_rows(self) if self.join else []
        if not known:
            return self, []
        print(f"{len(known)} results of other models come with the package", file=sys.stderr)
        seeds = max(row["seed"] for row in known) + 1
        return dataclasses.replace(self, models=(), seeds=seeds), known

    def strong_shift(self) -> Protocol | None:
        """Return the strong shift in the sizes of this study, for those of its models it compares.

        The documents are those of the preset "strong-shift", the parameters (tables or embeddings)
        this study's. None where the study has none of the users of section 6.1.
        """
        preset = self.presets()[SHIFT]
        users = tuple(user for user in self.users if user in preset.users)
        if not users:
            return None
        return dataclasses.replace(
            self, users=users, loggings=preset.loggings, temperature=preset.temperature,
            models=tuple(name for name in preset.models if name in (*self.models, ORACLE)),
            world=dataclasses.replace(self.world, n_docs=preset.world.n_docs), tests=preset.tests,
            sampler=preset.sampler, optimise=False, shift=False,
        )  # fmt: skip

    def log_cells(self, folder: str) -> list[LogCell]:
        """Return the logs, seeds outermost, so that more seeds only add some."""
        return [
            LogCell(
                user, logging, seed, folder, self.world_of_seed(seed), self.impressions,
                self.slots, self.test_pages, self.temperature, self.tests,
                user_parameters(user, self.released, testing=False),
                user_parameters(user, self.released, testing=True),
            )
            for seed in range(self.seeds)
            for logging in dict.fromkeys(self.loggings)
            for user in dict.fromkeys(self.users)
        ]  # fmt: skip

    def cells(self, logs: Sequence[LogCell], folder: str) -> list[ProtocolCell]:
        """Return the cells of ``logs``, seeds outermost, the longest first.

        The fitted models are kept in ``folder``.
        """
        training = "" if self.training == RELEASED else self.training
        return [
            ProtocolCell(
                model,
                log,
                folder,
                self.parameters,
                *self.sources[model],
                self._switches(model),
                training,
            )
            for seed in range(self.seeds)
            for model in longest_first(list(self.sources))
            for log in logs
            if log.seed == seed
        ]

    def _switches(self, model: str) -> tuple[str, ...]:
        """Return the switches that concern a model itself; none of them does the user."""
        return () if model == ORACLE else switches_of(model, self.released)

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give users, logs, models and policies, of the grid and of the strong shift."""
        for part, (study, _) in self.parts.items():
            logs = study.log_cells(str(folder / "logs"))
            cells = study.cells(logs, str(folder / "models"))
            if study.optimise:
                users = list(dict.fromkeys(log.user_cell() for log in logs))
                yield Stage(part + _USERS, user_cell, users, USER_VERSION, USER_VALUES)
            yield Stage(
                part + _LOGS, log_cell, logs, LOG_VERSION, LOGGING_VALUE, required=False
            )
            yield Stage(part + _MODELS, protocol_cell, cells, VERSION, JUDGEMENT)
            if study.optimise:
                judged = [PolicyCell(cell) for cell, _ in results[part + _MODELS]]
                yield Stage(part + _POLICIES, policy_cell, judged, POLICY_VERSION, POLICY_VALUES)

    def rows(self, results: Results) -> list[Row]:
        """Return the rows that come with the package and those that were computed."""
        rows: list[Row] = []
        for part, (study, known) in self.parts.items():
            found = {
                cell: result
                for name in (_USERS, _LOGS, _MODELS, _POLICIES)
                for cell, result in results.get(part + name, [])
            }
            rows += known
            for cell, _ in results[part + _MODELS]:
                policy = PolicyCell(cell)
                if policy in found or not study.optimise:
                    every = (
                        found.get(one) for one in (cell, cell.log.user_cell(), cell.log, policy)
                    )
                    rows.append(_row(study, cell, *every))
        return rows

    def files(self, rows: list[Row]) -> dict[str, list[Row]]:
        """Return the rows of the grid, and those of a strong shift beside it."""
        if len(self.parts) == 1:
            return {"rows.parquet": rows}
        return {
            "rows.parquet": [row for row in rows if not is_shifted(row)],
            f"{SHIFT}.parquet": [row for row in rows if is_shifted(row)],
        }

    def report(self, rows: list[Row]) -> Report:
        """Return the page; tables 3 and 4 are printed where they are all."""
        report = make_report(rows)
        report.printed = []
        if all(is_shifted(row) for row in rows):
            report.printed = [shift_table(rows, user) for user in self.users]
        return report


def shared_settings(study: Protocol) -> Row:
    """Return the settings that all rows of a study have in common."""
    world = study.world
    return {
        "parameters": study.parameters, "impressions": study.impressions, "slots": study.slots,
        "test_pages": study.test_pages, "temperature": study.temperature,
        "world": Path(world.path).name or "synthetic", "contents": world.contents,
        "n_queries": world.n_queries, "n_docs": world.n_docs,
        "sampler": study.sampler if world.n_docs else "", "training": study.training,
        "released": " ".join(one for one in SWITCHES if one in study.released),
    }  # fmt: skip


def _row(study: Protocol, cell: ProtocolCell, *results: Result | None) -> Row:
    """Return a flat row with the same fields for every model."""
    log = cell.log
    row = {
        "user": log.user, "logging": log.logging, "model": cell.model, "seed": log.seed,
        "world_seed": log.world.seed,
    }  # fmt: skip
    names = [
        "perplexity", *(f"perplexity_{name}" for name in log.tests),
        *(f"ndcg_{depth}" for depth in GRADED_DEPTHS), *POLICY_FIELDS,
        "head_query", "effective_queries", "logging_value", "random_value", "best", "best_is",
        "fit_seconds", "evaluation_seconds",
    ]  # fmt: skip
    known = {name: value for result in results if result for name, value in result.items()}
    return (
        row
        | shared_settings(study)
        | {"source": cell.source, "version": ROW_VERSION}
        | {name: known.get(name) for name in names}
    )


def shipped_rows(study: Protocol | None = None, folder: Path = RESULTS) -> list[Row]:
    """Return the rows that come with the package; with ``study``, those of its own settings.

    Of a study they are its users, logging policies and seeds, all models, computed as this version
    computes them; none where there are no such results.
    """
    rows = [row for path in sorted(folder.glob("*.parquet")) for row in load_rows(path)]
    if study is None:
        return rows
    wanted = {**shared_settings(study), "version": ROW_VERSION}
    return [
        row
        for row in rows
        if all(row.get(name) == value for name, value in wanted.items())
        and row["user"] in study.users
        and row["logging"] in study.loggings
        and row["seed"] < study.seeds
        and row["world_seed"] == study.world_of_seed(row["seed"]).seed
    ]
