"""The report on a log of one's own: which click model to trust, and what it would show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from ... import clickmodels
from ...clickmodels.uncertainty.exposure import EXPOSURE, PLAIN
from ...common import checks
from ...data import ClickLog
from ...data.readers.tables.report import ODDITIES
from ..constants import FOUR_MODELS
from ..engine.grid import Result
from ..engine.plugins import import_modules, model_source
from ..engine.rows import Row, where
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import longest_first, require_generative
from .cells import (
    MAX_REWARD,
    OPTIMISERS,
    VERSION,
    Compared,
    ComparisonCell,
    DescribeCell,
    JudgeCell,
    Judged,
    LogNumbers,
    OwnFitted,
    OwnPolicy,
    OwnPolicyCell,
    Stability,
    StabilityCell,
    comparison_cell,
    describe_cell,
    fit_cell,
    judge_cell,
    policy_cell,
    publish_rankings,
    stability_cell,
)
from .estimates import VERSION as ESTIMATE_VERSION
from .estimates import EstimateCell, Estimated, estimate_cell
from .findings import Findings
from .kept_logs import WORLD, LogSetting, part_path
from .log_fits import LogFitCell, prior_for, publish_model
from .own_log_report import make_report
from .policy_warnings import VERSION as WARNING_VERSION
from .policy_warnings import Warned, WarningCell, warning_cell
from .source import HALVES, TEST, TRAIN, VALIDATION, WHOLE, LogSource, read_source, split_log
from .tables import OwnLog, explain_columns

DESCRIBING, FITTING, COMPARING = "describing the log", "fitting models", "comparing halves"
PAIRING = "comparing models"
OPTIMISING, JUDGING, ESTIMATING = "finding rankings", "judging rankings", "estimating values"
WARNING = "looking for warnings"
_PARTS = {
    "about-log.parquet": ("log", "oddity", "note", "rank", "tie", "tail", "file"),
    "about-models.parquet": ("model", "model by rank", "comparison", "stability", "failure"),
    "about-policies.parquet": (
        "policy", "same pages", "judgement", "estimate", "logging", "example", "warning",
    ),
}  # fmt: skip


@register("report")
@dataclass(frozen=True)
class OwnLogReport(Study):
    """Report on a log of your own: which click model to trust, and what it would have you show.

    Any table of clicks will do (CSV, TSV, JSON lines, Parquet, Arrow): columns are guessed from
    their names. No grades, propensities or settings are needed. Models that can are fitted with a
    prior that follows exposure, and their rankings are chosen with care; ``prior="plain"`` is
    without both.

    Example:
      clickgym report clicks.csv
      clickgym report clicks.csv --column query=term document=sku --model PBM UBM --out my-report
      clickgym report clicks.csv --module my_model --model PBM UBM MyModel --out my-report
    """

    own_folder: ClassVar[bool] = True

    log: str = setting("", either=True, look=True)
    columns: tuple[str, ...] = setting((), flag="column")
    format: str = setting("")
    world_file: str = setting(
        "", "saved world of the log", flag="world", group="the log", absent="a table makes its own"
    )
    models: tuple[str, ...] = setting(FOUR_MODELS, flag="model")
    slots: int = setting(
        0, "documents of a page that count, or usual: as many as 99% of pages have", word="usual"
    )
    split_by: str = setting("")
    strict: bool = setting(False, look=True, later=True)
    stability: bool = setting(
        True, "fit to both halves of the log too, to see whether a model ranks alike"
    )
    seed: int = setting(0)
    modules: tuple[str, ...] = setting((), flag="module", later=True)
    logs: LogSetting = setting(LogSetting, flag="", later=True, changed="the log was another")
    prior: str = setting(EXPOSURE, choices=(EXPOSURE, PLAIN), later=True)

    def read(self) -> OwnLog:
        """Read the log; raise where nothing says which, or the files are not there."""
        if not self.log:
            raise ValueError("give a table of clicks, or a saved log and its --world")
        return read_source(LogSource.of(
            self.log, self.world_file, columns=tuple(self.columns), format=self.format,
            slots=self.slots, strict=self.strict,
        ))  # fmt: skip

    def check(self) -> None:
        """Raise where the report could not be made; the log is read for it."""
        import_modules(self.modules)
        for name in self.models:
            checks.choice(name, clickmodels.names(), "models")
        checks.choice(self.prior, (EXPOSURE, PLAIN), "prior")
        checks.positive_integer(self.seed, "seed", 0)
        checks.positive_integer(self.slots, "slots", 0)
        require_generative(self.models)
        found = self.read()
        log = found.log
        if self.split_by and self.split_by not in log.extra:
            known = explain_columns(log, self.split_by, found.report)
            raise ValueError(f"split_by: {self.split_by!r}; {known}")
        self._check_parts(log)

    def _check_parts(self, log: ClickLog) -> None:
        """Raise where a part of the log would have no page."""
        parts = split_log(log, self.split_by, self.seed)
        empty = [name for name in (TRAIN, VALIDATION, TEST) if not len(parts[name])]
        if self.stability and not empty:
            empty = [name for name in HALVES if not len(parts[name])]
        if not empty:
            return
        pages = f"{len(log)} page{'s' * (len(log) != 1)}"
        if not self.split_by:
            raise ValueError(
                f"{self.log}: too few pages to split, {pages}: none is left for {empty[0]}"
            )
        values = len(np.unique(log.extra[self.split_by]))
        raise ValueError(
            f"split_by: {self.split_by!r} has {values} value{'s' * (values != 1)} in {pages}, and "
            f"those of a value stay together: no page is left for {empty[0]}"
        )

    def preface(self) -> str:
        """Return what the reader says of the log."""
        report = self.read().report
        assert report is not None
        return str(report) if report.columns else "\n".join(report.notes)

    def resolved(self) -> Self:
        """Return the report with the log and its parts."""
        if self.logs.made is not None:
            return self
        found = self.read()
        parts = split_log(found.log, self.split_by, self.seed)
        return replace(self, logs=LogSetting.from_logs(found.world, parts))

    def describe(self) -> dict[str, Any]:
        """Return the settings for people."""
        usual = {} if self.slots else {"slots": "as many as 99% of the pages have"}
        return super().describe() | usual

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the log, the models, their policies, and what is said of them."""
        kept = self.resolved().logs.keep(folder)
        yield Stage(DESCRIBING, describe_cell, [DescribeCell(kept)], VERSION, LogNumbers)
        names = longest_first(self.models)
        fits = {
            (name, part): LogFitCell(
                name, self.seed, kept, train=part, validation=VALIDATION,
                source=model_source(name), modules=self.modules,
                prior=prior_for(name, self.prior),
            )
            for name in names
            for part in ((TRAIN, *HALVES) if self.stability else (TRAIN,))
        }  # fmt: skip
        yield Stage(FITTING, fit_cell, list(fits.values()), VERSION, OwnFitted)
        done = {(cell.model, cell.train) for cell, _ in results[FITTING]}
        fitted = {name: fits[name, TRAIN] for name in names if (name, TRAIN) in done}
        for fit in fitted.values():
            publish_model(fit)
        if len(fitted) > 1:
            in_order = {name: fitted[name] for name in self.models if name in fitted}
            pages = _pair_with_best(in_order, results[FITTING])
            yield Stage(PAIRING, comparison_cell, [pages], VERSION, Compared, may_fail=True)
        halved = [n for n in self.models if all((n, half) in done for half in HALVES)]
        if halved:
            cells = [StabilityCell(*(fits[name, half] for half in HALVES)) for name in halved]
            yield Stage(COMPARING, stability_cell, cells, VERSION, Stability, may_fail=True)
        policies = [
            OwnPolicyCell(fit, optimiser)
            for optimiser in (MAX_REWARD, *(one for one in OPTIMISERS if one != MAX_REWARD))
            for fit in fitted.values()
        ]
        if not policies:
            return
        yield Stage(OPTIMISING, policy_cell, policies, VERSION, OwnPolicy, may_fail=True)
        found = tuple(cell for cell, _ in results[OPTIMISING])
        for cell in found:
            publish_rankings(cell)
        if not found:
            return
        judges = tuple(fitted[name] for name in self.models if name in fitted)
        judged = [JudgeCell(cell, judges) for cell in found]
        yield Stage(JUDGING, judge_cell, judged, VERSION, Judged, may_fail=True)
        yield Stage(
            ESTIMATING, estimate_cell, [EstimateCell(found)], ESTIMATE_VERSION, Estimated,
            may_fail=True,
        )  # fmt: skip
        so_far = Findings(self.rows(results))
        if so_far.cross is not None and so_far.recommended is not None:
            name = so_far.cross.policies[so_far.recommended]
            warned = [WarningCell(cell, judges) for cell in found if cell.name == name]
            yield Stage(WARNING, warning_cell, warned, WARNING_VERSION, Warned, may_fail=True)

    def rows(self, results: Results) -> list[Row]:
        """Return the numbers, one per row: what part of the report, of what, and how sure."""
        ((_, numbers),) = results[DESCRIBING]
        rows = _log_rows(numbers, self.read())
        order = {name: place for place, name in enumerate(self.models)}

        def in_order(stage: str, model: Any) -> list[Any]:
            return sorted(results.get(stage, []), key=lambda pair: order[model(pair[0])])

        for fit, result in in_order(FITTING, lambda cell: cell.model):
            if fit.train == TRAIN:
                rows += _model_rows(fit, result)
        for _, result in results.get(PAIRING, []):
            rows += [
                _row("comparison", "above the best", *result["above"][name], model=name)
                for name in sorted(result["above"], key=lambda name: order[name])
            ]
        for cell, result in in_order(COMPARING, lambda cell: cell.model):
            rows += [
                _row("stability", name, result[name], model=cell.model)
                for name in ("correlation", "same_first", "compared")
            ]
        for cell, result in in_order(OPTIMISING, lambda cell: cell.model):
            named = {"model": cell.model, "policy": cell.name}
            rows.append(_row("policy", "hardly shown", result["hardly_shown"], **named))
            rows.append(_row("policy", "promise", result["promise"], **named))
            path = cell.rankings.relative_to(cell.fit.logs.folder)
            rows.append(_row("file", cell.name, text=path.as_posix()))
            rows += [
                _row("example", query, share, rank=rank, text=document, **named)
                for query, share, documents in result["examples"]
                for rank, document in enumerate(documents, start=1)
            ]
        rows += _same_rows(in_order(OPTIMISING, lambda cell: cell.model))
        for cell, result in in_order(JUDGING, lambda cell: cell.policy.model):
            named = {"model": cell.policy.model, "policy": cell.policy.name}
            rows += [
                _row("judgement", "value", value, judge=judge, **named)
                for judge, value in result["values"].items()
            ]
        for _, result in results.get(ESTIMATING, []):
            rows += _estimate_rows(result)
        for cell, result in results.get(WARNING, []):
            rows += [
                _row("warning", sign, speaks, model=cell.policy.model, policy=cell.policy.name,
                     text=text)
                for sign, speaks, text in result["signs"]
            ]  # fmt: skip
        for stage, failures in getattr(results, "failures", {}).items():
            rows += [_row("failure", stage, model=_name(one), text=text) for one, text in failures]
        return rows

    def files(self, rows: list[Row]) -> dict[str, list[Row]]:
        """Return the rows by their subject: the log, the models, the policies."""
        return {
            name: [row for part in parts for row in where(rows, part=part)]
            for name, parts in _PARTS.items()
        }

    def report(self, rows: list[Row]) -> Report:
        """Return the page."""
        return make_report(rows, Path(self.log).name)


