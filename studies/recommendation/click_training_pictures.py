"""Tables and the picture of recommenders that learn from clicks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...common.typing import Floats
from ...evaluation import Interval, Metric, ResultTable, interval
from ...evaluation.reporting.figures import new_figure
from ...evaluation.reporting.formats import PlainTable
from ..engine.rows import Row, describe_seeds, distinct, mean_of, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNTAUGHT = "random"  # learns nothing, so labels cannot matter to it
UNBIASED, CLICKS, RATINGS = "no-bias clicks", "own clicks", "ratings"
TRUE_WEIGHTS, FITTED_WEIGHTS = "IPW true", "IPW fitted"
_STYLES = {  # of labels, in the picture; others share what is left
    RATINGS: ("#8c8c8c", "s"), UNBIASED: ("#1b7837", "_"), CLICKS: ("#d1495b", "o"),
    TRUE_WEIGHTS: ("#0c4c8a", "^"), FITTED_WEIGHTS: ("#7fa8d1", "<"),
}  # fmt: skip
_OTHERS = (("#e69f00", "D"), ("#7b3294", "v"), ("#56b4e9", "P"), ("#a6761d", "X"))


def mean_rates(rows: Sequence[Row], labels: str) -> Floats:
    """Return the mean rate over the recommenders that learn, seed by seed, (n,)."""
    chosen = [row for row in where(rows, labels=labels) if row["system"] != UNTAUGHT]
    seeds = sorted(distinct(chosen, "seed"))
    return np.array([np.mean([row["rate"] for row in where(chosen, seed=s)]) for s in seeds])


def cost_table(rows: Sequence[Row]) -> PlainTable:
    """Return what each user's bias costs, and how much of it other labels bring back."""
    others = [k for k in distinct(rows, "labels") if k not in (RATINGS, UNBIASED, CLICKS)]
    seeds = describe_seeds([distinct(rows, "seed")])
    table = PlainTable(
        "Click-through rate in percent, mean over the recommenders that learn",
        "user", [RATINGS, UNBIASED, CLICKS, "bias costs", *(f"back by {kind}" for kind in others)],
        f"Deployed on the same user. Bias costs: {UNBIASED} minus {CLICKS}. Back: what learning "
        f"from other labels adds to {CLICKS}, in brackets as a share of the cost where the cost is "
        f"above chance. IPW: clicks over the sum of propensities of the same impressions, the "
        f"user's own or those that a PBM finds in the log. ±: 95% intervals over splits; {seeds}.",
    )  # fmt: skip
    for user in distinct(rows, "user"):
        own = where(rows, user=user)
        rates = {kind: mean_rates(own, kind) for kind in (RATINGS, UNBIASED, CLICKS, *others)}
        cost = interval(rates[UNBIASED] - rates[CLICKS])
        texts = [_percent(interval(rates[kind])) for kind in (RATINGS, UNBIASED, CLICKS)]
        texts.append(_percent(cost))
        for kind in others:
            back = interval(rates[kind] - rates[CLICKS])
            share = f" ({back.mean / cost.mean:.0%})" if _above_chance(cost) else ""
            texts.append(_percent(back) + share)
        table.add(user, texts)
    return table


def _above_chance(cost: Interval) -> bool:
    return bool(cost.mean - cost.half_width > 0.0)  # NaN of one seed is not


def _percent(number: Interval) -> str:
    error = "" if np.isnan(number.half_width) else f" ±{100 * number.half_width:.2f}"
    return f"{100 * number.mean:.2f}{error}"


def labels_tables(rows: Sequence[Row]) -> list[ResultTable]:
    """Return a table for each recommender: users by what it learned from.

    What learns nothing earns the same by all labels, so it has one row.
    """
    users, kinds = distinct(rows, "user"), distinct(rows, "labels")
    tables = []
    for system in distinct(rows, "system"):
        learned = {"nothing": kinds[0]} if system == UNTAUGHT else {kind: kind for kind in kinds}
        metrics = [Metric(user, lower_is_better=False, digits=2) for user in users]
        table = ResultTable(
            metrics, f"{system}: click-through rate in percent by what it learned from"
        )
        for label, kind in learned.items():
            own = where(rows, system=system, labels=kind)
            values = {
                user: [100.0 * row["rate"] for row in where(own, user=user)] for user in users
            }
            table.add(label, values, [row["seed"] for row in where(own, user=users[0])])
        tables.append(table)
    return tables


def labels_picture(rows: Sequence[Row]) -> Figure:
    """Draw the rates, a panel for each recommender that learns, a colour for each kind of label."""
    systems = [name for name in distinct(rows, "system") if name != UNTAUGHT]
    users, kinds = distinct(rows, "user"), distinct(rows, "labels")
    spare = iter(_OTHERS * len(kinds))
    styles = {kind: _STYLES[kind] if kind in _STYLES else next(spare) for kind in kinds}
    figure = new_figure(max(2.6 * len(users) / 2, 6.0) + 2.0, 2.2 * len(systems) + 1.4)
    panels = figure.subplots(len(systems), 1, squeeze=False, sharex=True)[:, 0]
    width = 0.75 / max(len(kinds) - 1, 1)
    for axis, system in zip(panels, systems, strict=True):
        for number, (kind, (colour, marker)) in enumerate(styles.items()):
            own = where(rows, system=system, labels=kind)
            found = [mean_of(where(own, user=user), "rate") for user in users]
            axis.errorbar(
                np.arange(len(users)) + (number - (len(kinds) - 1) / 2) * width,
                [100 * one.mean for one in found],
                yerr=[100 * float(np.nan_to_num(one.half_width)) for one in found],
                fmt=marker, color=colour, markersize=10 if marker == "_" else 5,
                markeredgewidth=2.0 if marker == "_" else 0.5, linewidth=1.0, label=kind,
            )  # fmt: skip
        axis.set_title(system, fontsize=10)
        axis.set_ylabel("click-through\nrate, percent", fontsize=9)
        axis.set_ylim(bottom=0.0)
        axis.grid(axis="y", alpha=0.25, linewidth=0.5)
        for place in range(1, len(users)):
            axis.axvline(place - 0.5, color="#dddddd", linewidth=0.8, zorder=0)
    panels[-1].set_xticks(np.arange(len(users)), users, fontsize=9)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside upper center", frameon=False,
        fontsize=9, ncols=len(kinds),
    )  # fmt: skip
    return figure
