"""Pictures of the study of ranking metrics: the paper's Figures 2 and 3, and what goes beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation import interval
from ...evaluation.reporting.figures import new_figure
from .measurements import (
    DEPLOYMENTS,
    ESTIMATE,
    FUNCTION,
    LABELS,
    METRIC,
    ORDERING,
    Measurements,
)
from .ranking_metric_tables import LEAST_SEEDS, ROUGH

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours, lines and marks of metrics and estimators.
STYLES = {
    "reference": ("#222222", ":", ""), "shuffled": ("#8c8c8c", "--", "s"),
    "pairwise": ("#d1495b", "-", "o"), "counterfactual": ("#0c4c8a", "-", "o"),
    "pages": ("#7fa8d1", "-", "^"), "page-ndcg": ("#7fa8d1", "--", "v"),
    "ips": ("#e8a0a8", "--", "s"), "wips": ("#b56576", "--", "D"), "pi": ("#e08e0b", "-", "^"),
    "wpi": ("#b8860b", "-", "v"), "dr-ips": ("#9bc184", "--", "P"), "dr-pi": ("#3f7d20", "-", "X"),
    "dm-pbm": ("#7b4fa3", "-", "*"), "dm-dctr": ("#c9a7e0", "--", "*"),
}  # fmt: skip
_PANELS = ("pairwise", "counterfactual", "shuffled")
_ROUGH_COLOURS = dict(zip(ROUGH, ("#7fa8d1", "#222222", "#d1495b", "#e08e0b"), strict=True))


def study_pictures(found: Measurements) -> dict[str, tuple[str, Figure]]:
    """Return all pictures, with captions, by the name of their file."""
    pictures = {
        "figure2.png": ("Figure 2: click-through rate by rank", figure_2(found)),
        "figure3.png": (
            f"Figure 3: each metric against pairwise disagreement on the long shuffled log, seed "
            f"{found.seeds[0]}; a point is a scoring function", figure_3(found),
        ),
        "accepted.png": (
            f"Accepted mass by query: what is accepted where production is sure, seed "
            f"{found.seeds[0]}; a point is a query", accepted_picture(found),
        ),
        "samples.png": (
            "Deployed value: rank correlation with it, by length of the log", samples_picture(found)
        ),
    }  # fmt: skip
    if any(name in found.names(METRIC) for name in ROUGH[1:]):
        pictures["offset.png"] = (
            f"Policy only roughly known: metrics with policies that are not quite production's, "
            f"seed {found.seeds[0]}", offset_picture(found),
        )  # fmt: skip
    if len(found.temperatures) > 1:
        pictures["temperature.png"] = (
            "Variance: what happens as production becomes deterministic",
            temperature_picture(found),
        )
    if found.names(ORDERING):
        pictures["trained.png"] = (
            "Rankers trained on pairs: deployed values", trained_picture(found)
        )
    return pictures


def figure_2(found: Measurements) -> Figure:
    """Draw the click-through rate by rank, of both kinds of traffic, for every banner."""
    figure = new_figure(4.2 * len(found.banners), 3.4)
    for axis, banner in zip(_row(figure, found), found.banners, strict=True):
        for name, style in (("production", "o-"), ("shuffled", "s--")):
            rates = [found.series("ctr", name, banner, seed) for seed in found.seeds]
            mean = np.mean([one.values for one in rates if one is not None], axis=0)
            label = "ordered by production" if name == "production" else "shuffled"
            axis.plot(np.arange(1, len(mean) + 1), mean, style, label=label, markersize=4)
        axis.set_xlabel("rank")
        axis.set_xticks(np.arange(1, found.slots[banner] + 1))
        axis.set_ylim(bottom=0.0)
        axis.set_title(f"{banner} banner, {found.slots[banner]} products", fontsize=10)
        axis.legend(fontsize=8, frameon=False)
    figure.axes[0].set_ylabel("click-through rate")
    return figure


def figure_3(found: Measurements) -> Figure:
    """Draw every function's metrics against the reference; colours say how close it is."""
    figure = new_figure(3.6 * len(_PANELS) + 0.8, 3.3 * len(found.banners))
    axes = figure.subplots(len(found.banners), len(_PANELS), squeeze=False)
    seed, points = found.seeds[0], None
    for line, banner in zip(axes, found.banners, strict=True):
        wanted = found.series(METRIC, "reference", banner, seed)
        close = found.series(FUNCTION, "closeness", banner, seed)
        for axis, name in zip(line, _PANELS, strict=True):
            own = found.series(METRIC, name, banner, seed)
            if own is None or wanted is None or close is None:
                continue
            axis.errorbar(
                wanted.values, own.values, own.errors, fmt="none", ecolor="#dddddd", zorder=0
            )
            points = axis.scatter(
                wanted.values, own.values, c=close.values, cmap="viridis", s=22, vmin=0.0, vmax=1.0
            )
            ends = [wanted.values.min(), wanted.values.max()]
            axis.plot(ends, ends, color="black", linewidth=0.7, linestyle=":")
            found_there = found.correlations(name, banner, "reference")[0]
            axis.set_title(f"{LABELS[name]}: {found_there:.2f}", fontsize=10)
            axis.tick_params(labelsize=8)
        line[0].set_ylabel(f"{banner} banner\nmetric")
    for axis in axes[-1]:
        axis.set_xlabel("shuffled traffic, long log", fontsize=9)
    if points is not None:
        figure.colorbar(points, ax=axes, label="correlation with production's scores")
    return figure


