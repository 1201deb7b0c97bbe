"""Pictures of a report on one's own log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation.reporting.figures import (
    BEST,
    LOGGING,
    MAX_REWARD,
    PROMISED,
    TOP_DOWN,
    new_figure,
)
from ..engine.rows import where
from .findings import Findings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = "osD^vP*Xhp<>"
_MOST_NUMBERS = 12  # ranks; a matrix of more has no numbers in its cells


def draw_policies(found: Findings) -> Figure:
    """Draw what every model says of every ranking, and what its own model promises."""
    cross = found.cross
    assert cross is not None
    height = 1.6 + 0.36 * len(cross.policies)
    figure = new_figure(9.5, height)
    axis = figure.subplots()
    names = list(cross.policies)
    lines = np.arange(len(names))[::-1]
    if found.only_own_judge and found.suspect is not None:
        line = lines[found.suspect]
        axis.axhspan(line - 0.5, line + 0.5, color=PROMISED, alpha=0.10, zorder=0)
        axis.annotate(
            "only its own model\nbelieves this", (cross.promised[found.suspect], line),
            xytext=(-12, 0), textcoords="offset points", fontsize=8, color=PROMISED, ha="right",
            va="center",
        )  # fmt: skip
    others = [
        [judge for judge in range(len(cross.judges)) if judge != own] for own in cross.own
    ]
    for judge, name in enumerate(cross.judges):
        chosen = [place for place in range(len(names)) if judge in others[place]]
        axis.plot(
            cross.values[chosen, judge], lines[chosen], _MARKS[judge % len(_MARKS)],
            color=MAX_REWARD, alpha=0.75, markersize=6, markerfacecolor="white", linestyle="",
            label=f"says {name}",
        )  # fmt: skip
    if found.suspect is not None:
        axis.plot(
            cross.others, lines, "|", color=MAX_REWARD, markersize=17, markeredgewidth=3,
            label="others' median",
        )
    axis.plot(cross.promised, lines, "o", color=PROMISED, markersize=9, label="its own model")
    kept = [np.nan if (value := found.promise(name)) is None else value for name in names]
    if not np.isnan(kept).all():
        axis.plot(
            kept, lines, "o", color=PROMISED, markersize=9, markerfacecolor="none",
            label="can be promised",
        )
    clicks = found.of_log("held_out_clicks")
    if clicks is not None:
        axis.axvline(clicks, color=LOGGING, linestyle="--", label="clicks as logged")
    axis.set_yticks(lines, names)
    axis.set_ylim(-0.6, len(names) - 0.4)
    axis.set_xlabel("clicks per page")
    axis.grid(axis="x", alpha=0.25)
    axis.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def draw_models(found: Findings) -> Figure:
    """Draw perplexity with its intervals, by rank, and how stable the models' rankings are."""
    figure = new_figure(13.5, 3.4)
    whole, ranks, above, halves = figure.subplots(1, 4, width_ratios=(1.0, 1.0, 1.0, 0.8))
    colours = _colours(len(found.models))
    lines = np.arange(len(found.models))[::-1]
    for line, colour, row in zip(lines, colours, found.perplexities.values(), strict=True):
        if np.isfinite(row["value"]):
            end = [[row["value"] - row["low"]], [max(min(row["high"], 1e9) - row["value"], 0.0)]]
            whole.errorbar(row["value"], line, xerr=end, fmt="o", color=colour, capsize=4)
    whole.set_yticks(lines, found.models)
    whole.set_ylim(-0.5, len(lines) - 0.5)
    whole.set_xlabel("perplexity on held-out pages\n(lower is better)")
    by_rank = np.array([_perplexity_by_rank(found, name) for name in found.models])
    lowest = np.where(np.isnan(by_rank), np.inf, by_rank).min(axis=0)
    places = np.arange(1, by_rank.shape[1] + 1)
    for colour, name, values in zip(colours, found.models, by_rank, strict=True):
        ranks.plot(places, values, "o-", color=colour, markersize=3.5, label=name)
        above.plot(places, values - lowest, "o-", color=colour, markersize=3.5)
    ranks.set_ylabel("perplexity")
    above.set_ylabel("above the best model of the rank")
    for axis in (ranks, above):
        axis.set_xlabel("rank")
        axis.locator_params(axis="x", integer=True)
    ranks.legend(fontsize=8, frameon=False)
    _draw_stability(halves, found)
    for axis in (whole, ranks, above, halves):
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def _perplexity_by_rank(found: Findings, model: str) -> list[float]:
    rows = where(found.rows, part="model by rank", model=model)
    return [np.nan if row["value"] is None else row["value"] for row in rows]


