"""Tables and pictures of the curse study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation import Interval, Metric, ResultTable, interval
from ..evaluation.pictures import (
    BEST,
    LOGGING,
    MAX_REWARD,
    PROMISED,
    RANDOM,
    TOP_DOWN,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
POLICIES = {"top_down": ("Top-Down", TOP_DOWN), "max_reward": ("Max-Reward", MAX_REWARD)}
_COLUMNS = {  # what is compared: True where lower is better, None where neither is
    "promised": ("promised", None),
    "deployed": ("deployed", False),
    "gap": ("gap", None),
    "model_error_on_logging": ("on logging", None),
    "added_by_optimising": ("by optimising", None),
    "regret": ("regret", True),
    "lift": ("lift", False),
}


def curse_table(rows: Sequence[Row], user: str, logging: str) -> ResultTable:
    """Return the table of one user and logging policy, a row a policy, in clicks a page.

    "on logging" and "by optimising" add up to the gap.
    """
    chosen = _chosen(rows, user, logging)
    parts = {
        f"{model} {label}": (key, _of(chosen, model))
        for model in dict.fromkeys(row["model"] for row in chosen)
        for key, (label, _) in POLICIES.items()
    }
    metrics = [
        Metric(
            name, bool(lower), digits=3, exclude=tuple(parts) if lower is None else (),
            arrow=lower is not None,
        )
        for name, lower in _COLUMNS.values()
    ]
    lines = {name: _mean(chosen, key).mean for name, key in _lines(chosen).items()}
    text = ", ".join(f"{name} {value:.3f}" for name, value in lines.items())
    table = ResultTable(metrics, f"{user} user, log by {logging}, clicks a page; {text}")
    for name, (policy, part) in parts.items():
        values = {
            column: [row[f"{policy}_{key}"] for row in part]
            for key, (column, _) in _COLUMNS.items()
        }
        table.add(name, values, [row["seed"] for row in part])
    return table


def curse_picture(rows: Sequence[Row], rate: bool = False) -> Figure:
    """Draw deployed values as bars and promised values as marks above them.

    A row of panels a user, a column a logging policy; ``rate`` divides by the slots, which gives
    click-through rates. Whiskers are 95% intervals over seeds.
    """
    users = list(dict.fromkeys(row["user"] for row in rows))
    loggings = list(dict.fromkeys(row["logging"] for row in rows))
    models = list(dict.fromkeys(row["model"] for row in rows))
    width = max(1.6 + (0.62 * len(models) + 0.5) * len(loggings), 7.0)
    figure = new_figure(width, 1.0 + 3.6 * len(users))
    panels = figure.subplots(len(users), len(loggings), squeeze=False, sharey="row")
    legend: dict[str, Any] = {}
    for user, axes in zip(users, panels, strict=True):
        for logging, axis in zip(loggings, axes, strict=True):
            chosen = _chosen(rows, user, logging)
            if chosen:  # every cell of a panel may have failed
                _panel(axis, chosen, models, rate)
            axis.set_title(f"{user} user, log by {logging}", fontsize=10)
            legend |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
        axes[0].set_ylim(0.0, 1.04 * max(axis.dataLim.ymax for axis in axes))  # shared by the row
        axes[0].set_ylabel("click-through rate" if rate else "clicks a page")
    figure.legend(
        legend.values(), legend.keys(), loc="outside upper center", frameon=False, fontsize=9,
        ncols=3 if width < 10 else 6,
    )  # fmt: skip
    return figure


def _panel(axis: Any, rows: Sequence[Row], models: Sequence[str], rate: bool) -> None:
    scale = 1.0 / rows[0]["slots"] if rate else 1.0
    places = np.arange(len(models), dtype=float)
    for shift, (key, (label, colour)) in zip((-0.2, 0.2), POLICIES.items(), strict=True):
        deployed = [_mean(_of(rows, model), f"{key}_deployed") for model in models]
        promised = [_mean(_of(rows, model), f"{key}_promised") for model in models]
        axis.bar(
            places + shift, [scale * number.mean for number in deployed], 0.38, color=colour,
            yerr=[scale * np.nan_to_num(number.half_width) for number in deployed],
            label=f"{label}, deployed", error_kw={"linewidth": 1.0},
        )  # fmt: skip
        axis.vlines(
            places + shift, [scale * number.mean for number in deployed],
            [scale * number.mean for number in promised], color=PROMISED, linewidth=1.0, alpha=0.7,
        )  # fmt: skip
        axis.errorbar(
            places + shift, [scale * number.mean for number in promised], fmt="v",
            yerr=[scale * np.nan_to_num(number.half_width) for number in promised],
            color=PROMISED, markersize=6, linewidth=1.0,
            label="promised" if shift > 0 else None,
        )  # fmt: skip
    styles = {"best": (BEST, ":"), "logging": (LOGGING, "--"), "random": (RANDOM, "-.")}
    for name, key in _lines(rows).items():
        colour, style = styles[name.split()[0]]
        value = scale * _mean(rows, key).mean
        axis.axhline(value, color=colour, linestyle=style, linewidth=1.2, label=name)
    axis.set_xticks(places, models, fontsize=8)
    axis.grid(axis="y", alpha=0.25)
    axis.set_axisbelow(True)


def _lines(rows: Sequence[Row]) -> dict[str, str]:
    """Return the values drawn as lines, and the columns that they are in."""
    bound = "" if rows and all(row["best_is"] == "exact" for row in rows) else " (found)"
    return {
        f"best{bound}": "max_reward_best",
        "logging policy": "max_reward_logging_value",
        "random": "random",
    }


def _chosen(rows: Sequence[Row], user: str, logging: str) -> list[Row]:
    return [row for row in rows if (row["user"], row["logging"]) == (user, logging)]


def _of(rows: Sequence[Row], model: str) -> list[Row]:
    return [row for row in rows if row["model"] == model]


def _mean(rows: Sequence[Row], key: str) -> Interval:
    """Return the mean over seeds; NaN where every cell failed."""
    if not rows:
        return Interval(np.nan, np.nan, np.nan, np.nan, 0)
    return interval([row[key] for row in rows])
