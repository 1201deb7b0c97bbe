"""Heat maps and training curves of the comparison of agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation import interval
from ...evaluation.reporting.figures import BEST, LOGGING, MAX_REWARD, PROMISED, RANDOM, new_figure
from ..engine.rows import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LINES = {
    "best": ("best", BEST, ":"),
    "logging_value": ("logging policy", LOGGING, "--"),
    "random": ("random", RANDOM, "-."),
}


def heat_map(rows: Sequence[Row]) -> Figure:
    """Draw gap (above) and deployed value (below), agents by models, a column per user.

    Numbers are means over seeds and the half widths of their 95% intervals.
    """
    users, models, names = (
        list(dict.fromkeys(row[key] for row in rows)) for key in ("user", "model", "agent")
    )
    figure = new_figure(
        1.6 + len(users) * (0.8 + 0.95 * len(models)), 1.2 + 2 * (0.6 + 0.42 * len(names))
    )
    labels = [f"{name}\n{_budget(rows, name)}" for name in names]
    panels = figure.subplots(2, len(users), squeeze=False, sharey=True, sharex=True)
    for line, (key, colours) in enumerate((("gap", "Reds"), ("deployed", "Blues"))):
        means = np.full((len(users), len(names), len(models)), np.nan)
        widths = np.full(means.shape, np.nan)
        for place in np.ndindex(*means.shape):
            user, agent, model = users[place[0]], names[place[1]], models[place[2]]
            wanted = (user, agent, model)
            values = [r[key] for r in rows if (r["user"], r["agent"], r["model"]) == wanted]
            if values:
                found = interval(values)
                means[place], widths[place] = found.mean, found.half_width
        low, high = np.nanmin(means), np.nanmax(means)
        low = 0.0 if line == 0 else low  # a promise that is more than kept is no gap
        for column, user in enumerate(users):
            axis = panels[line, column]
            shown = axis.imshow(means[column], cmap=colours, vmin=low, vmax=high, aspect="auto")
            _numbers(axis, means[column], widths[column], shown)
            axis.set_title(f"{key}, {user} user", fontsize=10)
            axis.set_xticks(range(len(models)), models, fontsize=8)
            axis.set_yticks(range(len(names)), labels, fontsize=8)
        bar = figure.colorbar(shown, ax=panels[line].tolist(), label=f"{key}, clicks per page")
        bar.ax.tick_params(labelsize=8)
    return figure


def _budget(rows: Sequence[Row], name: str) -> str:
    """Return the pages that an agent was trained for, in thousands."""
    pages = max(row["pages"] for row in rows if row["agent"] == name)
    return f"{pages / 1000:,.0f}k pages"


def _numbers(axis: Any, means: np.ndarray, widths: np.ndarray, shown: Any) -> None:
    for line, column in np.ndindex(*means.shape):
        mean, width = means[line, column], widths[line, column]
        if np.isnan(mean):
            continue
        text = f"{mean:.2f}" + (f"\n±{width:.2f}" if np.isfinite(width) else "")
        dark = shown.norm(mean) > 0.6
        axis.text(
            column, line, text, ha="center", va="center", fontsize=7,
            color="white" if dark else "black",
        )  # fmt: skip


def training_curves(rows: Sequence[Row], user: str) -> Figure:
    """Draw promised (dashed) and deployed (solid) values over training, a panel per model."""
    chosen = [row for row in rows if row["user"] == user]
    models, names = (list(dict.fromkeys(row[key] for row in chosen)) for key in ("model", "agent"))
    figure = new_figure(1.2 + 3.1 * len(models), 4.0)
    axes = figure.subplots(1, len(models), squeeze=False, sharey=True)[0]
    colours = _colours(len(names))
    for axis, model in zip(axes, models, strict=True):
        for agent, colour in zip(names, colours, strict=True):
            runs = [r for r in chosen if (r["model"], r["agent"]) == (model, agent)]
            if not runs:
                continue
            pages = np.array([point["pages"] for point in runs[0]["history"]])
            for key, style in (("deployed", "-"), ("promised", "--")):
                values = np.mean([_curve(run, key, pages) for run in runs], axis=0)
                axis.plot(
                    pages / pages[-1], values, style, color=colour, linewidth=1.3,
                    label=agent if key == "deployed" else None,
                )  # fmt: skip
        axis.axhline(np.mean([row["best"] for row in chosen]), color=BEST, linestyle=":")
        axis.set_title(f"inside {model}", fontsize=10)
        axis.set_xlabel("share of the agent's pages")  # budgets may differ by ten times
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("clicks a page")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
    figure.suptitle(
        f"{user} user: deployed (solid), promised (dashed), best (dotted)", fontsize=10
    )
    return figure


def _curve(run: Row, key: str, pages: np.ndarray) -> np.ndarray:
    """Return a run's values at ``pages``: runs of slot agents end pages at different moments."""
    points = run["history"]
    return np.interp(pages, [p["pages"] for p in points], [p[key] for p in points])


def _colours(number: int) -> list[Any]:
    from matplotlib import colormaps

    return [colormaps["tab10"](place % 10) for place in range(number)]


def parting(row: Row) -> float:
    """Return how far a run's deployed value fell in its last third while the promise rose.

    Means of the middle and of the last third of the measurements are compared, so that one noisy
    measurement is not taken for a fall; 0 where the promise did not rise.
    """
    points = row["history"]
    third = max(len(points) // 3, 1)
    middle, last = points[-2 * third : -third], points[-third:]
    if not middle:
        return 0.0

    def change(key: str) -> float:
        return float(np.mean([p[key] for p in last]) - np.mean([p[key] for p in middle]))

    return -change("deployed") if change("promised") > 0 else 0.0


def run_picture(row: Row) -> Figure:
    """Draw one training run: promised and, where there is a user, deployed values over pages."""
    points = row["history"]
    pages = [point["pages"] for point in points]
    figure = new_figure(8.2, 4.2)
    axis = figure.subplots()
    axis.plot(pages, [p["promised"] for p in points], "v-", color=PROMISED, label="promised")
    deployed = [point["deployed"] for point in points]
    if None not in deployed:
        axis.plot(pages, deployed, "o-", color=MAX_REWARD, label="deployed")
    for name, (label, colour, style) in _LINES.items():
        if name in row:
            axis.axhline(row[name], color=colour, linestyle=style, linewidth=1.2, label=label)
    axis.set_xlabel("pages of training")
    axis.set_ylabel("clicks a page")
    axis.grid(alpha=0.25)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    where = f"{row['agent']} inside {row['model']}"
    if row["user"] is not None:
        where += f", deployed on {row['user']}"
    axis.set_title(f"{where}, seed {row['seed']}", fontsize=10)
    return figure