def accepted_picture(found: Measurements) -> Figure:
    """Draw the accepted mass of each query against how sure production is of it."""
    figure = new_figure(4.2 * len(found.banners), 3.4)
    for axis, banner in zip(_row(figure, found), found.banners, strict=True):
        sure, accepted, clicks = (
            found.by_query(name, banner, found.seeds[0]) for name in ("sure", "accepted", "clicks")
        )
        if sure is None or accepted is None or clicks is None:
            continue
        some = clicks > 0
        axis.scatter(sure[some], accepted[some], s=14, color="#0c4c8a", alpha=0.7)
        axis.axhline(
            np.average(accepted[some], weights=clicks[some]), color="#d1495b", linestyle="--",
            linewidth=1.0, label="all clicks",
        )  # fmt: skip
        axis.set_ylim(0.0, 1.0)
        axis.set_xlabel("probability of production's likeliest first product", fontsize=9)
        axis.set_title(f"{banner} banner", fontsize=10)
        axis.legend(fontsize=8, frameon=False)
    figure.axes[0].set_ylabel("accepted mass")
    return figure


def offset_picture(found: Measurements) -> Figure:
    """Draw metrics with the known and with roughly known policies against the reference."""
    figure = new_figure(4.4 * len(found.banners), 3.8)
    seed = found.seeds[0]
    for axis, banner in zip(_row(figure, found), found.banners, strict=True):
        wanted = found.series(METRIC, "reference", banner, seed)
        for name in ROUGH:
            own = found.series(METRIC, name, banner, seed)
            if own is None or wanted is None:
                continue
            label = "policy known" if name == ROUGH[0] else LABELS[name].partition(", ")[2]
            mark = "+" if name == "estimated" else "o"  # it lies on top of the known policy's
            axis.scatter(
                wanted.values, own.values, s=30 if mark == "+" else 14, marker=mark,
                color=_ROUGH_COLOURS[name], alpha=0.8, label=label,
            )  # fmt: skip
        if wanted is not None:
            ends = [wanted.values.min(), wanted.values.max()]
            axis.plot(ends, ends, color="black", linewidth=0.7, linestyle=":")
        axis.set_xlabel("shuffled traffic, long log")
        axis.set_title(f"{banner} banner", fontsize=10)
    figure.axes[0].set_ylabel("counterfactual disagreement")
    _legend_above(figure, 2 * len(found.banners))
    return figure


def samples_picture(found: Measurements) -> Figure:
    """Draw the rank correlation with deployed values against the length of the log."""
    columns = 2 * len(found.banners)
    names = [name for name in (*found.names(METRIC), *found.names(ESTIMATE)) if name in STYLES]
    figure = new_figure(5.8 * len(found.banners), 4.0 + 0.18 * np.ceil(len(names) / columns))
    lowest = -0.25
    for axis, banner in zip(_row(figure, found), found.banners, strict=True):
        for name in names:
            colour, line, mark = STYLES[name]
            if name == "reference":
                level = found.correlations(name, banner, "deployed").mean()
                axis.axhline(level, color=colour, linestyle=line, label=LABELS[name])
                continue
            sizes = found.sizes(name)
            each = [
                found.correlations(name, banner, "deployed", impressions=n, defined=True)
                for n in sizes
            ]
            means = [one.mean() if one.size else np.nan for one in each]
            lowest = min([lowest, *(one - 0.05 for one in means if one < 0.0)])
            axis.plot(
                sizes, means, line, color=colour, marker=mark, markersize=4, linewidth=1.3,
                label=LABELS[name],
            )  # fmt: skip
        axis.set_xscale("log")
        axis.grid(alpha=0.25, linewidth=0.5)
        axis.set_xlabel("impressions")
        axis.set_title(f"{banner} banner", fontsize=10)
    for axis in figure.axes:
        axis.set_ylim(lowest, 1.02)
    figure.axes[0].set_ylabel("rank correlation with deployed value")
    _legend_above(figure, columns)
    return figure