def _draw_stability(axis: Any, found: Findings) -> None:
    rows = where(found.rows, part="stability", quantity="correlation")
    values = [row["value"] or 0.0 for row in rows]
    names = [row["model"] for row in rows]
    axis.barh(range(len(rows))[::-1], values, color=TOP_DOWN, height=0.6)
    for place, row in zip(range(len(rows))[::-1], rows, strict=True):
        text = "-" if row["value"] is None else f"{row['value']:.2f}"
        axis.text(max(row["value"] or 0.0, 0.0) + 0.02, place, text, va="center", fontsize=8)
    axis.set_yticks(range(len(rows))[::-1], names)
    axis.set_xlim(min([*values, 0.0]), 1.12)
    axis.set_xlabel("same order in both halves\nof the log")


def draw_log(found: Findings) -> Figure:
    """Draw clicks by rank, how random the pages were, the long tail, and which ranks are tied."""
    figure = new_figure(13.5, 3.4)
    clicks, random, tail, ties = figure.subplots(1, 4, width_ratios=(1.0, 1.0, 1.0, 1.1))
    rate, same = (_by_rank(found, name) for name in ("click_rate", "same_document"))
    places = np.arange(1, len(rate) + 1)
    clicks.bar(places, 100 * rate, color=MAX_REWARD)
    clicks.set_xlabel("rank")
    clicks.set_ylabel("clicked, % of documents shown")
    random.bar(places, 100 * same, color=TOP_DOWN)
    random.set_ylim(0, 100)
    random.set_xlabel("rank")
    random.set_ylabel("same document twice, %\n(100: no randomness)")
    rows = where(found.rows, part="tail")
    tail.plot(
        [0.0, *(100 * float(row["quantity"]) for row in rows)],
        [0.0, *(100 * row["value"] for row in rows)], color=MAX_REWARD,
    )  # fmt: skip
    tail.plot([0, 100], [0, 100], ":", color=BEST, linewidth=1)
    tail.set_xlabel("most frequent queries, %")
    tail.set_ylabel("their share of pages, %")
    tail.grid(alpha=0.25)
    _draw_ties(figure, ties, found)
    for axis in (clicks, random):
        axis.locator_params(axis="x", integer=True)
    for axis in (clicks, random, tail):
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_ties(figure: Figure, axis: Any, found: Findings) -> None:
    """Draw how many documents were shown at both of two ranks."""
    rows = where(found.rows, part="tie")
    size = max(row["rank"] for row in rows)
    counts = np.zeros((size, size))
    for row in rows:
        counts[row["rank"] - 1, int(row["quantity"]) - 1] = row["value"]
    shown = np.where(np.eye(size, dtype=bool), np.nan, counts)
    picture = axis.imshow(
        np.where(shown > 0, shown, np.nan), cmap="Blues", vmin=0, extent=(0.5, size + 0.5) * 2,
        origin="lower", aspect="equal",
    )  # fmt: skip
    axis.set_facecolor("#f3c9ce")  # shows where two ranks share nothing
    for place in range(1, size + 1):
        axis.fill_between([place - 0.5, place + 0.5], place - 0.5, place + 0.5, color="#dddddd")
    axis.set_xlabel("rank")
    axis.set_ylabel("rank")
    if size <= _MOST_NUMBERS:
        axis.set_xticks(range(1, size + 1))
        axis.set_yticks(range(1, size + 1))
        axis.tick_params(labelsize=8)
    figure.colorbar(picture, ax=axis, shrink=0.85, label="documents shown at both")
    tied = "all ranks are tied" if len(found.groups) == 1 else f"{len(found.groups)} untied groups"
    axis.set_title(tied, fontsize=9)


def _by_rank(found: Findings, quantity: str) -> np.ndarray[Any, Any]:
    rows = where(found.rows, part="rank", quantity=quantity)
    return np.array([np.nan if row["value"] is None else row["value"] for row in rows])


def _colours(number: int) -> list[str]:
    every = ("#0c4c8a", "#d17a22", "#3f7d20", "#d1495b", "#6b4c9a", "#1f9e9e", "#8c564b", "#777777")
    return [every[place % len(every)] for place in range(number)]