def _row(
    part: str,
    quantity: str,
    value: float | None = None,
    low: float | None = None,
    high: float | None = None,
    **more: Any,
) -> Row:
    """Return a row; numbers that nobody knows are None."""
    numbers = {"value": value, "low": low, "high": high}
    known: Row = {
        name: None if number is None or math.isnan(number) else float(number)
        for name, number in numbers.items()
    }
    texts = {name: more.get(name) for name in ("model", "policy", "judge", "rank", "text")}
    return {"part": part, "quantity": quantity, **known, **texts}


def _name(cell: Any) -> str | None:
    """Return what a cell is of: a policy, a part of a model, or nothing more to say."""
    if isinstance(cell, LogFitCell):
        return cell.model if cell.train == TRAIN else f"{cell.model} ({cell.train})"
    named = getattr(cell, "policy", cell)
    return getattr(named, "name", getattr(named, "model", None))


def _log_rows(numbers: Result, found: OwnLog) -> list[Row]:
    report = found.report
    assert report is not None
    rows = [_row("log", "rows", report.rows)]
    rows += [
        _row("log", name, numbers[name])
        for name in (
            "impressions", "queries", "documents", "clicks_per_page", "clicked_pages",
            "effective_queries", "head", "rare_documents", "same_page", "propensities",
            "weakest", "held_out", "held_out_clicks",
        )
    ]  # fmt: skip
    rows.append(_row("log", "columns", text=report.columns))
    rows.append(_row("log", "unused", text=", ".join(report.unused)))
    rows += [_row("oddity", ODDITIES[name], count) for name, count in report.oddities.items()]
    rows += [_row("note", str(number), text=note) for number, note in enumerate(report.notes, 1)]
    rows += [
        _row("rank", name, value, rank=rank)
        for name in ("shown", "click_rate", "same_document")
        for rank, value in enumerate(numbers[name], start=1)
    ]
    rows += [
        _row("tie", str(other), count, rank=rank)
        for rank, counts in enumerate(numbers["ties"], start=1)
        for other, count in enumerate(counts, start=1)
    ]
    rows += [
        _row("log", "group", rank=rank, value=number)
        for number, group in enumerate(numbers["groups"])
        for rank in group
    ]
    size = len(numbers["tail"])
    rows += [_row("tail", str((i + 1) / size), share) for i, share in enumerate(numbers["tail"])]
    files = {"the world": WORLD, "the log": part_path(Path(), WHOLE).as_posix()}
    rows += [_row("file", name, text=path) for name, path in files.items()]
    return rows


