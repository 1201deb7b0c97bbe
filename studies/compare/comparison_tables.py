"""Tables of the comparison of agents: a summary, and one for each user."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...evaluation import Metric, ResultTable
from ...evaluation.reporting.formats import PlainTable
from ..engine.rows import Row, distinct, mean_of, where

_COLUMNS = {  # what is compared: True where lower is better, None where neither is
    "pages": None, "promised": None, "deployed": False, "gap": None, "regret": True, "lift": False,
}  # fmt: skip


def compare_table(rows: Sequence[Row], user: str) -> ResultTable:
    """Return the table of one user: a row for every agent in every model, in clicks per page."""
    chosen = [row for row in rows if row["user"] == user]
    keys = dict.fromkeys((row["model"], row["agent"]) for row in chosen)
    warned = {row["model"] for row in chosen if row["warning"]}
    labels = tuple(f"{agent} in {model}{_MARK if model in warned else ''}" for model, agent in keys)
    metrics = [
        Metric(
            name, bool(lower), digits=0 if name == "pages" else 3,
            exclude=labels if lower is None else (), arrow=lower is not None,
        )
        for name, lower in _COLUMNS.items()
    ]  # fmt: skip
    text = ", ".join(f"{label} {mean_of(chosen, key).mean:.3f}" for key, label in _LINES.items())
    table = ResultTable(metrics, f"{user} user, clicks per page; {text}{_LEGEND if warned else ''}")
    for (model, agent), label in zip(keys, labels, strict=True):
        part = [row for row in chosen if (row["model"], row["agent"]) == (model, agent)]
        values = {name: [row[name] for row in part] for name in _COLUMNS}
        table.add(label, values, [row["seed"] for row in part])
    return table


_LINES = {"best": "best", "logging_value": "logging policy", "random": "random"}
_MARK = " †"
_LEGEND = "; †: a deployment card warns of this model's clicks by rank in some seed"


def summary_table(rows: Sequence[Row]) -> PlainTable:
    """Return a row for each agent and for each model, over all others and all users."""
    table = PlainTable(
        f"Over {len(distinct(rows, 'user'))} users and {len(distinct(rows, 'seed'))} seeds, clicks "
        "per page", "agent or model",
        ["promised", "deployed", "gap", "lift", "at the log's value or above"],
        "at the log's value or above: by the mean lift over seeds, of the agent's models and "
        "users, or the model's agents and users.",
    )  # fmt: skip
    parts = {name: where(rows, agent=name) for name in distinct(rows, "agent")}
    parts |= {f"inside {name}": where(rows, model=name) for name in distinct(rows, "model")}
    for name, part in {**parts, "all": rows}.items():
        lifts = _mean_lifts(part)
        values = [mean_of(part, key).mean for key in ("promised", "deployed", "gap")]
        table.add(name, [
            *(f"{value:.3f}" for value in values), f"{mean_of(part, 'lift').mean:+.3f}",
            f"{sum(lift >= 0 for lift in lifts)} of {len(lifts)}",
        ])  # fmt: skip
    return table


def delivered_line(rows: Sequence[Row]) -> str:
    """Return how many agents in models end at the log's value or above, by means over seeds."""
    told = []
    for name, part in (
        ("agents in models", rows),
        ("of models without a warning", _without_warning(rows)),
    ):
        lifts = _mean_lifts(part)
        told.append(f"{sum(lift >= 0 for lift in lifts)} of {len(lifts)} {name}")
    return f"mean lift of at least 0: {told[0]}, {told[1]}"


def _without_warning(rows: Sequence[Row]) -> list[Row]:
    warned = {(row["user"], row["model"]) for row in rows if row["warning"]}
    return [row for row in rows if (row["user"], row["model"]) not in warned]


def _mean_lifts(rows: Sequence[Row]) -> list[float]:
    """Return the mean lift over seeds of every agent in every model for every user."""
    lifts: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        lifts.setdefault((row["user"], row["model"], row["agent"]), []).append(row["lift"])
    return [float(np.mean(values)) for values in lifts.values()]
