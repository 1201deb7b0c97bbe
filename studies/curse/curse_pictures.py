"""Tables and pictures of the curse study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation import Metric, ResultTable
from ...evaluation.reporting.figures import (
    BEST,
    LOGGING,
    MAX_REWARD,
    PROMISED,
    RANDOM,
    TOP_DOWN,
    new_figure,
)
from ..engine.rows import Row, describe_seeds, distinct, mean_of, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POLICIES = {"top_down": ("Top-Down", TOP_DOWN), "max_reward": ("Max-Reward", MAX_REWARD)}
# The values drawn as lines, and the fields of a row that have them.
CURSE_LINES = {
    "best": "max_reward_best", "logging policy": "max_reward_logging_value", "random": "random",
}  # fmt: skip
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
    """Return the table of one user and logging policy, a row per policy, in clicks per page.

    "on logging" and "by optimising" add up to the gap.
    """
    chosen = where(rows, user=user, logging=logging)
    parts = {
        f"{model} {label}": (key, where(chosen, model=model))
        for model in distinct(chosen, "model")
        for key, (label, _) in POLICIES.items()
    }
    metrics = [
        Metric(
            name, bool(lower), digits=3, exclude=tuple(parts) if lower is None else (),
            arrow=lower is not None,
        )
        for name, lower in _COLUMNS.values()
    ]
    text = describe_lines(chosen, CURSE_LINES)
    table = ResultTable(metrics, f"{user} user, log by {logging}, clicks per page; {text}")
    for name, (policy, part) in parts.items():
        values = {
            column: [row[f"{policy}_{key}"] for row in part]
            for key, (column, _) in _COLUMNS.items()
        }
        table.add(name, values, [row["seed"] for row in part])
    return table


def curse_picture(
    rows: Sequence[Row], rate: bool = False, lines: Mapping[str, str] = CURSE_LINES
) -> Figure:
    """Draw deployed values as bars and promised values as marks above them.

    A row of panels per user, a column per logging policy; ``rate`` divides by the slots, which
    gives click-through rates. Whiskers are 95% intervals over seeds. Models without a policy are
    left out.

    Parameters
    ----------
    lines : dict of str
        The fields of a row that have the "best", "logging policy" and "random" values.
    """
    rows = [row for row in rows if row["max_reward_deployed"] is not None]
    users, loggings, models = (distinct(rows, key) for key in ("user", "logging", "model"))
    width = max(1.6 + (0.62 * len(models) + 0.5) * len(loggings), 7.0)
    figure = new_figure(width, 1.2 + 3.6 * max(len(users), 1))
    if not rows:
        figure.text(0.5, 0.5, "no model here has a policy to deploy", ha="center")
        return figure
    panels = figure.subplots(len(users), len(loggings), squeeze=False, sharey="row")
    legend: dict[str, Any] = {}
    for user, axes in zip(users, panels, strict=True):
        for logging, axis in zip(loggings, axes, strict=True):
            chosen = where(rows, user=user, logging=logging)
            if chosen:  # every cell of a panel may have failed
                _panel(axis, chosen, models, rate, lines)
            axis.set_title(f"{user} user, log by {logging}", fontsize=10)
            legend |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
        axes[0].set_ylim(0.0, 1.04 * max(axis.dataLim.ymax for axis in axes))  # shared by the row
        axes[0].set_ylabel("click-through rate" if rate else "clicks per page")
    figure.legend(
        legend.values(), legend.keys(), loc="outside upper center", frameon=False, fontsize=9,
        ncols=3 if width < 10 else 6,
    )  # fmt: skip
    seeds = describe_seeds(
        distinct(where(rows, user=user, logging=logging, model=model), "seed")
        for user in users
        for logging in loggings
        for model in models
    )
    if len(distinct(rows, "seed")) > 1:
        figure.supxlabel(f"Whiskers: 95% intervals over seeds; {seeds}", fontsize=9)
    return figure


def _panel(
    axis: Any, rows: Sequence[Row], models: Sequence[str], rate: bool, lines: Mapping[str, str]
) -> None:
    scale = 1.0 / rows[0]["slots"] if rate else 1.0
    places = np.arange(len(models), dtype=float)
    for shift, (key, (label, colour)) in zip((-0.2, 0.2), POLICIES.items(), strict=True):
        deployed = [mean_of(where(rows, model=model), f"{key}_deployed") for model in models]
        promised = [mean_of(where(rows, model=model), f"{key}_promised") for model in models]
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
    for name, key in _name_lines(rows, lines).items():
        colour, style = styles[name.split()[0]]
        value = scale * mean_of(rows, key).mean
        axis.axhline(value, color=colour, linestyle=style, linewidth=1.2, label=name)
    axis.set_xticks(places, models, fontsize=8)
    if max(map(len, models)) > 10:
        axis.tick_params(axis="x", labelrotation=25)
        for label in axis.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    axis.grid(axis="y", alpha=0.25)
    axis.set_axisbelow(True)


def describe_lines(rows: Sequence[Row], lines: Mapping[str, str], scale: float = 1.0) -> str:
    """Tell the means of the values that pictures draw as lines, times ``scale``."""
    means = {name: mean_of(rows, key).mean for name, key in _name_lines(rows, lines).items()}
    return ", ".join(f"{name} {scale * value:.3f}" for name, value in means.items())


def _name_lines(rows: Sequence[Row], lines: Mapping[str, str]) -> dict[str, str]:
    """Return ``lines`` with a word on the best where it is what a search found."""
    bound = "" if rows and all(row["best_is"] == "exact" for row in rows) else " (found)"
    return {f"best{bound}" if name == "best" else name: key for name, key in lines.items()}
