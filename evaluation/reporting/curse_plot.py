"""The picture of one curse report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .figures import BEST, LOGGING, MAX_REWARD, PROMISED, TOP_DOWN, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..curse import CurseReport


def plot_report(report: CurseReport, path: str | None) -> Figure:
    """Draw promise and delivery, where the gap comes from, and the gap of every query."""
    figure = new_figure(11.0, 3.8)
    value, split, queries = figure.subplots(1, 3)
    _values(value, report)
    _split(split, report)
    _queries(queries, report)
    figure.suptitle(f"{report.model or 'model'} promised, {report.user or 'user'} delivered")
    if path is not None:
        save_figure(figure, path)
    return figure


def _values(axis: Any, report: CurseReport) -> None:
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
    axis.set_ylabel("clicks a page")
    axis.legend(fontsize=8, frameon=False, loc="upper right")


def _split(axis: Any, report: CurseReport) -> None:
    names = ("error on\nlogging policy", "added by\noptimising", "gap")
    numbers = (report.model_error_on_logging, report.added_by_optimising, report.gap)
    axis.bar(names, [number.value for number in numbers], color=(LOGGING, PROMISED, BEST))
    axis.axhline(0.0, color="black", linewidth=0.8)
    axis.set_title("where the gap comes from", fontsize=10)
    axis.set_ylabel("clicks a page")


def _queries(axis: Any, report: CurseReport) -> None:
    asked = np.isfinite(report.per_query)
    axis.hist(
        report.per_query[asked], bins=40, weights=report.query_probs[asked], color=MAX_REWARD
    )
    axis.axvline(0.0, color="black", linewidth=0.8)
    axis.axvline(report.gap, color=PROMISED, label=f"mean {report.gap:.3f}")
    axis.set_title("gap by query", fontsize=10)
    axis.set_xlabel("promised - deployed, clicks a page")
    axis.set_ylabel("share of pages")
    axis.legend(fontsize=8, frameon=False)
