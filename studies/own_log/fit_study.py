"""``clickgym fit``: click models fitted to a log and judged on another part of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...clickmodels.fitting import GRADE, PARAMETERS, check_parameters
from ...clickmodels.registry import registered_class
from ...clickmodels.uncertainty.exposure import EXPOSURE, PLAIN, PRIORS, SCORE, read_covariate
from ...data import ClickLog, World
from ...evaluation import Interval
from ...evaluation.reporting.figures import new_figure
from ...evaluation.statistics import make_interval
from ...policies import Policy
from ..engine.plugins import import_modules, model_source
from ..engine.rows import Row
from ..registry import register
from ..robustness.judging import (
    Judged,
    click_table,
    fit_is_random,
    grade_table,
    log_report,
    page_table,
)
from ..study import Report, Results, Stage, Study, setting
from ..worlds import longest_first
from .graded_fits import write_graded
from .kept_logs import LoggingFile, LogSetting, kept_logs
from .log_fits import (
    RESULT,
    VERSION,
    LogFitCell,
    log_fit_cell,
    prior_for,
    publish_model,
    say_priors,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE = "perplexity.png"
BY_GRADE = "There is no nDCG: models by grade know the grades."


@register("fit")
@dataclass(frozen=True)
class FitLog(Study):
    """Fit click models to a log and judge them on another part of it.

    The folder gets the world, the log's parts, every model as soon as it is fitted, the tables,
    and a picture of perplexity by rank. A row is a model and a seed. Of a log with grades it gets
    nDCG by query too, and with a naive baseline and a click model of the robustness paper the
    verdict on the paper's first claim. Models that can are fitted with the ``prior``, the others
    with the plain one; ``logging`` is the policy that made the log, for the prior "score".
    """

    own_folder: ClassVar[bool] = True

    log: str = setting("", "where the log came from", look=True)
    logs: LogSetting = setting(
        LogSetting, flag="", changed="the log or its parts were others"
    )
    model: tuple[str, ...] = setting(("PBM", "UBM", "DBN"))
    seeds: int = setting(1)
    parameters: str = setting("table", choices=PARAMETERS)
    modules: tuple[str, ...] = setting((), flag="module", later=True)
    prior: str = setting(EXPOSURE, choices=PRIORS, later=True)
    logging: LoggingFile = setting(
        LoggingFile, flag="", later=True, nothing=LoggingFile(),
        changed="the policy that made the log was another",
    )  # fmt: skip

    def check(self) -> None:
        """Raise where the study could not run."""
        import_modules(self.modules)
        super().check()
        if self.logs.made is None:
            raise ValueError("logs must be made by LogSetting.from_logs")
        world, parts = self.logs.made
        if self.parameters == GRADE:
            world.require_grades("parameters='grade' needs")
            for name in self.model:
                check_parameters(name, GRADE)
        for name in ("train", "test"):
            if name not in parts or not len(parts[name]):
                raise ValueError(f"logs has no pages in the part to {_PURPOSE[name]}")
        self._check_logging(world, parts["train"])

    def _check_logging(self, world: World, train: ClickLog) -> None:
        """Raise where the prior needs a logging policy that is not there, or has no scores."""
        if self.prior == SCORE and not self.logging.path:
            raise ValueError("prior: score needs the policy that made the log")
        if self.prior != SCORE and self.logging.path:
            raise ValueError(f"logging: it is for the prior score, not {self.prior}")
        if self.logging.path:
            try:
                read_covariate(SCORE, train, world, Policy.load(self.logging.path))
            except ValueError as error:
                raise ValueError(f"{self.logging.path}: {error}") from error

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the one stage: a cell for every model, and for every seed of a random fit."""
        kept = self.logs.keep(folder)
        validation = "validation" if "validation" in kept.names else ""
        every = tuple(range(self.seeds))
        cells = [
            LogFitCell(
                name, ties[0], kept, self.parameters, validation=validation, ties=ties,
                source=model_source(name), modules=self.modules, **self._informed(name),
            )
            for name in longest_first(self.model)
            for ties in (
                [(seed,) for seed in every] if fit_is_random(name, self.parameters) else [every]
            )
        ]
        stage = "fitting and judging"
        yield Stage(
            stage, log_fit_cell, cells, VERSION, RESULT, label=lambda cell: str(cell.model)
        )
        cells = [cell for cell, _ in results[stage]]
        for cell in cells:
            if not cell.seed:
                publish_model(cell)
        if self.parameters != GRADE and kept_logs(kept)[0].has_grades:
            write_graded(folder, cells)

    def _informed(self, name: str) -> dict[str, str]:
        """Return what a cell has of the prior: the plain one for models that have no other."""
        prior = prior_for(name, self.prior, self.parameters)
        file = self.logging if prior == SCORE else LoggingFile()
        return {"prior": prior, "logging": file.path, "logging_contents": file.contents}

    def rows(self, results: Results) -> list[Row]:
        """Return a row per model and seed, models in the order of the settings."""
        (pairs,) = results.values()
        found = [
            {
                "model": cell.model, "seed": seed, "prior": cell.prior or PLAIN, **metrics,
                "result": result,
            }
            for cell, result in pairs
            for seed, metrics in zip(cell.ties, result["metrics"], strict=True)
        ]  # fmt: skip
        names = dict.fromkeys(name for row in found for name in row if name != "result")
        rows = [{name: row.get(name) for name in names} | _by_page(row) for row in found]
        return sorted(rows, key=lambda row: (self.model.index(row["model"]), row["seed"]))

    def report(self, rows: list[Row]) -> Report:
        """Return the tables of clicks, of pages and of grades, and perplexity by rank."""
        fitted = tuple(dict.fromkeys(row["model"] for row in rows))
        found = {
            name: [_numbers(row) for row in rows if row["model"] == name] for name in fitted
        }
        first = {row["model"]: row for row in reversed(rows)}
        pages = {
            name: _interval(first[name]) for name in fitted if first[name]["PPL_mean"] is not None
        }
        known = self.parameters == GRADE
        grades = None if known else grade_table(found)
        judged = Judged(click_table(found), page_table(pages), grades, {})
        report = log_report(judged, BY_GRADE) if known else log_report(judged)
        said = say_priors({name: first[name]["prior"] for name in fitted})
        report.summary, report.lines = f"{report.summary} {said}", [said]
        report.figures[PICTURE] = "Perplexity by rank", draw_perplexity(first)
        return report


