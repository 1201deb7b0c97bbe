"""Table 1 of the slates paper: learning to rank from slate rewards, and from grades."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ... import evaluation, policies
from ...data import World
from ...evaluation import Metric, ResultTable
from ...policies.rankers.cross_fitted import deal_queries
from ...policies.rankers.named import RANDOM
from ..engine.grid import Result
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import WorldSetting, world_of
from .slate_cells import METRICS, draw_slates
from .slate_space import world_of_queries

VERSION = "1"
LEARNERS = ("LambdaMART", RANDOM, "SUP", "PI-OPT")  # as table 1 has them
FOLDS = 5
Slates = tuple[NDArray[Any], NDArray[Any]]  # queries (n,) and what they are shown, (n, K)


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
    query, slates = _MAKE_SLATES[cell.learner](cell, train, test)
    return {
        metric: float(evaluation.metric_rewards(metric, query, slates, test).mean())
        for metric in METRICS
    }


def _draw_random(cell: LearnCell, train: World, test: World) -> Slates:
    drawn = draw_slates(
        test, policies.Uniform(test, cell.slots), 1_000 * test.n_queries, cell.fold
    )
    return drawn.query, drawn.ranking


def _learn_grades(cell: LearnCell, train: World, test: World, fit: Callable[..., Any]) -> Slates:
    return _rank(fit(train, cell.slots, seed=cell.fold, n_estimators=cell.trees), test)


def _learn_rewards(cell: LearnCell, train: World, test: World) -> Slates:
    logging = policies.Uniform(train, cell.slots)
    log = draw_slates(train, logging, cell.samples * train.n_queries, cell.fold)
    rewards = evaluation.metric_rewards(cell.metric, log.query, log.ranking, train)
    learned = policies.fit_pi_opt(
        log, rewards, logging, train, seed=cell.fold, n_estimators=cell.trees
    )
    return _rank(learned, test)


def _rank(learned: Any, test: World) -> Slates:
    return np.arange(test.n_queries, dtype=np.int32), learned.policy(test).rankings


# The slates that a learner shows for queries of the test fold, the longest to learn first.
_MAKE_SLATES: dict[str, Callable[[LearnCell, World, World], Slates]] = {
    "PI-OPT": _learn_rewards,
    "LambdaMART": partial(_learn_grades, fit=policies.fit_lambdamart),
    "SUP": partial(_learn_grades, fit=policies.fit_supervised),
    RANDOM: _draw_random,
}
_FROM_REWARDS = ("PI-OPT",)  # learns from the rewards of a metric, the others from none


@register("learning")
@dataclass(frozen=True)
class Learning(Study):
    """Learn to rank from slate rewards: PI-OPT beside SUP and LambdaMART (table 1).

    A row per learner, metric and fold. The paper's 10 million slates for its 8,000 training
    queries are 1,250 per query.

    Example:
      clickgym ope learning --slates 500 --trees 50
    """

    command: ClassVar[str] = "ope"
    needs_grades: ClassVar[str] = "nDCG and ERR need"

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

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(WorldSetting(n_queries=10, n_docs=0), 2, 20, 2)

    def check(self) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        super().check()
        deal_queries(world_of(self.world), FOLDS, 0)

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give a cell per learner and fold, PI-OPT's per metric."""
        cells = [
            LearnCell(learner, metric, fold, self.slots, self.samples, self.trees, self.world)
            for learner in _MAKE_SLATES
            for metric in (METRICS if learner in _FROM_REWARDS else ("",))
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
    metrics = [Metric(label, False, 3, exclude=(RANDOM,)) for label in labels.values()]
    table = ResultTable(metrics, f"{name}: learning to rank, {FOLDS} folds (the seeds below)")
    for learner in LEARNERS:
        found = {}
        for metric, label in labels.items():
            part = [r["value"] for r in rows if (r["learner"], r["metric"]) == (learner, metric)]
            if part:
                found[label] = part
        table.add(learner, found)
    return table
