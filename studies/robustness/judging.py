"""Fitting models to a log and judging them on another: tables 1, 2 and 5 to 8 of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ... import evaluation
from ...clickmodels import ClickModel, NotExact
from ...clickmodels.fitting import is_random, parameters_of
from ...clickmodels.registry import registered_class
from ...common import checks
from ...data import ClickLog, World
from ...evaluation import Interval, Metric, ResultTable
from ..constants import GRADED_DEPTHS, NAIVE, ORACLE, PERPLEXITY_RANKS, REFERENCE
from ..engine.artefacts import fit_parts
from ..engine.workers import run
from ..study import Report

Metrics = dict[str, list[dict[str, float]]]  # by model, for each seed


def click_models(names: Iterable[str]) -> tuple[str, ...]:
    """Return the models that "†" may mark at nDCG: no naive baseline, nor ARM-NC or the oracle."""
    return tuple(name for name in names if name not in (*NAIVE, REFERENCE, ORACLE))


@dataclass(frozen=True)
class Judged:
    """Tables of a study on a log, and the models of the first seed.

    ``clicks`` (perplexity, AUROC) and ``grades`` (nDCG, recall) have intervals over seeds,
    ``pages`` has the perplexity of the first seed's models with intervals over resampled pages.
    """

    clicks: ResultTable
    pages: ResultTable
    grades: ResultTable | None
    models: dict[str, ClickModel]


def judge(
    model: ClickModel, test: ClickLog, world: World, seed: int = 0, threshold: int = 1
) -> dict[str, float]:
    """Return every metric that the model's capabilities allow.

    ``PPL`` and ``PPL@r`` are conditional, ``uPPL`` unconditional (clicks unseen; where the model
    is exact), ``LL`` is the mean log-likelihood of a page. nDCG and recall are over the documents
    that the model's log showed, against the world's grades, and left out where there are none.
    """
    result: dict[str, float] = {}
    if "conditional" in model.capabilities:
        conditional = evaluation.perplexity(model, test)
        area = evaluation.auroc(model, test)
        result |= {"PPL": conditional.mean, "AUROC": area.full}
        for rank in PERPLEXITY_RANKS:
            if rank <= test.slots:
                result[f"PPL@{rank}"] = float(conditional.per_rank[rank - 1])
                result[f"AUROC@{rank}"] = float(area.per_rank[rank - 1])
    if "generative" in model.capabilities:
        result["LL"] = evaluation.log_likelihood(model, test)
        with suppress(NotExact):  # such as NCM on pages of 20 slots
            result["uPPL"] = evaluation.perplexity(model, test, conditional=False).mean
    result = {name: value for name, value in result.items() if not np.isnan(value)}
    return result | judge_grades(model, world, seed, threshold)


def keep_shown(world: World, model: ClickModel) -> World:
    """Return the world with only judged documents that the model's log showed as candidates."""
    seen = world.candidates if model.seen is None else model.seen & world.candidates
    seen = seen & (world.relevance >= 0)
    probs = seen.any(axis=1) / max(int(seen.any(axis=1).sum()), 1)
    return world.with_candidates(seen, probs)


def judge_log(
    train: ClickLog,
    test: ClickLog,
    world: World,
    models: Sequence[str],
    seeds: int = 10,
    validation: ClickLog | None = None,
    parameters: str = "table",
    jobs: int = 1,
    threshold: int = 1,
) -> Judged:
    """Fit ``models`` to ``train`` with ``seeds`` seeds each and judge them on ``test``.

    A model whose fit is deterministic is fitted once; its ties in graded metrics are still broken
    by every seed.
    """
    seeds = checks.positive_integer(seeds, "seeds")
    models = tuple(dict.fromkeys(models))  # a name given twice is one row
    cells = [
        (name, seed, train, test, world, validation, parameters, threshold, registered_class(name))
        for name in models
        for seed in range(seeds if fit_is_random(name, parameters) else 1)
    ]
    rows = run(_cell, cells, jobs, "fitting and judging")
    found: Metrics = {name: [] for name in models}
    first: dict[str, ClickModel] = {}
    for cell, (model, metrics) in zip(cells, rows, strict=True):
        found[cell[0]].append(metrics)
        first.setdefault(cell[0], model)
    for name in models:  # ties are random even where the fit is not
        for seed in range(len(found[name]), seeds):
            again = judge_grades(first[name], world, seed, threshold)
            found[name].append(again)
    pages = {
        name: evaluation.perplexity_interval(model, test)
        for name, model in first.items()
        if "conditional" in model.capabilities
    }
    return Judged(click_table(found), page_table(pages), grade_table(found), first)


def fit_is_random(name: str, parameters: str) -> bool:
    """Return whether another seed gives another fit."""
    return is_random(name, parameters_of(name, parameters))