def temperature_picture(found: Measurements) -> Figure:
    """Draw accepted mass, cost in impressions and rank correlations by temperature."""
    figure = new_figure(12.0, 4.3)
    accepted, cost, agreement = figure.subplots(1, 3)
    warmths = found.temperatures
    for banner, line in zip(found.banners, ("o-", "s--"), strict=False):
        each = [found.accepted("counterfactual", banner, one) for one in warmths]
        _line(accepted, warmths, each, line, "#0c4c8a", f"{banner} banner")
        for drawn, colour in ((False, "#0c4c8a"), (True, "#e08e0b")):
            each = [
                found.variance_ratios("counterfactual", "pairwise", banner, one, drawn)
                for one in warmths
            ]
            label = "one draw a click" if drawn else "expectation"
            _line(cost, warmths, each, line, colour, f"{banner}, {label}")
        for name in ("counterfactual", "pairwise"):
            each = [found.correlations(name, banner, "reference", one) for one in warmths]
            _line(agreement, warmths, each, line, STYLES[name][0], f"{banner}, {name}")
    cost.axhspan(2.0, 3.0, color="#f0f0f0", zorder=0, label="the paper's two to three")
    titles = ("accepted mass", "impressions needed, times pairwise's", "rank correlation with "
              "shuffled traffic")  # fmt: skip
    for axis, title in zip((accepted, cost, agreement), titles, strict=True):
        axis.set_xscale("log", base=2)
        axis.set_xticks(warmths, [f"{one:g}" for one in warmths])
        axis.set_xlabel("temperature")
        axis.set_title(title, fontsize=10)
        axis.legend(  # below the axis, so that it lies on no line
            fontsize=8, frameon=False, handlelength=3.5, ncols=2, loc="upper center",
            bbox_to_anchor=(0.5, -0.18),
        )  # fmt: skip
    return figure


def _line(
    axis: Any, places: list[float], each: list[Any], style: str, colour: str, label: str
) -> None:
    means = [one.mean() if one.size else np.nan for one in each]
    filled = "white" if style.startswith("s") else colour  # tells large banners' marks apart
    axis.plot(
        places, means, style, color=colour, markersize=4, markerfacecolor=filled, label=label
    )


def trained_picture(found: Measurements) -> Figure:
    """Draw the deployed values of trained rankers with their intervals."""
    figure = new_figure(5.2 * len(found.banners), 6.0)
    axes = figure.subplots(len(DEPLOYMENTS), len(found.banners), squeeze=False)
    for line, (part, label) in zip(axes, DEPLOYMENTS.items(), strict=True):
        names = found.names(part)
        for axis, banner in zip(line, found.banners, strict=True):
            for place, name in enumerate(names):
                values = found.trained(part, name, banner)
                if values.size:
                    one = interval(values)
                    half = one.half_width if values.size >= LEAST_SEEDS else 0.0
                    axis.errorbar(
                        one.mean, place, xerr=half, fmt="o", color=_colour(name), capsize=3
                    )
            axis.set_yticks(range(len(names)), names, fontsize=8)
            axis.invert_yaxis()
            axis.set_title(f"{banner} banner,\n{label}", fontsize=9)
            axis.grid(alpha=0.25, linewidth=0.5, axis="x")
    for axis in axes[-1]:
        axis.set_xlabel("clicks per page")
    return figure


def _colour(name: str) -> str:
    """Return the colour of a trained ranker, by the pairs that it learned from."""
    kinds = {"naive": "pairwise", "counterfactual": "counterfactual", "whole-page": "pages",
             "shuffled": "shuffled"}  # fmt: skip
    return next((STYLES[key][0] for kind, key in kinds.items() if kind in name), "#222222")


def _row(figure: Figure, found: Measurements) -> list[Any]:
    """Return an axis for each banner, side by side."""
    return list(figure.subplots(1, len(found.banners), squeeze=False)[0])


def _legend_above(figure: Figure, columns: int) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=columns, frameon=False, fontsize=8
    )
