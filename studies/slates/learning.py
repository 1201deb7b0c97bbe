"""Table 1 of the slates paper: learning to rank from slate rewards, and from grades."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from ... import evaluation, policies
from ...evaluation import Metric, ResultTable
from ...policies.rankers.cross_fitted import deal_queries
from ..engine.grid import Result
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import WorldSetting, world_of
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
        slates = _learn(cell, train).policy(test).rankings
    return {
        metric: float(evaluation.metric_rewards(metric, query, slates, test).mean())
        for metric in METRICS
    }


def _learn(cell: LearnCell, train: Any) -> Any:
    settings = {"seed": cell.fold, "n_estimators": cell.trees}
    if cell.learner == "SUP":
        return policies.fit_supervised(train, cell.slots, **settings)
    if cell.learner == "LambdaMART":
        return policies.fit_lambdamart(train, cell.slots, **settings)
    logging = policies.Uniform(train, cell.slots)
    log = draw_slates(train, logging, cell.samples * train.n_queries, cell.fold)
    rewards = evaluation.metric_rewards(cell.metric, log.query, log.ranking, train)
    return policies.fit_pi_opt(log, rewards, logging, train, **settings)


@register("learning")
@dataclass(frozen=True)
class Learning(Study):
    """Learn to rank from slate rewards: PI-OPT beside SUP and LambdaMART (table 1).

    A row per learner, metric and fold. The paper's 10 million slates for its 8,000 training
    queries are 1,250 per query.

    Example:
      clickgym ope learning --slates 500 --trees 50
    """

    world: WorldSetting = setting(WorldSetting(n_queries=1000, n_docs=0), whole_file=True)
    slots: int = setting(3, "documents per slate", least=1, metavar="N")
    samples: int = setting(
        1_250, "slates per training query", flag="slates", least=1, metavar="N", was=("samples",)
    )
    trees: int = setting(200, "boosted trees", least=1, metavar="N")

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick" and "paper"."""
        quick = cls(WorldSetting(n_queries=100, n_docs=0), samples=500, trees=50)
        return {"quick": quick, "paper": cls()}

    def check(self) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        super().check()
        deal_queries(world_of(self.world), FOLDS, 0)

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give a cell per learner and fold, PI-OPT's per metric."""
        cells = [
            LearnCell(learner, metric, fold, self.slots, self.samples, self.trees, self.world)
            for learner in ("PI-OPT", "LambdaMART", "SUP", "random")  # the longest first
            for metric in (METRICS if learner == "PI-OPT" else ("",))
            for fold in range(FOLDS)
        ]
        yield Stage("learning to rank", learn_cell, cells, VERSION, dict.fromkeys(METRICS, float))

    def rows(self, results: Results) -> list[Row]:
        """Return a row per learner, metric and fold."""
        (pairs,) = results.values()
        return [
            {"learner": cell.learner, "metric": metric, "fold": cell.fold, "slots": cell.slots,
             "value": value}
            for cell, result in pairs
            for metric, value in result.items()
            if cell.metric in ("", metric)
        ]  # fmt: skip

    def report(self, rows: list[Row]) -> Report:
        """Return table 1."""
        name = Path(self.world.path).name or "embedded world"
        return Report(
            "Learning to rank from slate rewards", "Table 1 of the slates paper.",
            {"Table 1": [learning_table(rows, name)]},
        )  # fmt: skip


def learning_table(rows: list[Row], name: str) -> ResultTable:
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