_PURPOSE = {"train": "fit to", "test": "judge on"}
_PAGES = ("PPL_mean", "PPL_low", "PPL_high", "test_pages", "PPL_by_rank")


def _by_page(row: Row) -> Row:
    """Return what the test pages say of a fit, which is None for models that only rank."""
    interval = row["result"]["interval"]
    numbers = [interval.get(name) for name in ("mean", "low", "high", "n")]
    return dict(zip(_PAGES, [*numbers, row["result"]["per_rank"]], strict=True))


def _numbers(row: Row) -> dict[str, float]:
    """Return the metrics of a row that there are."""
    others = ("model", "seed", "prior", *_PAGES)
    return {
        name: value for name, value in row.items() if name not in others and value is not None
    }


def _interval(row: Row) -> Interval:
    return make_interval(row["PPL_mean"], row["PPL_low"], row["PPL_high"], row["test_pages"])


def draw_perplexity(rows: dict[str, Row]) -> Figure:
    """Draw the perplexity of every model by rank, of models that can be compared by it."""
    figure = new_figure(8, 4.5)
    axis = figure.subplots()
    for shown, (name, row) in enumerate(_comparable(rows)):
        ranks = np.arange(1, len(row["PPL_by_rank"]) + 1)
        axis.plot(
            ranks, row["PPL_by_rank"], "-" if shown < 10 else "--", marker="o", markersize=3,
            color=f"C{shown % 10}", label=f"{name} ({row['PPL_mean']:.4f})",
        )  # fmt: skip
    axis.set_xlabel("rank")
    axis.set_ylabel("conditional perplexity (lower is better)")
    axis.grid(alpha=0.25)
    if axis.lines:
        axis.legend(fontsize=8, frameon=False)
    return figure


def _comparable(rows: dict[str, Row]) -> Sequence[tuple[str, Row]]:
    """Return the rows of models that predict clicks without reading them: not ARM-NC's."""
    return [
        (name, row)
        for name, row in rows.items()
        if "generative" in registered_class(name).capabilities
    ]