def judge_grades(
    model: ClickModel, world: World, seed: int, threshold: int = 1
) -> dict[str, float]:
    """Return nDCG and recall alone."""
    if not world.has_grades:
        return {}
    shown = keep_shown(world, model)
    result = {}
    for depth in GRADED_DEPTHS:
        result[f"nDCG@{depth}"] = evaluation.ndcg(model, shown, depth, seed)
        result[f"Recall@{depth}"] = evaluation.recall(model, shown, depth, threshold, seed)
    return {name: value for name, value in result.items() if not np.isnan(value)}


def _cell(
    name: str,
    seed: int,
    train: ClickLog,
    test: ClickLog,
    world: World,
    validation: ClickLog | None,
    parameters: str,
    threshold: int,
    kind: type[ClickModel],  # to be known by name in a process that has not imported its module
) -> tuple[ClickModel, dict[str, float]]:
    model = fit_parts(name, train, validation, world, seed, parameters)
    return model, judge(model, test, world, seed, threshold)


def click_table(found: Metrics) -> ResultTable:
    """Return the table of what predicts clicks, of metrics by model and seed."""
    names = [*_at_ranks("PPL"), "uPPL", "LL", *_at_ranks("AUROC")]
    metrics = [
        Metric(name, name.startswith(("PPL", "uPPL")), brackets=(REFERENCE,))
        for name in names
        if name == "PPL" or any(name in row for rows in found.values() for row in rows)
    ]
    return _table(found, metrics, "Click prediction")


def _at_ranks(name: str) -> list[str]:
    return [name, *(f"{name}@{rank}" for rank in PERPLEXITY_RANKS)]


def _at_depths(name: str) -> list[str]:
    return [f"{name}@{depth}" for depth in GRADED_DEPTHS]


def paper_tables(judged: Judged) -> list[ResultTable]:
    """Return what was judged in the layout of the paper, and the rest, without empty tables.

    Tables 1, 2, 5 and 6 are perplexity and nDCG, tables 7 and 8 AUROC and recall.
    """
    layout = {
        "Tables 1, 2, 5 and 6: perplexity and nDCG": [*_at_ranks("PPL"), *_at_depths("nDCG")],
        "Tables 7 and 8: AUROC and recall": [*_at_ranks("AUROC"), *_at_depths("Recall")],
        "Unconditional perplexity and log-likelihood of a page": ["uPPL", "LL"],
    }
    sources = [table for table in (judged.clicks, judged.grades) if table is not None]
    tables = []
    for title, names in layout.items():
        columns = [(name, table) for name in names for table in sources if name in table.metrics]
        if columns:
            tables.append(ResultTable([table.metrics[name] for name, table in columns], title))
        for name, table in columns:
            for model in table.models:
                values = table.values(model, name)
                tables[-1].add(model, {name: values} if len(values) else {})
    return [*tables, judged.pages] if judged.pages.models else tables


def page_table(intervals: Mapping[str, Interval]) -> ResultTable:
    """Return the table of perplexities with their intervals over test pages, by model."""
    metric = Metric("PPL", True, brackets=(REFERENCE,))
    table = ResultTable([metric], "Perplexity over test pages, first seed")
    for name, found in intervals.items():
        table.add(name, {"PPL": found})
    return table


def grade_table(found: Metrics) -> ResultTable | None:
    """Return the table of agreement with grades; None where there are none."""
    names = [*_at_depths("nDCG"), *_at_depths("Recall")]
    reference = REFERENCE if REFERENCE in found else None
    metrics = [
        Metric(name, False, reference=reference, daggers=click_models(found))
        for name in names
        if any(name in row for rows in found.values() for row in rows)
    ]
    return _table(found, metrics, "Relevance estimation") if metrics else None


def _table(
    found: Metrics, metrics: Sequence[Metric], title: str
) -> ResultTable:
    table = ResultTable(metrics, title)
    for name, rows in found.items():
        cells = {
            metric.name: [row[metric.name] for row in rows if metric.name in row]
            for metric in metrics
        }
        table.add(name, {key: values for key, values in cells.items() if values})
    return table


TITLE = "Click models on a log"
NO_GRADES = "The log has no grades, so there is no nDCG and no recall."


def log_report(judged: Judged, no_grades: str = NO_GRADES) -> Report:
    """Return the report on models of a log; its page has the tables in the paper's layout.

    ``no_grades`` says why there is no agreement with grades, where there is none.
    """
    summary = f"Models {', '.join(judged.clicks.models)}. Headings of tables sort them."
    if judged.grades is None:
        summary += f" {no_grades}"
    every = {"clicks": judged.clicks, "pages": judged.pages, "grades": judged.grades}
    kept = {name: table for name, table in every.items() if table is not None and table.models}
    return Report(
        TITLE, summary, {"Tables": paper_tables(judged)},
        texts={f"{name}.md": f"{table.to_markdown()}\n" for name, table in kept.items()},
        tables_kept={f"{name}.parquet": table for name, table in kept.items()},
        printed=list(kept.values()),
    )  # fmt: skip
