"""Pictures of the study: correlations, leads over uUBM, attention, and the A/B experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation.reporting.figures import new_figure
from .abandonment_cells import BAD, GOOD, SHOWN, SUPPRESSED
from .correlation_cells import CLICKED, EVERY, PAPER, UCTR, UFCM, UTILITY, UUBM, UVCM
from .drawn_pages import INTENTS
from .federated_rows import ABANDONMENT, ATTENTION, CORRELATION, Pooled, PooledRows
from .federated_setting import ALL
from .federated_tables import kinds_of, name_intent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {
    "DCG": "#8c8c8c", "ERR": "#5a5a5a", "EBU": "#b08968", "uDCM": "#e08e0b", "uDBN": "#c9b037",
    UUBM: "#3f7d20", UFCM: "#d1495b", UVCM: "#0c4c8a", UTILITY: "#222222", CLICKED: "#222222",
}  # fmt: skip
_TYPE_COLOURS = {"news": "#8c8c8c", "images": "#d1495b", "video": "#e08e0b", "location": "#0c4c8a"}


def correlation_picture(found: PooledRows, column: str) -> Figure:
    """Draw the correlations of all metrics with one online metric, with their intervals."""
    users, types = kinds_of(found)
    lines = [(user, intent) for user in users for intent in INTENTS]
    figure = new_figure(1.6 + 2.9 * len(types), 0.8 + 2.3 * len(lines))
    axes = figure.subplots(len(lines), len(types), squeeze=False, sharey=True, sharex=True)
    names = [*PAPER, UTILITY, CLICKED] if column == UCTR else [*PAPER, UTILITY]
    for row, (user, intent) in zip(axes, lines, strict=True):
        for axis, vertical in zip(row, types, strict=True):
            for place, name in enumerate(names):
                one = found.pool(CORRELATION, user, vertical, intent, EVERY, name, "", column)
                low, high = one.bounds()
                mark = "o" if name in PAPER else "D" if name == UTILITY else "|"
                axis.hlines(place, low, high, color=COLOURS[name], linewidth=1.6)
                axis.plot([one.value], [place], mark, color=COLOURS[name], markersize=5)
            axis.axhline(len(PAPER) - 0.5, color="#cccccc", linewidth=0.7)
            axis.grid(axis="x", alpha=0.25, linewidth=0.5)
        row[0].set_ylabel(f"{user} user\n{intent}", fontsize=9)
    for axis, vertical in zip(axes[0], types, strict=True):
        axis.set_title(vertical, fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel(f"correlation with {column}", fontsize=9)
    for row in axes:
        row[0].set_yticks(range(len(names)), names, fontsize=8)
    axes[0, 0].invert_yaxis()
    return figure


def lead_picture(found: PooledRows) -> Figure:
    """Draw how far vertical-aware metrics are above uUBM in UCTR, type by type."""
    users, types = kinds_of(found)
    names = (UFCM, UVCM, UTILITY)
    figure = new_figure(1.5 + 4.2 * len(users), 1.2 + 1.3 * len(types))
    axes = figure.subplots(1, len(users), squeeze=False, sharey=True, sharex=True)[0]
    labels = [f"{vertical}\n{intent}" for vertical in types for intent in INTENTS]
    for axis, user in zip(axes, users, strict=True):
        for shift, name in zip((-0.22, 0.0, 0.22), names, strict=True):
            found_here = [
                found.difference(name, UUBM, user, vertical, intent, EVERY, UCTR)
                for vertical in types
                for intent in INTENTS
            ]
            _draw_intervals(axis, found_here, shift, COLOURS[name], name)
        axis.axvspan(-0.02, 0.02, color="#f0f0f0", zorder=0, label="within .02")
        axis.axvline(0.0, color="#222222", linewidth=0.8)
        axis.set_title(f"{user} user", fontsize=10)
        axis.set_xlabel("correlation with UCTR, minus uUBM's", fontsize=9)
        axis.grid(axis="x", alpha=0.25, linewidth=0.5)
    axes[0].set_yticks(range(len(labels)), labels, fontsize=8)
    axes[0].invert_yaxis()
    handles, texts = axes[0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside upper center", ncols=4, fontsize=9, frameon=False)
    return figure


def _draw_intervals(axis: Any, every: list[Pooled], shift: float, colour: str, label: str) -> None:
    bounds = np.array([one.bounds() for one in every])
    places = np.arange(len(every)) + shift
    axis.hlines(places, bounds[:, 0], bounds[:, 1], color=colour, linewidth=1.6)
    axis.plot([one.value for one in every], places, "o", color=colour, markersize=4, label=label)


def attention_picture(found: PooledRows) -> Figure:
    """Draw attention by position: the true user's, and what fits find."""
    users, types = kinds_of(found)
    figure = new_figure(1.2 + 2.9 * len(types), 1.0 + 2.4 * len(users))
    axes = figure.subplots(len(users), len(types), squeeze=False, sharex=True, sharey=True)
    positions = sorted({int(row["column"]) for row in found.rows if row["part"] == ATTENTION})
    styles = {"true user": ("#222222", "-", ""), "FCM": (COLOURS[UFCM], "--", "o"),
              "VCM": (COLOURS[UVCM], "--", "s")}  # fmt: skip
    for row, user in zip(axes, users, strict=True):
        for axis, vertical in zip(row, types, strict=True):
            for name, (colour, line, mark) in styles.items():
                values = [
                    found.pool(ATTENTION, user, vertical, metric=name, column=str(one)).value
                    for one in positions
                ]
                label = name if name == "true user" else f"{name}, fitted"
                axis.plot(positions, values, line, marker=mark, color=colour, markersize=4,
                          linewidth=1.4, label=label)  # fmt: skip
            axis.set_ylim(-0.03, 1.03)
            axis.grid(alpha=0.25, linewidth=0.5)
        row[0].set_ylabel(f"{user} user\nattention", fontsize=9)
    for axis, vertical in zip(axes[0], types, strict=True):
        axis.set_title(vertical, fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("web results above the block", fontsize=9)
    handles, texts = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside upper center", ncols=3, fontsize=9, frameon=False)
    return figure


def abandonment_picture(found: PooledRows) -> Figure:
    """Draw abandonment of both arms as bars, good above bad."""
    users, _ = kinds_of(found)
    figure = new_figure(1.5 + 3.6 * len(users), 3.6)
    axes = figure.subplots(1, len(users), squeeze=False, sharey=True)[0]
    every = (*INTENTS, ALL)
    for axis, user in zip(axes, users, strict=True):
        for shift, arm in ((-0.2, SHOWN), (0.2, SUPPRESSED)):
            bad, good = (
                [found.pool(ABANDONMENT, user, "location", intent, metric=arm, column=kind)
                 for intent in every]
                for kind in (BAD, GOOD)
            )  # fmt: skip
            places = np.arange(len(every)) + shift
            dark = arm == SHOWN
            heights = np.array([one.value for one in bad])
            axis.bar(
                places, heights, 0.36, color="#d1495b" if dark else "#e8a0a8",
                label=f"bad, {arm}", yerr=[1.96 * one.stderr for one in bad], capsize=2,
            )  # fmt: skip
            if dark:
                axis.bar(
                    places, [one.value for one in good], 0.36, heights, color="#3f7d20",
                    label=f"good, {arm}",
                )  # fmt: skip
        axis.set_xticks(range(len(every)), [name_intent(one) for one in every], fontsize=8)
        axis.set_title(f"{user} user", fontsize=10)
        axis.set_ylim(0.0, 1.0)
        axis.grid(axis="y", alpha=0.25, linewidth=0.5)
    axes[0].set_ylabel("share of sessions without a click")
    handles, texts = axes[0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside upper center", ncols=3, fontsize=9, frameon=False)
    return figure
