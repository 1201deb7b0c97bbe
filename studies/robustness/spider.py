"""Figure 1 of the robustness paper: spider charts of log-normalised perplexity."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...evaluation import Interval, interval
from ...evaluation.metrics.perplexity import OFFSET
from ...evaluation.reporting.figures import new_figure
from ...evaluation.statistics import make_interval
from ..constants import USERS
from ..engine.rows import Row, describe_seeds, distinct
from .conditions import Condition, in_distribution, out_of_distribution
from .relative import compared_models, models_with_perplexity, relative

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IN, OUT = "in distribution", "out of distribution"
_STYLES: dict[str, tuple[str, Any]] = {IN: ("#c8283c", "--"), OUT: ("#1f5fa8", "-")}
_SHADE = 0.22
_BACKGROUNDS = ("#d9e8f5", "#fde6c4", "#dcefd5", "#eadcf0", "#f3d9dd", "#e4e4e4")
_WORST = OFFSET + np.log(2.0)
_BORDER, _TESTS, _TRAINING = 0.94, 0.97, 1.36  # radii: background, inner labels, outer labels
_TRAINING_NAMES = {"epsilon-oracle": "ε-oracle"}
_TEST_NAMES = {"LambdaMART": "λMART"}
_SIZE = 4.8  # inches per chart


def spider(rows: Sequence[Row], out_of_distribution_too: bool = True) -> Figure:
    """Draw a spider chart for every click model: the best of them lies near the centre.

    An axis is a condition: its user by the background, its training policy by the outer labels,
    its test policy by the inner ones. The dashed line is in-distribution perplexity, the solid one
    out-of-distribution; where the solid line is inside the dashed one, the model is more robust
    than its counterparts. Shades are 95% Student-t intervals over seeds.

    Parameters
    ----------
    out_of_distribution_too : bool
        False draws the 9 in-distribution axes alone, True the 27 others with both lines.
    """
    models = compared_models(rows)
    axes = out_of_distribution(rows) if out_of_distribution_too else in_distribution(rows)
    lines = {IN: [condition.training for condition in axes]}
    if out_of_distribution_too:
        lines[OUT] = axes
    found = {
        condition: _by_model(rows, condition, models)
        for conditions in lines.values()
        for condition in dict.fromkeys(conditions)
    }
    columns = _columns(len(models))
    height = max(-(-len(models) // columns), 1)
    figure = new_figure(_SIZE * max(columns, 3), 1.3 + _SIZE * height)  # the legend needs three
    if not (models and axes):
        figure.text(0.5, 0.5, "no model here has a perplexity to compare", ha="center")
        return figure
    colours = _colours(rows)
    for number, model in enumerate(models):
        panel = figure.add_subplot(height, columns, number + 1, projection="polar")
        _frame(panel, axes, colours)
        panel.set_title(model, fontsize=14, fontweight="bold", pad=2, parse_math=False)
        for name, conditions in lines.items():
            _draw(panel, [_point(found[one][1].get(model)) for one in conditions], name)
    _legend(figure, colours, list(lines))
    seeds = describe_seeds(seeds for seeds, _ in found.values())
    figure.supxlabel(
        f"Log-normalised perplexity (equation 16) on {len(axes)} axes; {seeds}", fontsize=11
    )
    return figure


def _by_model(
    rows: Sequence[Row], condition: Condition, models: Sequence[str]
) -> tuple[list[int], dict[str, NDArray[np.float64]]]:
    """Return the seeds, and the values (seeds,) of the models that have any on this axis."""
    names = models_with_perplexity(rows, [condition], models)
    seeds, values = relative(rows, [condition], names)
    return seeds, dict(zip(names, values[:, 0].T, strict=True)) if seeds else {}


def _columns(charts: int) -> int:
    """Return in how many columns to draw: three, or four where that leaves less room empty."""
    return min(charts, 3 if -charts % 3 <= -charts % 4 else 4) or 1


def _point(values: NDArray[np.float64] | None) -> Interval:
    """Return the mean and interval of values (seeds,), NaN where there are none."""
    return make_interval(np.nan, np.nan, np.nan, 0) if values is None else interval(values)


def _angles(count: int) -> np.ndarray:
    """Return the axes' angles, (count,): clockwise from the top, the first half a step after it."""
    return 2.0 * np.pi * (np.arange(count) + 0.5) / count


