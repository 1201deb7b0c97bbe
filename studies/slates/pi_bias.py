"""What the pseudoinverse estimator expects, by enumeration: its bias where rewards are no sums."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ... import evaluation, policies
from ...evaluation.reporting.figures import new_figure
from ...evaluation.reporting.formats import PlainTable
from ..engine.grid import Result
from ..engine.rows import Row, distinct, where
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import WorldSetting, world_of
from .slate_cells import METRICS, pseudoinverse_weights, target_rewards
from .slate_pictures import METRICS as LABELS
from .slate_pictures import legend_above, logging_label
from .slate_space import (
    LOGGINGS,
    TARGETS,
    SlateSpace,
    check_space,
    read_space,
    slate_logging,
    slate_world,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERSION = "2"
BIAS_TARGETS = (*TARGETS, "oracle")  # the last shows the best documents first
_MOST = 200_000  # slates of a query; 10 documents in 5 slots have 30,240
_ROUNDING = 1e-9
_TARGET_LABELS = {name: f"→ {name}" for name in BIAS_TARGETS}
_COLOURS = ("#7fa8d1", "#0c4c8a", "#d1495b")


@dataclass(frozen=True)
class BiasCell:
    """One logging policy and all slates of its space, for all targets and both metrics."""

    space: SlateSpace


_BY_QUERY = dict[str, dict[str, list[float]]]  # by target and metric


def bias_cell(cell: BiasCell) -> Result:
    """Return E[r w] under logging, what PI comes to with endless logs, and the true rewards.

    ``expected`` and ``truth`` are lists by query, by target and metric. Costs O(Q m! / (m - l)!).
    """
    space = cell.space
    world, logging = slate_world(space), slate_logging(space)
    slates = all_slates(space.candidates, space.slots)
    tables = {name: pseudoinverse_weights(space, name) for name in BIAS_TARGETS}
    expected = {name: np.empty((len(METRICS), world.n_queries)) for name in BIAS_TARGETS}
    for number in range(world.n_queries):
        query = np.full(len(slates), number)
        chance = np.exp(logging.log_prob(query, slates))
        rewards = np.stack([
            evaluation.metric_rewards(metric, query, slates, world) for metric in METRICS
        ])  # fmt: skip
        for name, table in tables.items():
            expected[name][:, number] = rewards @ (chance * table.of(query, slates))
    return {
        "expected": {name: _by_metric(rows) for name, rows in expected.items()},
        "truth": {
            name: _by_metric(np.stack([target_rewards(space, name)[m] for m in METRICS]))
            for name in BIAS_TARGETS
        },
    }


def _by_metric(rows: NDArray[np.float64]) -> dict[str, list[float]]:
    return {metric: row.tolist() for metric, row in zip(METRICS, rows, strict=True)}


@lru_cache(maxsize=1)
def all_slates(candidates: int, slots: int) -> NDArray[np.int64]:
    """Return every slate of ``slots`` of ``candidates`` documents, (m! / (m - l)!, l)."""
    slates = np.array(list(itertools.permutations(range(candidates), slots)))
    slates.flags.writeable = False
    return slates


@register("bias")
@dataclass(frozen=True)
class Bias(Study):
    """Find the bias of PI: its expected estimate, by enumeration of all slates, and the truth.

    A row per logging policy, target, metric and query has ``expected``, the limit of PI's estimate
    as the log of that query grows, and ``truth``.

    Example:
      clickgym ope bias --space 6,3
    """

    command: ClassVar[str] = "ope"
    needs_grades: ClassVar[str] = "nDCG and ERR need"

    space: tuple[int, int] = setting(
        (10, 5), "slate space: slates of l of a query's m best documents", read=read_space,
        metavar="M,L", was=("spaces",),
    )
    world: WorldSetting = setting(WorldSetting(n_queries=1000, n_docs=0), whole_file=True)

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick" and "paper"."""
        return {"quick": cls(world=WorldSetting(n_queries=50, n_docs=0)), "paper": cls()}

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls((4, 2), WorldSetting(n_queries=10, n_docs=0))

    def check(self) -> None:
        """Raise where the study could not run; the world is loaded for it."""
        super().check()
        check_space(self.space, "space")
        slates = math.perm(*self.space)
        if slates > _MOST:
            raise ValueError(
                f"space: {self.space[1]} of {self.space[0]} documents make {slates:,} slates per "
                f"query, more than the {_MOST:,} that are enumerated"
            )
        policies.feature_group(world_of(self.world), "title")
        slate_world(SlateSpace(*self.space, world=self.world))

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give a cell per logging policy."""
        cells = [BiasCell(SlateSpace(*self.space, *logging, self.world)) for logging in LOGGINGS]
        result = {"expected": _BY_QUERY, "truth": _BY_QUERY}
        yield Stage("logging policies", bias_cell, cells, VERSION, result)

    def rows(self, results: Results) -> list[Row]:
        """Return a row per logging policy, target, metric and query."""
        (pairs,) = results.values()
        return [
            {"candidates": cell.space.candidates, "slots": cell.space.slots,
             "logging": cell.space.logging, "alpha": cell.space.alpha, "target": target,
             "metric": metric, "query": query, "expected": expected, "truth": truth}
            for cell, result in pairs
            for target in BIAS_TARGETS
            for metric in METRICS
            for query, (expected, truth) in enumerate(zip(
                result["expected"][target][metric], result["truth"][target][metric], strict=True
            ))
        ]  # fmt: skip

    def report(self, rows: list[Row]) -> Report:
        """Return the table of biases and their picture."""
        return Report(
            "The bias of the pseudoinverse estimator", "By enumeration of all slates.",
            {"Table": [bias_table(rows)]}, {"bias.png": ("Bias of queries", bias_picture(rows))},
        )  # fmt: skip


def bias_table(rows: list[Row]) -> PlainTable:
    """Return the bias of PI by logging policy and target: of the value, and of single queries."""
    queries = len({row["query"] for row in rows})
    space = rows[0]["candidates"], rows[0]["slots"]
    headings = [
        f"{LABELS[metric]}, {what}"
        for metric in METRICS for what in ("value", "bias", "largest of a query")
    ]  # fmt: skip
    table = PlainTable(
        f"What PI is off by with endless logs, m = {space[0]}, l = {space[1]}",
        "logging → target", headings,
        f"By enumeration of all slates of {queries:,} queries; the last of three columns is the "
        f"largest |bias| of any query. 0: below {_ROUNDING:g}.",
    )  # fmt: skip
    for logging, alpha in LOGGINGS:
        for target in distinct(rows, "target", BIAS_TARGETS):
            own = where(rows, logging=logging, alpha=alpha, target=target)
            if not own:  # its cell failed
                continue
            texts = []
            for metric in METRICS:
                some = where(own, metric=metric)
                truth = np.array([row["truth"] for row in some])
                off = np.array([row["expected"] for row in some]) - truth
                texts += [f"{truth.mean():.3f}", _format_bias(off.mean(), "+.4f")]
                texts.append(_format_bias(np.abs(off).max(), ".4f"))
            table.add(f"{logging_label(logging, alpha)} → {target}", texts)
    return table


def _format_bias(value: float, form: str) -> str:
    return format(value, form) if abs(value) >= _ROUNDING else "0"


def bias_picture(rows: list[Row]) -> Figure:
    """Draw PI's bias against the true reward, a point per query, colours by target.

    A panel for nDCG with all logging policies, where there is none, and one a policy for ERR.
    """
    panels = [(f"{LABELS['ndcg']}, any of them", where(rows, metric="ndcg"))]
    for logging, alpha in LOGGINGS:
        part = where(rows, metric="err", logging=logging, alpha=alpha)
        panels.append((f"{LABELS['err']}, {logging_label(logging, alpha)}", part))
    figure = new_figure(9.6, 5.8)
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    for axis, (label, part) in zip(axes.ravel(), panels, strict=True):
        axis.axhline(0.0, color="#8c8c8c", linewidth=1.0, zorder=1)
        for (target, name), colour in zip(_TARGET_LABELS.items(), _COLOURS, strict=True):
            some = where(part, target=target)
            axis.scatter(
                [row["truth"] for row in some], [row["expected"] - row["truth"] for row in some],
                s=7, color=colour, alpha=0.6, linewidths=0.0, label=name, zorder=3,
            )  # fmt: skip
        axis.set_title(label, fontsize=10)
        axis.grid(alpha=0.25, linewidth=0.5)
    for axis in axes[-1]:
        axis.set_xlabel("true reward of the target's slate")
    for axis in axes[:, 0]:
        axis.set_ylabel("bias of PI")
    legend_above(figure, axes)
    return figure
