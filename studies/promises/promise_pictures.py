"""The picture and the table of promises, estimates and what was deployed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation.reporting.figures import new_figure
from ...evaluation.reporting.formats import PlainTable
from ...evaluation.statistics import rank_correlation
from ..engine.rows import Row, distinct, where
from ..slates.errors import root_mean_squares
from ..slates.slate_pictures import legend_above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OPTIMISERS = ("Top-Down", "Max-Reward", "PolicyGradient")  # the first two are no agents
ESTIMATE_LABELS = {
    "promise": "the model's promise", "ips": "IPS", "wips": "weighted IPS", "pi": "PI",
    "wpi": "weighted PI", "dr-ips": "doubly robust IPS", "dr-pi": "doubly robust PI",
}  # fmt: skip
ESTIMATES = tuple(ESTIMATE_LABELS)
_MARKS = ("o", "s", "^", "D", "v", "P")


def promise_table(rows: Sequence[Row], logging: str) -> PlainTable:
    """Return the errors of every estimate against the deployed value, in clicks per page."""
    users, policies = distinct(rows, "user"), len(where(rows, estimator=rows[0]["estimator"]))
    table = PlainTable(
        f"Estimates of {policies} policies optimised inside click models, log by {logging}, "
        "clicks per page",
        "estimate",
        ["RMSE", "mean error", "median |error|", *(f"RMSE, {user}" for user in users),
         "rank correlation"],
        "Errors are estimate minus deployed value. Rank correlation: Spearman's between estimates "
        "and deployed values of one user, averaged over users whose estimates differ; – if none's. "
        f"Logging shows what a policy does for {_covered(rows):.0%} of the queries on average.",
    )  # fmt: skip
    for name in distinct(rows, "estimator", ESTIMATES):
        part = where(rows, estimator=name)
        (overall,) = root_mean_squares(part, ("estimator",))
        by_user = {row["user"]: row["rmse"] for row in root_mean_squares(part, ("user",))}
        own = [overall[key] for key in ("rmse", "bias", "median")]
        numbers = [*own, *(by_user[user] for user in users)]
        texts = [f"{value:.3f}" for value in numbers]
        table.add(ESTIMATE_LABELS[name], [*texts, _rank_correlation(part)])
    return table


def _covered(rows: Sequence[Row]) -> float:
    return float(np.mean([row["covered"] for row in rows]))


def _rank_correlation(rows: Sequence[Row]) -> str:
    """Return Spearman's correlation within users, averaged over those where estimates differ."""
    found = []
    for user in distinct(rows, "user"):
        part = where(rows, user=user)
        estimates, truth = ([row[key] for row in part] for key in ("estimate", "truth"))
        if np.ptp(estimates) > 0 and np.ptp(truth) > 0:
            found.append(rank_correlation(estimates, truth))
    return f"{np.mean(found):.2f}" if found else "–"


def promise_picture(rows: Sequence[Row]) -> Figure:
    """Draw estimates against deployed values: a panel per estimate, a point per policy.

    Colours are click models, marks are how the policy was made. On the line an estimate is right.
    Points outside the panel, whose limits cover the promises and the deployed values, are drawn
    at its edge and counted there.
    """
    names = distinct(rows, "estimator", ESTIMATES)
    columns = min(len(names), 4)
    lines = -(-len(names) // columns)
    figure = new_figure(1.0 + 2.9 * columns, 1.2 + 3.0 * lines)
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).ravel()
    inside = [row for row in rows if row["estimator"] == "promise"]
    values = [row[key] for row in inside for key in ("estimate", "truth")]
    low, high = min(values), max(values)
    margin = 0.25 * (high - low)
    low, high = max(low - margin, -0.05), high + margin
    deployed = [row["truth"] for row in inside]
    side = 0.1 * (max(deployed) - min(deployed)) or margin
    left, right = min(deployed) - side, max(deployed) + side
    for axis, name in zip(axes, names, strict=False):
        axis.plot([low, high], [low, high], color="#8c8c8c", linewidth=1.0, zorder=1)
        part = where(rows, estimator=name)
        _points(axis, part, low, high)
        for text, height, outside in (
            ("above", 0.98, sum(row["estimate"] > high for row in part)),
            ("below", 0.02, sum(row["estimate"] < low for row in part)),
        ):
            if outside:
                axis.text(
                    0.03, height, f"{outside} {text}", transform=axis.transAxes, fontsize=8,
                    va="top" if text == "above" else "bottom",
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8}, zorder=4,
                )  # fmt: skip
        axis.set_title(ESTIMATE_LABELS[name], fontsize=10)
        axis.set_xlim(left, right)
        axis.set_ylim(low, high)
        axis.grid(alpha=0.25, linewidth=0.5)
    for axis in axes[len(names) :]:
        axis.set_axis_off()
    for axis in axes[::columns]:
        axis.set_ylabel("estimated clicks a page")
    for axis in axes[max(len(names) - columns, 0) : len(names)]:
        axis.set_xlabel("deployed clicks a page")
        axis.tick_params(labelbottom=True)
    legend_above(figure, axes, max(len(distinct(rows, "model")), 3))
    return figure


def _points(axis: Any, rows: Sequence[Row], low: float, high: float) -> None:
    from matplotlib import colormaps

    marks = dict(zip(distinct(rows, "optimiser", OPTIMISERS), _MARKS, strict=False))
    for number, model in enumerate(distinct(rows, "model")):
        for optimiser, mark in marks.items():
            part = where(rows, model=model, optimiser=optimiser)
            axis.scatter(
                [row["truth"] for row in part],
                np.clip([row["estimate"] for row in part], low, high), s=26, marker=mark,
                color=colormaps["tab10"](number), alpha=0.75, linewidths=0.0, clip_on=False,
                label=f"{model} {optimiser}", zorder=3,
            )  # fmt: skip
