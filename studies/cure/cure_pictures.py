"""Pictures of cures: promised and deployed values, and what growing pessimism costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation.reporting.figures import (
    BEST,
    LOGGING,
    MAX_REWARD,
    PROMISED,
    RANDOM,
    new_figure,
)
from ..engine.rows import Row, describe_seeds, distinct, mean_of, where
from .cures import PLAIN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SICK = "#9db8d6"
_LINES = {"best": (BEST, ":"), "logging_value": (LOGGING, "--"), "random": (RANDOM, "-.")}
_NAMES = {"best": "best (found)", "logging_value": "logging policy", "random": "random"}


def cured_picture(rows: Sequence[Row], cures: Sequence[str] = ()) -> Figure:
    """Draw deployed values as bars and promises as marks, a panel per user and log.

    Parameters
    ----------
    cures : which to draw; by default no cure and the last one.
    """
    every = distinct(rows, "cure")
    chosen = [cure for cure in (cures or (PLAIN, every[-1])) if cure in every]
    users, loggings, models = (distinct(rows, key) for key in ("user", "logging", "model"))
    panel = max(0.3 * len(chosen) * len(models) + 0.5, 3.7)
    width = max(0.6 + panel * len(loggings), 7.0)
    figure = new_figure(width, 1.2 + 3.2 * len(users))
    panels = figure.subplots(len(users), len(loggings), squeeze=False, sharey="row")
    legend: dict[str, Any] = {}
    for user, axes in zip(users, panels, strict=True):
        for logging, axis in zip(loggings, axes, strict=True):
            part = where(rows, user=user, logging=logging)
            _draw_panel(axis, part, models, chosen)
            axis.set_title(f"{user} user, log by {logging}", fontsize=10)
            legend |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
        axes[0].set_ylim(0.0, 1.05 * max(axis.dataLim.ymax for axis in axes))  # shared by the row
        axes[0].set_ylabel("clicks per page")
    figure.legend(
        legend.values(), legend.keys(), loc="outside upper center", frameon=False, fontsize=9,
        ncols=min(len(legend), 3 if width < 10 else 6),
    )  # fmt: skip
    seeds = distinct(rows, "seed")
    if len(seeds) > 1:
        figure.supxlabel(f"Whiskers: 95% intervals over {describe_seeds([seeds])}", fontsize=9)
    return figure


def _draw_panel(
    axis: Any, rows: Sequence[Row], models: Sequence[str], cures: Sequence[str]
) -> None:
    places, step = np.arange(len(models), dtype=float), 0.8 / len(cures)
    colours = (_SICK, MAX_REWARD) if len(cures) == 2 else [None] * len(cures)
    for number, (cure, colour) in enumerate(zip(cures, colours, strict=True)):
        at = places + step * (number - 0.5 * (len(cures) - 1))
        parts = [where(rows, model=model, cure=cure) for model in models]
        deployed, promised = (
            [mean_of(part, key) for part in parts] for key in ("deployed", "promised")
        )
        label = "no cure" if cure == PLAIN else cure
        axis.bar(
            at, [one.mean for one in deployed], 0.94 * step, color=colour,
            yerr=[np.nan_to_num(one.half_width) for one in deployed],
            label=f"{label}: deployed", error_kw={"linewidth": 1.0},
        )  # fmt: skip
        axis.vlines(
            at, [one.mean for one in deployed], [one.mean for one in promised],
            color=PROMISED, linewidth=1.0, alpha=0.7,
        )  # fmt: skip
        axis.plot(
            at, [one.mean for one in promised], "v", color=PROMISED, markersize=5,
            label="promised" if number == 0 else None,
        )  # fmt: skip
    for key, (colour, style) in _LINES.items():
        value = mean_of(rows, key).mean
        axis.axhline(value, color=colour, linestyle=style, linewidth=1.2, label=_NAMES[key])
    axis.set_xticks(places, models, fontsize=8)
    axis.grid(axis="y", alpha=0.25)
    axis.set_axisbelow(True)


def frontier_picture(rows: Sequence[Row]) -> Figure:
    """Draw the mean lift against the mean gap as pessimism grows, a line per model and prior."""
    users = distinct(rows, "user")
    figure = new_figure(1.0 + 3.6 * len(users), 3.8)
    panels = figure.subplots(1, len(users), squeeze=False, sharey=True)[0]
    for user, axis in zip(users, panels, strict=True):
        for model in distinct(rows, "model"):
            for prior in distinct(rows, "prior"):
                part = where(rows, user=user, model=model, prior=prior)
                steps = sorted(distinct(part, "pessimism"))
                points = [where(part, pessimism=step) for step in steps]
                gaps = [mean_of(point, "gap").mean for point in points]
                lifts = [mean_of(point, "lift").mean for point in points]
                axis.plot(gaps, lifts, marker="o", markersize=4, label=f"{model}, {prior} prior")
                for step, gap, lift in zip(steps, gaps, lifts, strict=True):
                    axis.annotate(
                        f"{step:g}", (gap, lift), fontsize=7, xytext=(3, 3),
                        textcoords="offset points",
                    )  # fmt: skip
        axis.axhline(0.0, color=LOGGING, linestyle="--", linewidth=1.0)
        axis.axvline(0.0, color=BEST, linestyle=":", linewidth=1.0)
        axis.set_title(f"{user} user", fontsize=10)
        axis.set_xlabel("gap: promised - deployed")
        axis.grid(alpha=0.25)
    panels[0].set_ylabel("lift: deployed - log")
    panels[0].legend(fontsize=8, frameon=False)
    figure.suptitle("Growing pessimism λ (numbers at the points), clicks per page", fontsize=10)
    return figure
