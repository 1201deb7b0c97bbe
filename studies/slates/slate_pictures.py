"""Figure 2 of the slates paper: errors against sample size, and how they are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation.reporting.figures import new_figure
from ...evaluation.reporting.formats import PlainTable
from ..engine.rows import Row, distinct, where
from .errors import ASPIRATION, condition_of, scale_errors, wins

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def condition_label(condition: Sequence[Any]) -> str:
    """Return a condition in words, in two lines."""
    candidates, slots, metric, logging, alpha, target = condition
    log = logging_label(logging, alpha)
    return f"{space_label(metric, candidates, slots)}\n{log} → {target}"


def logging_label(logging: str, alpha: float) -> str:
    """Return a logging policy in words."""
    return "uniform" if logging == "uniform" else f"{logging}-title, α = {alpha:g}"


def error_curves(axis: Any, errors: Sequence[Row]) -> None:
    """Draw errors against sample size on logarithmic axes, a line per estimator."""
    for name in distinct(errors, "estimator", tuple(STYLES))[::-1]:  # weighted forms on top
        part = sorted(where(errors, estimator=name), key=lambda row: row["n"])
        colour, line, mark = STYLES[name]
        axis.plot(
            [row["n"] for row in part], [row["rmse"] for row in part], line, color=colour,
            marker=mark, markersize=4, linewidth=1.4, label=LABELS[name],
        )  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
    sizes = sorted({row["n"] for row in errors})
    labels = [f"{n / 1000:g}k" if n >= 1000 else f"{n}" for n in sizes]
    axis.set_xticks(sizes, labels)
    axis.set_xticks([], minor=True)
    axis.tick_params(which="both", labelsize=8)
    axis.grid(alpha=0.25, linewidth=0.5)


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
        scaled = scale_errors(errors, n)
        for axis, (metric, candidates, slots) in zip(line, panels, strict=False):
            axis.set_axis_on()
            part = where(scaled, metric=metric, candidates=candidates, slots=slots)
            _distribution(axis, part)
            axis.set_title(f"{space_label(metric, candidates, slots)}, n = {n:,}", fontsize=9)
        line[0].set_ylabel("share of conditions")
    for axis in axes[-1]:
        axis.set_xlabel("normalised RMSE", fontsize=9)
    legend_above(figure, axes)
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


def all_conditions(errors: Sequence[Row], columns: int = 5) -> Figure:
    """Draw errors against sample size for every condition."""
    known = list(dict.fromkeys(condition_of(row) for row in errors))
    lines = -(-len(known) // columns)
    figure = new_figure(1.0 + 2.6 * columns, 1.0 + 2.3 * lines)
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey="row")
    for axis, condition in zip(axes.ravel(), known, strict=False):
        error_curves(axis, [row for row in errors if condition_of(row) == condition])
        axis.set_title(condition_label(condition), fontsize=8)
        axis.tick_params(labelsize=7)
    for axis in axes.ravel()[len(known) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel("RMSE", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("samples n", fontsize=8)
    legend_above(figure, axes)
    return figure


def legend_above(figure: Figure, axes: Any, columns: int | None = None) -> None:
    """Put one legend of all panels above them, estimators in their order."""
    found: dict[str, Any] = {}
    for axis in axes.ravel():
        found |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    names = sorted(found, key=[*LABELS.values(), *found].index)
    figure.legend(
        [found[name] for name in names], names, loc="outside upper center",
        ncols=columns or len(names), frameon=False, fontsize=9,
    )  # fmt: skip


def wins_table(errors: Sequence[Row], better: str = "wpi") -> PlainTable:
    """Return in how many conditions weighted PI has the lower error, by space and metric.

    Columns are other estimators at their smallest and at their largest sample size.
    """
    columns = []
    for name in distinct(errors, "estimator", tuple(STYLES)):
        if name not in (better, ASPIRATION):
            sizes = {row["n"] for row in where(errors, estimator=name)}
            columns += [(name, n) for n in sorted({min(sizes), max(sizes)})]
    repetitions = min(row["repetitions"] for row in errors)
    table = PlainTable(
        f"Conditions in which {LABELS[better]} has a lower RMSE than", "conditions",
        [f"{LABELS[name]}, n = {n:,}" for name, n in columns],
        f"RMSE over {repetitions} repetitions; in the last row the median |error| instead.",
    )  # fmt: skip
    lines = dict.fromkeys((row["metric"], row["candidates"], row["slots"]) for row in errors)
    parts = {
        space_label(*line): where(errors, metric=line[0], candidates=line[1], slots=line[2])
        for line in lines
    }
    for label, part in {**parts, "all": errors, "all, median |error|": errors}.items():
        by = "median" if "median" in label else "rmse"
        counts = (wins(part, better, name, n, by) for name, n in columns)
        table.add(label, [f"{won} of {number}" for won, number in counts])
    return table


def errors_table(errors: Sequence[Row]) -> PlainTable:
    """Return the median RMSE over conditions of every estimator, by sample size."""
    sizes = sorted({row["n"] for row in errors})
    table = PlainTable(
        "Median RMSE over conditions", "estimator", [f"n = {n:,}" for n in sizes],
        "– where an estimator was not tried.",
    )  # fmt: skip
    for name in distinct(errors, "estimator", tuple(STYLES)):
        found = [[row["rmse"] for row in where(errors, estimator=name, n=n)] for n in sizes]
        table.add(LABELS[name], [f"{np.median(part):.4f}" if part else "–" for part in found])
    return table


def space_label(metric: str, candidates: int, slots: int) -> str:
    """Return a metric and a space in words."""
    return f"{METRICS.get(metric, metric)}, m = {candidates}, l = {slots}"
