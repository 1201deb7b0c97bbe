"""Pictures: a quiet backend and colours that all share, and the picture of a curse report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...common.runtime import import_extra
from ...common.storage import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..curse import CurseReport

TOP_DOWN, MAX_REWARD = "#7fa8d1", "#0c4c8a"
PROMISED, LOGGING, BEST, RANDOM = "#d1495b", "#3f7d20", "#222222", "#8c8c8c"


def new_figure(width: float, height: float, **settings: Any) -> Figure:
    """Return an empty matplotlib figure that belongs to no window."""
    matplotlib = import_extra("matplotlib.figure", "plots", "pictures need")
    return matplotlib.Figure(figsize=(width, height), layout="constrained", **settings)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture, in the format that the name ends with, atomically."""
    kind = Path(path).suffix.lstrip(".") or "png"
    with write_whole(path) as temporary:
        figure.savefig(temporary, dpi=130, format=kind)


def plot_curse(report: CurseReport, path: str | None) -> Figure:
    """Draw promise and delivery, where the gap comes from, and the gap of every query."""
    figure = new_figure(11.0, 3.8)
    value, split, queries = figure.subplots(1, 3)
    _plot_values(value, report)
    _plot_split(split, report)
    _plot_queries(queries, report)
    figure.suptitle(f"{report.model or 'model'} promised, {report.user or 'user'} delivered")
    if path is not None:
        save_figure(figure, path)
    return figure


def _plot_values(axis: Any, report: CurseReport) -> None:
    numbers = (report.promised, report.deployed)
    axis.bar(
        ("promised", "deployed"), [number.value for number in numbers],
        yerr=[[number.value - number.low for number in numbers],
              [number.high - number.value for number in numbers]],
        color=(PROMISED, MAX_REWARD), width=0.6,
    )  # fmt: skip
    top = max(report.promised.high, report.deployed.high)
    if report.best is not None:
        top = max(top, report.best)
        bound = "" if report.best.method == "exact" else " (lower bound)"
        axis.axhline(report.best, color=BEST, linestyle=":", label=f"best{bound}")
    axis.axhline(report.logging_value, color=LOGGING, linestyle="--", label="logging policy")
    if report.top_down is not None:
        axis.axhline(report.top_down, color=TOP_DOWN, label="Top-Down")
    axis.set_ylim(0.0, 1.45 * top)
    axis.set_ylabel("clicks per page")
    axis.legend(fontsize=8, frameon=False, loc="upper right")


def _plot_split(axis: Any, report: CurseReport) -> None:
    names = ("error on\nlogging policy", "added by\noptimising", "gap")
    numbers = (report.model_error_on_logging, report.added_by_optimising, report.gap)
    axis.bar(names, [number.value for number in numbers], color=(LOGGING, PROMISED, BEST))
    axis.axhline(0.0, color="black", linewidth=0.8)
    axis.set_title("where the gap comes from", fontsize=10)
    axis.set_ylabel("clicks per page")


def _plot_queries(axis: Any, report: CurseReport) -> None:
    asked = np.isfinite(report.per_query)
    axis.hist(report.per_query[asked], bins=40, weights=report.query_probs[asked], color=MAX_REWARD)
    axis.axvline(0.0, color="black", linewidth=0.8)
    axis.axvline(report.gap, color=PROMISED, label=f"mean {report.gap:.3f}")
    axis.set_title("gap by query", fontsize=10)
    axis.set_xlabel("promised - deployed, clicks per page")
    axis.set_ylabel("share of pages")
    axis.legend(fontsize=8, frameon=False)