def _draw(panel: Any, line: Sequence[Interval], name: str) -> None:
    angles = _angles(len(line))
    closed = [*range(len(line)), 0]
    colour, style = _STYLES[name]
    low, high = (
        np.clip([getattr(point, bound) for point in line], OFFSET / 2.0, _BORDER)
        for bound in ("low", "high")
    )
    panel.fill_between(angles[closed], low[closed], high[closed], color=colour, alpha=_SHADE, lw=0)
    means = np.array([point.mean for point in line])
    panel.plot(angles[closed], means[closed], style, color=colour, linewidth=1.8)
    panel.plot(angles, means, "o", color=colour, markersize=2.8)


def _frame(panel: Any, axes: Sequence[Condition], colours: dict[str, str]) -> None:
    """Draw what all charts share: backgrounds, spokes, circles and the two rings of labels."""
    panel.set_theta_zero_location("N")
    panel.set_theta_direction(-1)
    panel.set_axis_off()
    step = 2.0 * np.pi / len(axes)
    angles = _angles(len(axes))
    backgrounds = [colours[condition.user] for condition in axes]
    panel.bar(angles, _BORDER, step, color=backgrounds, linewidth=0, zorder=0)
    panel.vlines(angles, 0.0, _BORDER, color="white", linewidth=0.8, zorder=1)
    for condition, angle in zip(axes, angles, strict=True):
        if condition.test:
            name = _TEST_NAMES.get(condition.test, condition.test)
            _label(panel, angle, _TESTS, name, along=True, size=8.5)
    around = np.linspace(0.0, 2.0 * np.pi, 181)
    for radius in (OFFSET, _WORST):
        panel.plot(around, np.full(181, radius), ":", color="#666666", linewidth=0.8, zorder=1)
    radius = _TRAINING if any(condition.test for condition in axes) else _BORDER + 0.12
    panel.set_ylim(0.0, radius + 0.1)
    for training, part in groupby(range(len(axes)), lambda number: axes[number].training):
        numbers = list(part)
        edge = angles[numbers[0]] - step / 2.0
        new_user = numbers[0] == 0 or axes[numbers[0] - 1].user != training.user
        panel.plot(
            [edge, edge], [0.0, radius + 0.05], color="#555555" if new_user else "#aaaaaa",
            linewidth=1.2 if new_user else 0.7, zorder=1,
        )  # fmt: skip
        name = _TRAINING_NAMES.get(training.logging, training.logging)
        _label(panel, float(angles[numbers].mean()), radius, name, along=False, size=9.5)


def _label(panel: Any, angle: float, radius: float, text: str, along: bool, size: float) -> None:
    """Write at a place of the chart, along the spoke or across it, never upside down."""
    turn = -np.degrees(angle)  # of text that stands upright at the top and goes round
    if along:
        right = np.sin(angle) > 0.0
        panel.text(
            angle, radius, text, fontsize=size, rotation=turn + (90.0 if right else -90.0),
            rotation_mode="anchor", ha="left" if right else "right", va="center",
        )  # fmt: skip
    else:
        below = np.cos(angle) < -1e-9
        panel.text(
            angle, radius, text, fontsize=size, fontweight="bold", color="#333333",
            rotation=turn + (180.0 if below else 0.0), ha="center", va="center",
        )  # fmt: skip


def _colours(rows: Sequence[Row]) -> dict[str, str]:
    """Return the background of each user; those of the paper have the same in every figure."""
    found = distinct(rows, "user", USERS)
    known = list(dict.fromkeys((*USERS, *found)))
    return {user: _BACKGROUNDS[known.index(user) % len(_BACKGROUNDS)] for user in found}


def _legend(figure: Figure, colours: dict[str, str], lines: Sequence[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def note(text: str) -> Any:
        return Patch(alpha=0.0, label=text)

    third = {
        IN: Line2D([], [], color="#666666", linestyle=":", label="best (inner), worst (outer)"),
        OUT: note("(inside the dashed line: robust)"),
    }
    handles: list[Any] = []
    for name in lines:  # a column each
        colour, style = _STYLES[name]
        handles.append(Line2D([], [], color=colour, linestyle=style, label=name))
        handles.append(Patch(color=colour, alpha=_SHADE, label="its 95% interval over seeds"))
        handles.append(third[name])
    handles += [Patch(color=colour, label=f"{user} user") for user, colour in colours.items()]
    handles.append(note("outer labels: training policy"))
    if OUT in lines:
        handles += [note("inner labels: test policy"), note("(λMART: LambdaMART)")]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=len(lines) + 2, frameon=False,
        fontsize=10,
    )  # fmt: skip
