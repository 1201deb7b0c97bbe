"""Figure 2 of the slates paper: errors against sample size, and how they are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation.pictures import new_figure
from ..evaluation.table_formats import Shown, markdown, rich_table
from .errors import ASPIRATION, Row, condition_of, normalised, wins
from .selecting import distinct, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

# Colours, lines and marks of the estimators, in the order of the legend.
STYLES = {
    "on-policy": ("#222222", ":", ""), "wpi": ("#0c4c8a", "-", "o"), "pi": ("#7fa8d1", "--", "o"),
    "wips": ("#d1495b", "-", "s"), "ips": ("#e8a0a8", "--", "s"),
    "dm-tree": ("#3f7d20", "-", "^"), "dm-lasso": ("#e08e0b", "-", "v"),
}  # fmt: skip
LABELS = {
    "on-policy": "on-policy", "wpi": "wPI", "pi": "PI", "wips": "wIPS", "ips": "IPS",
    "dm-tree": "DM tree", "dm-lasso": "DM lasso",
}  # fmt: skip
# Four conditions as in the paper's top row: two degrees of chance, then two spaces.
REPRESENTATIVE = (
    (100, 10, "ndcg", "lasso", 1.0, "tree-body"), (100, 10, "ndcg", "lasso", 2.0, "tree-body"),
    (100, 10, "err", "tree", 1.0, "lasso-body"), (10, 5, "err", "tree", 1.0, "lasso-body"),
)  # fmt: skip
METRICS = {"ndcg": "nDCG", "err": "ERR"}


def condition_label(condition: Sequence[Any], lines: int = 2) -> str:
    """Return a condition in words, in one line or two."""
    candidates, slots, metric, logging, alpha, target = condition
    log = "uniform" if logging == "uniform" else f"{logging}-title, α = {alpha:g}"
    first = f"{METRICS.get(metric, metric)}, m = {candidates}, l = {slots}"
    return f"{first}{chr(10) if lines == 2 else ': '}{log} → {target}"


def error_curves(axis: Any, errors: Sequence[Row]) -> None:
    """Draw errors against sample size on logarithmic axes, a line an estimator."""
    for name in distinct(errors, "estimator", tuple(STYLES)):
        part = sorted(where(errors, estimator=name), key=lambda row: row["n"])
        colour, line, mark = STYLES[name]
        axis.plot(
            [row["n"] for row in part], [row["rmse"] for row in part], line, color=colour,
            marker=mark, markersize=4, linewidth=1.4, label=LABELS[name],
        )  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.grid(alpha=0.25, which="both", linewidth=0.5)


def figure_2(errors: Sequence[Row]) -> Figure:
    """Draw four conditions (top), and below the distributions of normalised errors.

    The middle row is at the largest sample size, the bottom row at the largest that the direct
    methods were given, where that is smaller.
    """
    known = list(dict.fromkeys(condition_of(row) for row in errors))
    chosen = [one for one in REPRESENTATIVE if one in known]
    chosen = (chosen + [one for one in known if one not in chosen])[:4]
    panels = list(dict.fromkeys((row["metric"], row["candidates"], row["slots"]) for row in errors))
    sizes = compared_sizes(errors)
    columns = max(len(chosen), len(panels))
    figure = new_figure(1.2 + 3.1 * columns, 1.0 + 2.7 * (1 + len(sizes)))
    axes = figure.subplots(1 + len(sizes), columns, squeeze=False)
    for axis in axes.ravel():
        axis.set_axis_off()
    for axis, condition in zip(axes[0], chosen, strict=False):
        axis.set_axis_on()
        error_curves(axis, [row for row in errors if condition_of(row) == condition])
        axis.set_title(condition_label(condition), fontsize=9)
        axis.set_xlabel("samples n", fontsize=9)
    axes[0, 0].set_ylabel("RMSE")
    for line, n in zip(axes[1:], sizes, strict=True):
        scaled = normalised(errors, n)
        for axis, (metric, candidates, slots) in zip(line, panels, strict=False):
            axis.set_axis_on()
            part = where(scaled, metric=metric, candidates=candidates, slots=slots)
            _distribution(axis, part)
            label = METRICS.get(metric, metric)
            axis.set_title(f"{label}, m = {candidates}, l = {slots}, n = {n:,}", fontsize=9)
        line[0].set_ylabel("share of conditions")
    for axis in axes[-1]:
        axis.set_xlabel("normalised RMSE", fontsize=9)
    _legend(figure, axes)
    return figure


def compared_sizes(errors: Sequence[Row]) -> list[int]:
    """Return the largest sample size, and the largest at which all estimators were tried."""
    names = distinct(errors, "estimator")
    each = [{row["n"] for row in where(errors, estimator=name)} for name in names]
    return sorted({max(set.union(*each)), max(set.intersection(*each))}, reverse=True)


def _distribution(axis: Any, rows: Sequence[Row]) -> None:
    """Draw the share of conditions in which an estimator's normalised error is below x."""
    for name in distinct(rows, "estimator", tuple(STYLES)):
        values = np.sort([row["normalised"] for row in where(rows, estimator=name)])
        shares = np.arange(1, len(values) + 1) / len(values)
        colour, line, _ = STYLES[name]
        axis.step(
            np.concatenate([[5e-4], values, [1.3]]), np.concatenate([[0.0], shares, [1.0]]), line,
            where="post", color=colour, linewidth=1.4, label=LABELS[name],
        )  # fmt: skip
    axis.set_xscale("log")
    axis.set_xlim(7e-4, 1.3)
    axis.set_ylim(0.0, 1.03)
    axis.grid(alpha=0.25, linewidth=0.5)


