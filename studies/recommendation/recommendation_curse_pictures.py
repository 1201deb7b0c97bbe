"""Tables and pictures of the curse in recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation import Metric, ResultTable
from ...evaluation.reporting.figures import (
    BEST,
    LOGGING,
    MAX_REWARD,
    PROMISED,
    TOP_DOWN,
    new_figure,
)
from ..constants import ORACLE
from ..engine.rows import Row, distinct, mean_of, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUTH = "true user"
_DEPLOYED = {  # what is compared: True where lower is better, None where neither is
    "max_reward_promised": ("Max-Reward promised", None),
    "max_reward_deployed": ("deployed", False),
    "max_reward_model_error_on_logging": ("gap on logging", None),
    "max_reward_added_by_optimising": ("gap by optimising", None),
    "agent_promised": ("agent promised", None),
    "agent_deployed": ("agent deployed", False),
}
_COLOURS = ("#8c8c8c", "#0c4c8a", "#d1495b", "#e69f00", "#1b7837", "#7b3294", "#56b4e9")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def asked_tables(rows: Sequence[Row], user: str, systems: Sequence[str]) -> list[ResultTable]:
    """Return what models promise for each recommender beside the truth, as percent of slots."""
    own = where(rows, user=user)
    labels = [label for label in distinct(own, "label") if label != ORACLE]
    everyone = (TRUTH, *labels)
    metrics = [Metric(name, False, digits=2, exclude=everyone, arrow=False) for name in systems]
    metrics.append(Metric("mean |error|", True, digits=2, exclude=(TRUTH,)))
    metrics.append(Metric("tau", False, digits=2, exclude=(TRUTH,)))
    metrics.append(Metric("perplexity", True, digits=4, exclude=(TRUTH,)))
    table = ResultTable(
        metrics, f"{user} user: click-through rates in percent that models promise for "
        "recommenders; tau: Kendall's, of the order of recommenders",
    )  # fmt: skip
    for label in (ORACLE, *labels):
        part = where(own, label=label)
        if not part:
            continue
        values: dict[str, list[float]] = {
            name: [100.0 * row[f"{name}_promised"] / row["slots"] for row in part]
            for name in systems
        }
        values["perplexity"] = [row["perplexity"] for row in part]
        if label != ORACLE:
            values["mean |error|"] = [100.0 * _error(row, systems) for row in part]
            if len(systems) > 1:
                values["tau"] = [_agreement(row, systems) for row in part]
        table.add(TRUTH if label == ORACLE else label, values, [row["seed"] for row in part])
    return [table]


def _error(row: Row, systems: Sequence[str]) -> float:
    off = [row[f"{name}_promised"] - row[f"{name}_deployed"] for name in systems]
    return float(np.mean(np.abs(off)) / row["slots"])


def _agreement(row: Row, systems: Sequence[str]) -> float:
    from scipy.stats import kendalltau

    promised, true = (
        [row[f"{name}_{side}"] for name in systems] for side in ("promised", "deployed")
    )
    found = float(kendalltau(promised, true).statistic)
    return 0.0 if np.isnan(found) else found  # a model that finds all alike orders nothing


def deployed_table(rows: Sequence[Row], user: str) -> ResultTable:
    """Return what lists chosen inside each model promise and earn, as percent of slots.

    "gap on logging" and "gap by optimising" add up to promised minus deployed.
    """
    own = where(rows, user=user)
    labels = distinct(own, "label")
    columns = {key: value for key, value in _DEPLOYED.items() if key in own[0]}
    metrics = [
        Metric(
            name, bool(lower), digits=2, exclude=tuple(labels) if lower is None else (ORACLE,),
            arrow=lower is not None,
        )
        for name, lower in columns.values()
    ]
    lines = {
        "best": "max_reward_best", "logging policy": "max_reward_logging_value",
        "popularity": "popularity_deployed",
    }  # fmt: skip
    text = ", ".join(
        f"{name} {100 * mean_of(own, key).mean / own[0]['slots']:.2f}"
        for name, key in lines.items()
        if own[0].get(key) is not None
    )
    table = ResultTable(metrics, f"{user} user: click-through rates in percent; {text}")
    for label in labels:
        part = where(own, label=label)
        values = {
            name: [100.0 * row[key] / row["slots"] for row in part]
            for key, (name, _) in columns.items()
        }
        table.add(label, values, [row["seed"] for row in part])
    return table


def asked_picture(rows: Sequence[Row], systems: Sequence[str]) -> Figure:
    """Draw promised against true rates of recommenders, a panel per user and model."""
    users = distinct(rows, "user")
    labels = [label for label in distinct(rows, "label") if label != ORACLE]
    figure = new_figure(1.0 + 1.75 * max(len(labels), 3), 1.2 + 2.0 * len(users))
    panels = figure.subplots(len(users), len(labels), squeeze=False, sharex="row", sharey="row")
    for user, axes in zip(users, panels, strict=True):
        for label, axis in zip(labels, axes, strict=True):
            part = where(rows, user=user, label=label)
            for number, name in enumerate(systems):
                sides = [
                    [100.0 * row[f"{name}_{side}"] / row["slots"] for row in part]
                    for side in ("deployed", "promised")
                ]
                axis.plot(
                    *sides, _MARKERS[number % len(_MARKERS)], markersize=4.5, alpha=0.8,
                    color=_COLOURS[number % len(_COLOURS)], label=name,
                )  # fmt: skip
            axis.set_title(label, fontsize=9)
            axis.grid(alpha=0.25, linewidth=0.5)
        high = max(max(axis.dataLim.xmax, axis.dataLim.ymax) for axis in axes) * 1.08
        for axis in axes:
            axis.plot([0.0, high], [0.0, high], color="#8c8c8c", linewidth=0.8, zorder=0)
        axes[0].set(xlim=(0.0, high), ylim=(0.0, high))
        axes[0].set_ylabel(f"{user}\npromised, percent", fontsize=9)
    for axis in panels[-1]:
        axis.set_xlabel("true, percent", fontsize=9)
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(), loc="outside upper center", frameon=False,
        fontsize=9, ncols=len(systems),
    )  # fmt: skip
    return figure


def deployed_picture(rows: Sequence[Row]) -> Figure:
    """Draw what lists chosen inside models earn as bars, and what was promised as marks."""
    users, labels = distinct(rows, "user"), distinct(rows, "label")
    kinds = {"max_reward": ("Max-Reward", MAX_REWARD), "agent": ("agent", TOP_DOWN)}
    kinds = {key: value for key, value in kinds.items() if f"{key}_deployed" in rows[0]}
    figure = new_figure(max(1.4 + 1.1 * len(labels), 7.0), 1.0 + 2.9 * len(users))
    panels = figure.subplots(len(users), 1, squeeze=False, sharex=True)[:, 0]
    for user, axis in zip(users, panels, strict=True):
        own = where(rows, user=user)
        _bars(axis, own, labels, kinds)
        scale = 100.0 / own[0]["slots"]
        lines = {
            "best known": ("max_reward_best", BEST, ":"),
            "logging policy": ("max_reward_logging_value", LOGGING, "--"),
            "popularity": ("popularity_deployed", "#333333", "-."),
        }
        for name, (key, colour, style) in lines.items():
            if own[0].get(key) is not None:
                height = scale * mean_of(own, key).mean
                axis.axhline(height, color=colour, linestyle=style, linewidth=1.2, label=name)
        axis.set_title(f"{user} user", fontsize=10)
        axis.set_ylabel("click-through rate, percent", fontsize=9)
        axis.set_xticks(np.arange(len(labels)), [one.replace(" ", "\n") for one in labels])
    handles: dict[str, Any] = {}
    for axis in panels:
        handles |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", frameon=False, fontsize=9,
        ncols=3,
    )  # fmt: skip
    return figure


def _bars(
    axis: Any, rows: Sequence[Row], labels: Sequence[str], kinds: dict[str, tuple[str, str]]
) -> None:
    scale, width = 100.0 / rows[0]["slots"], 0.8 / len(kinds)
    for number, (key, (name, colour)) in enumerate(kinds.items()):
        places = np.arange(len(labels)) + (number - (len(kinds) - 1) / 2) * width
        deployed, promised = (
            [mean_of(where(rows, label=label), f"{key}_{side}") for label in labels]
            for side in ("deployed", "promised")
        )
        for found, draw in ((deployed, "bar"), (promised, "mark")):
            heights = [scale * one.mean for one in found]
            errors = [scale * float(np.nan_to_num(one.half_width)) for one in found]
            if draw == "bar":
                axis.bar(
                    places, heights, 0.95 * width, color=colour, yerr=errors,
                    label=f"{name}, deployed", error_kw={"linewidth": 1.0},
                )  # fmt: skip
            else:
                axis.errorbar(
                    places, heights, yerr=errors, fmt="v", color=PROMISED, markersize=5,
                    linewidth=1.0, label="promised",
                )  # fmt: skip
