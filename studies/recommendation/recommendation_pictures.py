"""Figure 1 of the recommendation paper, and how well each metric predicts each CTR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation.recommendation.system_scores import NDCG, PRECISION
from ...evaluation.reporting.figures import new_figure
from ..engine.rows import Row, distinct, where
from .recommendation_claims import SYSTEMS, USERS
from .recommendation_scores import FITTED, FITTED_DISCOUNT
from .recommendation_tables import items_text, pick, pool

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = {
    "popularity": ("#0c4c8a", "o"), "mf": ("#d1495b", "s"), "user-based": ("#3f7d20", "^"),
    "random": ("#8c8c8c", "v"), "item-based": ("#e08e0b", "D"),
}  # fmt: skip
_OTHER = ("#222222", "o")
FIGURE_USERS = ("no-bias", "cascade-high", "browsing-quad")
METRIC_COLOURS = {
    NDCG: "#7fa8d1", PRECISION: "#0c4c8a", FITTED_DISCOUNT: "#e8a0a8", FITTED: "#d1495b",
}  # fmt: skip


def figure_1(rows: Sequence[Row], split: int, inside: bool) -> Figure:
    """Draw CTR against precision with the line through the systems, and the residuals below."""
    chosen = where(rows, split=split, training_items=inside)
    known = distinct(where(chosen, kind="error"), "rate", USERS)
    users = [user for user in FIGURE_USERS if user in known] or known[:3]
    figure = new_figure(1.0 + 3.6 * len(users), 6.2)
    top, bottom = figure.subplots(
        2, len(users), squeeze=False, height_ratios=(2, 1), sharey="row"
    )
    for axis, below, user in zip(top, bottom, users, strict=True):
        _draw_line(axis, chosen, user)
        _draw_residuals(below, chosen, user)
        axis.set_title(user)
    top[0].set_ylabel("CTR@10")
    bottom[0].set_ylabel("residual")
    handles, labels = top[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=7, fontsize=9, frameon=False)
    return figure


def _draw_line(axis: Any, rows: Sequence[Row], user: str) -> None:
    scores = where(rows, kind="score")
    systems = distinct(scores, "system", SYSTEMS)
    slope, intercept = (
        pick(rows, kind=kind, metric=PRECISION, rate=user) for kind in ("slope", "intercept")
    )
    points = {
        system: tuple(pick(scores, system=system, metric=name) for name in (PRECISION, user))
        for system in systems
    }
    end = 1.08 * max(x for x, _ in points.values())
    ends = np.array([0.0, end])
    axis.plot(ends, ends, ":", color="#8c8c8c", linewidth=1.0, label="CTR = precision")
    axis.plot(ends, intercept + slope * ends, color="#222222", linewidth=1.0, label="fitted line")
    for system, (x, y) in points.items():
        colour, mark = STYLES.get(system, _OTHER)
        axis.plot([x, x], [y, intercept + slope * x], color=colour, linewidth=1.4)
        axis.plot([x], [y], mark, color=colour, markersize=6, label=system)
    axis.set_xlabel("precision@10")
    axis.grid(alpha=0.25, linewidth=0.5)


def _draw_residuals(axis: Any, rows: Sequence[Row], user: str) -> None:
    part = where(rows, kind="residual", metric=PRECISION, rate=user)
    systems = distinct(part, "system", SYSTEMS)
    values = [pick(part, system=system) for system in systems]
    colours = [STYLES.get(system, _OTHER)[0] for system in systems]
    axis.bar(range(len(systems)), values, color=colours, width=0.6)
    axis.axhline(0.0, color="#222222", linewidth=0.8)
    axis.set_xticks(range(len(systems)), systems, fontsize=8, rotation=20)
    axis.grid(axis="y", alpha=0.25, linewidth=0.5)


def error_picture(rows: Sequence[Row]) -> Figure:
    """Draw how far each metric is off under each user: absolute, relative, and by ranks.

    Ranks are left out where all metrics order the systems as all CTRs do.
    """
    kinds = {
        "error": "residual standard error", "relative": "error relative to the CTRs' spread",
        "tau": "Kendall's tau",
    }  # fmt: skip
    if all(row["low"] == row["value"] == row["high"] == 1.0 for row in where(rows, kind="tau")):
        kinds.pop("tau")
    sides = distinct(rows, "training_items")
    users = distinct(where(rows, kind="error"), "rate", USERS)
    metrics = [name for name in METRIC_COLOURS if where(rows, kind="error", metric=name)]
    widths = [0.6 if kind == "tau" else 1.0 for kind in kinds]
    figure = new_figure(1.0 + 4.6 * sum(widths), 0.8 + 3.4 * len(sides))
    axes = figure.subplots(
        len(sides), len(kinds), squeeze=False, sharey=True, sharex="col", width_ratios=widths
    )
    for line, inside in zip(axes, sides, strict=True):
        for axis, (kind, label) in zip(line, kinds.items(), strict=True):
            for number, metric in enumerate(metrics):
                found = np.array([
                    pool(rows, kind=kind, training_items=inside, metric=metric, rate=user)
                    for user in users
                ])  # fmt: skip
                place = np.arange(len(users)) + 0.17 * (number - (len(metrics) - 1) / 2)
                colour = METRIC_COLOURS[metric]
                axis.hlines(place, found[:, 1], found[:, 2], color=colour, linewidth=1.6)
                axis.plot(found[:, 0], place, "o", color=colour, markersize=4, label=metric)
            axis.set_yticks(range(len(users)), users, fontsize=9)
            axis.set_title(f"{label}\n{items_text(inside)}", fontsize=10)
            axis.grid(axis="x", alpha=0.25, linewidth=0.5)
            axis.tick_params(axis="x", labelbottom=True)
            axis.locator_params(axis="x", nbins=4 if kind == "tau" else 5)
    axes[0, 0].invert_yaxis()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=9, frameon=False)
    return figure
