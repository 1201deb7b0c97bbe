"""Table 1 of the slates paper: learning to rank from slate rewards, and from grades."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ... import evaluation, policies
from ...common import checks
from ...evaluation import Metric, ResultTable
from ...policies.rankers.cross_fitted import deal_queries
from ..engine.grid import Result, require_results, run_grid
from ..setting import WorldSetting, check_jobs, world_of
from .slate_cells import METRICS, draw_slates
from .slate_space import world_of_queries

VERSION = "1"
LEARNERS = ("LambdaMART", "random", "SUP", "PI-OPT")
FOLDS = 5


@dataclass(frozen=True)
class LearnCell:
    """One learner, trained on four folds of queries and judged on the fifth.

    ``metric`` is what PI-OPT's slates earn; the others do not depend on it ("").
    ``samples`` are slates by uniform logging for each training query.
    """

    learner: str
    metric: str
    fold: int
    slots: int = 3
    samples: int = 1_250
    trees: int = 200
    world: WorldSetting = field(default_factory=WorldSetting)


def learn_cell(cell: LearnCell) -> Result:
    """Learn, and return the mean nDCG and ERR of the test fold's queries."""
    world = world_of(cell.world)
    fold = deal_queries(world, FOLDS, 0)
    train, test = (
        world_of_queries(world, np.flatnonzero(rows))
        for rows in (fold != cell.fold, fold == cell.fold)
    )
    if cell.learner == "random":
        pages = 1_000 * test.n_queries
        drawn = draw_slates(test, policies.Uniform(test, cell.slots), pages, cell.fold)
        query, slates = drawn.query, drawn.ranking
    else:
        query = np.arange(test.n_queries, dtype=np.int32)
        slates = _learned(cell, train).policy(test).rankings
    return {
        metric: float(evaluation.metric_rewards(metric, query, slates, test).mean())
        for metric in METRICS
    }


def _learned(cell: LearnCell, train: Any) -> Any:
    settings = {"seed": cell.fold, "n_estimators": cell.trees}
    if cell.learner == "SUP":
        return policies.fit_supervised(train, cell.slots, **settings)
    if cell.learner == "LambdaMART":
        return policies.fit_lambdamart(train, cell.slots, **settings)
    logging = policies.Uniform(train, cell.slots)
    log = draw_slates(train, logging, cell.samples * train.n_queries, cell.fold)
    rewards = evaluation.metric_rewards(cell.metric, log.query, log.ranking, train)
    return policies.fit_pi_opt(log, rewards, logging, train, **settings)


def learning_study(
    folder: str | Path,
    world: WorldSetting,
    slots: int = 3,
    samples: int = 1_250,
    trees: int = 200,
    jobs: int = 1,
    retry_failed: bool = False,
) -> tuple[list[dict[str, Any]], int]:
    """Return a row for every learner, metric and fold, and how many cells failed.

    ``samples`` a training query: the paper's 10 million for its 8,000 are 1,250.
    """
    checks.positive_integer(samples, "samples")
    checks.positive_integer(trees, "trees")
    checks.positive_integer(slots, "slots")
    check_jobs(jobs)
    deal_queries(world_of(world), FOLDS, 0)
    cells = [
        LearnCell(learner, metric, fold, slots, samples, trees, world)
        for learner in ("PI-OPT", "LambdaMART", "SUP", "random")  # the longest first
        for metric in (METRICS if learner == "PI-OPT" else ("",))
        for fold in range(FOLDS)
    ]
    place = Path(folder) / "cells"
    results = run_grid(
        learn_cell, cells, place, VERSION, jobs, "learning to rank", retry_failed
    )
    require_results(cells, results, place, VERSION)
    rows = [
        {"learner": cell.learner, "metric": metric, "fold": cell.fold, "slots": cell.slots,
         "value": value}
        for cell, result in zip(cells, results, strict=True) if result is not None
        for metric, value in result.items() if cell.metric in ("", metric)
    ]  # fmt: skip
    return rows, sum(result is None for result in results)


def learning_table(rows: list[dict[str, Any]], name: str) -> ResultTable:
    """Return table 1: learners by metrics, with intervals over the folds.

    Folds share training queries, so that the intervals are somewhat too narrow.
    """
    slots = rows[0]["slots"]
    labels = {"ndcg": f"nDCG@{slots}", "err": f"ERR@{slots}"}
    metrics = [Metric(label, False, 3, exclude=("random",)) for label in labels.values()]
    table = ResultTable(metrics, f"{name}: learning to rank, {FOLDS} folds (the seeds below)")
    for learner in LEARNERS:
        found = {}
        for metric, label in labels.items():
            part = [r["value"] for r in rows if (r["learner"], r["metric"]) == (learner, metric)]
            if part:
                found[label] = part
        table.add(learner, found)
    return table
