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
    warned = {row["model"] for row in chosen if row.get("warning")}
    labels = tuple(f"{agent} in {model}{_MARK if model in warned else ''}" for model, agent in keys)
    metrics = [
        Metric(
            name, bool(lower), digits=0 if name == "pages" else 3,
            exclude=labels if lower is None else (), arrow=lower is not None,
        )
        for name, lower in _COLUMNS.items()
    ]  # fmt: skip
    text = ", ".join(f"{label} {mean_of(chosen, key).mean:.3f}" for key, label in _LINES.items())
    title, note = f"{user} user, clicks per page; {text}", _LEGEND if warned else ""
    table = ResultTable(metrics, title, note=note)
    for (model, agent), label in zip(keys, labels, strict=True):
        part = [row for row in chosen if (row["model"], row["agent"]) == (model, agent)]
        values = {name: [row[name] for row in part] for name in _COLUMNS}
        table.add(label, values, [row["seed"] for row in part])
    return table


_LINES = {"best": "best", "logging_value": "logging policy", "random": "random"}
_MARK = " ‡"
_LEGEND = "‡: a deployment card warns of how this model predicts clicks by rank, in some seed"


def summary_table(rows: Sequence[Row], variant: str = "") -> PlainTable:
    """Return a row for each agent and for each model, over all others and all users.

    ``variant`` says what is unusual about the run, for the title.
    """
    counts = [(len(distinct(rows, key)), key) for key in ("user", "seed")]
    over = " and ".join(f"{count} {key}{'s' if count > 1 else ''}" for count, key in counts)
    table = PlainTable(
        f"Over {over}, clicks per page{variant and f' ({variant})'}", "agent or model",
        ["promised", "deployed", "gap", "mean |gap|", "lift", "at the log's value or above"],
        "mean |gap|: |promised - deployed|, mean over all runs. at the log's value or above: by "
        "the mean lift over seeds, of the agent's models and users, or the model's agents and "
        "users.",
    )  # fmt: skip
    parts = {name: where(rows, agent=name) for name in distinct(rows, "agent")}
    parts |= {f"inside {name}": where(rows, model=name) for name in distinct(rows, "model")}
    for name, part in {**parts, "all": rows}.items():
        lifts = _mean_lifts(part)
        values = [mean_of(part, key).mean for key in ("promised", "deployed", "gap")]
        table.add(name, [
            *(f"{value:.3f}" for value in values),
            f"{np.mean([abs(row['gap']) for row in part]):.3f}",
            f"{mean_of(part, 'lift').mean:+.3f}",
            _count(lifts),
        ])  # fmt: skip
    return table


def delivered_line(rows: Sequence[Row]) -> str:
    """Return how often the log's value is reached, by means over seeds.

    Each agent in each model for each user counts once; models of which nobody knows whether the
    card warns of them are counted among all alone.
    """
    asked: dict[tuple[str, str], list[str | None]] = {}
    for row in rows:
        asked.setdefault((row["user"], row["model"]), []).append(row.get("warning"))
    quiet = {place for place, warnings in asked.items() if set(warnings) == {""}}
    every = _mean_lifts(rows)
    silent = _mean_lifts([row for row in rows if (row["user"], row["model"]) in quiet])
    told = f"mean lift at or above 0: {_count(every)} (agent, model, user)"
    if not silent:
        return told
    return f"{told}, {_count(silent)} of those inside models that the card does not warn of (no ‡)"


def _count(lifts: Sequence[float]) -> str:
    return f"{sum(lift >= 0 for lift in lifts)} of {len(lifts)}"


def _mean_lifts(rows: Sequence[Row]) -> list[float]:
    """Return the mean lift over seeds of every agent in every model for every user."""
    lifts: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        lifts.setdefault((row["user"], row["model"], row["agent"]), []).append(row["lift"])
    return [float(np.mean(values)) for values in lifts.values()]