def _model_rows(fit: LogFitCell, result: Result) -> list[Row]:
    model = fit.model
    numbers = (result[name] for name in ("perplexity", "low", "high"))
    return [
        _row("model", "perplexity", *numbers, model=model),
        _row("model", "logged", result["logged"], model=model),
        _row("model", "trust", result["trust"], model=model),
        _row("model", "prior", text=fit.prior or PLAIN, model=model),
        *(
            _row("model by rank", "perplexity", value, rank=rank, model=model)
            for rank, value in enumerate(result["by_rank"], start=1)
        ),
        _row("file", model, text=f"{model}.safetensors"),
    ]


def _pair_with_best(
    fitted: dict[str, LogFitCell], results: Sequence[tuple[Any, Result]]
) -> ComparisonCell:
    """Return the cell that compares every model with the one of the lowest perplexity."""
    found = {cell.model: result["perplexity"] for cell, result in results if cell.train == TRAIN}
    best = min(fitted, key=lambda name: float(found[name]))
    return ComparisonCell(fitted[best], tuple(fitted[n] for n in fitted if n != best))


def _same_rows(results: Sequence[tuple[OwnPolicyCell, Result]]) -> list[Row]:
    """Return a row for each ranking that shows the same pages as an earlier one."""
    first: dict[str, str] = {}
    names = [(cell.name, first.setdefault(result["pages"], cell.name)) for cell, result in results]
    return [_row("same pages", name, policy=other) for name, other in names if name != other]


def _estimate_rows(result: Result) -> list[Row]:
    rows = [_row("logging", "propensities", result["left_out"], text=result["logging"])]
    rows += [_row("logging", "doubt", text=doubt) for doubt in result["doubts"]]
    for policy, estimates in result["values"].items():
        for name, (value, low, high, size) in estimates.items():
            rows.append(_row("estimate", name, value, low, high, policy=policy))
            rows.append(_row("estimate", f"{name} size", size, policy=policy))
    return rows