def all_conditions(errors: Sequence[Row]) -> Figure:
    """Draw errors against sample size for every condition, a row a space and metric."""
    known = list(dict.fromkeys(condition_of(row) for row in errors))
    lines = list(dict.fromkeys(one[:3] for one in known))
    columns = max(sum(one[:3] == line for one in known) for line in lines)
    figure = new_figure(1.0 + 2.5 * columns, 1.0 + 2.3 * len(lines))
    axes = figure.subplots(len(lines), columns, squeeze=False, sharex=True)
    for line, row in zip(lines, axes, strict=True):
        conditions = [one for one in known if one[:3] == line]
        for axis, condition in zip(row, conditions, strict=False):
            error_curves(axis, [one for one in errors if condition_of(one) == condition])
            axis.set_title(condition_label(condition), fontsize=7)
            axis.tick_params(labelsize=7)
        row[0].set_ylabel("RMSE", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("samples n", fontsize=8)
    _legend(figure, axes)
    return figure


def _legend(figure: Figure, axes: Any) -> None:
    found: dict[str, Any] = {}
    for axis in axes.ravel():
        found |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    names = [label for label in LABELS.values() if label in found]
    figure.legend(
        [found[name] for name in names], names, loc="outside upper center", ncols=len(names),
        frameon=False, fontsize=9,
    )  # fmt: skip


class WinsTable:
    """In how many conditions weighted PI has the lower error, by space and metric.

    Columns are other estimators at a sample size: the largest of both, and the smallest.
    """

    def __init__(self, errors: Sequence[Row], better: str = "wpi") -> None:
        lines = dict.fromkeys((row["metric"], row["candidates"], row["slots"]) for row in errors)
        columns = self._columns(errors, better)
        self.headings = [f"{LABELS[name]}, n = {n:,}" for name, n in columns]
        self.rows: dict[str, list[Shown]] = {}
        for metric, candidates, slots in lines:
            part = where(errors, metric=metric, candidates=candidates, slots=slots)
            label = f"{METRICS.get(metric, metric)}, m = {candidates}, l = {slots}"
            self.rows[label] = self._counts(part, better, columns)
        self.rows["all"] = self._counts(errors, better, columns)
        repetitions = min(row["repetitions"] for row in errors)
        self.title = f"Conditions in which {LABELS[better]} has a lower RMSE than"
        self.legend = f"RMSE over {repetitions} repetitions."

    @staticmethod
    def _columns(errors: Sequence[Row], better: str) -> list[tuple[str, int]]:
        columns = []
        for name in distinct(errors, "estimator", tuple(STYLES)):
            if name not in (better, ASPIRATION):
                sizes = {row["n"] for row in where(errors, estimator=name)}
                columns += [(name, n) for n in sorted({min(sizes), max(sizes)})]
        return columns

    @staticmethod
    def _counts(errors: Sequence[Row], better: str, columns: Sequence[tuple[str, int]]) -> Any:
        counts = (wins(errors, better, name, n) for name, n in columns)
        return [Shown(f"{won} of {number}", value=won) for won, number in counts]

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        return markdown(self.headings, self.rows, self.title, self.legend)

    def __rich__(self) -> Table:
        """Return the table for a terminal."""
        return rich_table(self.headings, self.rows, self.title, self.legend)
