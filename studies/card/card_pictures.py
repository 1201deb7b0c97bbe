"""Pictures of the deployment card's calibration and of its test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation.deployment.verdict import DEPLOY, DO_NOT, TEST
from ...evaluation.reporting.figures import BEST, LOGGING, PROMISED, RANDOM, new_figure
from ..engine.rows import Row
from .card_rows import traits_of
from .card_tables import column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {DEPLOY: LOGGING, TEST: "#d9a21b", DO_NOT: PROMISED}


def calibration_picture(rows: Sequence[Row]) -> Figure:
    """Draw the lift that came true against promise and prediction; dark where unsupported."""
    figure = new_figure(9.0, 4.0)
    true = column(rows, "deployed") / column(rows, "earned") - 1.0
    promise = np.array([traits_of(row)["promise"] for row in rows])
    predicted = column(rows, "predicted") / column(rows, "earned") - 1.0
    hardly = column(rows, "about hardly")
    axes = figure.subplots(1, 2, sharey=True)
    panels = {"promised": promise, "predicted": predicted}
    for axis, (name, values) in zip(axes, panels.items(), strict=True):
        points = axis.scatter(values, true, c=hardly, s=10, cmap="viridis_r", vmin=0, vmax=1)
        _diagonal(axis, true)
        axis.set_xlabel(f"{name} lift, as a share")
    axes[0].set_ylabel("deployed lift, as a share")
    figure.colorbar(points, ax=axes, label="share hardly shown by the log")
    return figure


def test_picture(rows: Sequence[Row]) -> Figure:
    """Draw deployed lifts against predicted ones with their intervals, by verdict."""
    figure = new_figure(9.0, 4.6)
    axis = figure.subplots()
    earned = column(rows, "earned")
    middle, low, high, true = (
        column(rows, name) / earned - 1.0 for name in ("predicted", "low", "high", "deployed")
    )
    order = np.argsort(middle, kind="stable")
    place = np.arange(len(rows))
    axis.vlines(place, low[order], high[order], color=RANDOM, linewidth=0.7, alpha=0.6)
    verdicts = np.array([row["verdict"] for row in rows])[order]
    for verdict, colour in _COLOURS.items():
        own = verdicts == verdict
        axis.scatter(place[own], true[order][own], s=8, color=colour, label=verdict, zorder=3)
    axis.plot(place, middle[order], color=BEST, linewidth=0.8)
    axis.axhline(0.0, color=BEST, linewidth=0.6, linestyle=":")
    axis.set_xlabel("policies, by predicted lift (line), with 90% intervals")
    axis.set_ylabel("deployed lift (points), as a share")
    axis.set_ylim(float(np.quantile(low, 0.01)) - 0.05, float(np.quantile(high, 0.99)) + 0.1)
    axis.legend(fontsize=8, frameon=False, title="verdict", loc="upper left")
    return figure


def _diagonal(axis: Any, values: Any) -> None:
    ends = [float(np.min(values)), float(np.max(values))]
    axis.plot(ends, ends, color=BEST, linewidth=0.8)
    room = 0.1 * (ends[1] - ends[0])
    axis.set_ylim(ends[0] - room, ends[1] + room)
    axis.set_xlim(ends[0] - room, ends[1] + room)
