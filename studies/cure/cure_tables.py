"""Tables of cures: over all settings, for one user and log, and step by step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...evaluation import Metric, ResultTable
from ...evaluation.deployment.verdict import DEPLOY, VERDICTS
from ...evaluation.reporting.formats import PlainTable
from ..engine.rows import Row, distinct, mean_of, where
from .cures import CAREFUL, PLAIN

_COLUMNS = {  # what is compared: True where lower is better, None where neither is
    "promised": None, "deployed": False, "gap": None, "lift": False,
}  # fmt: skip


def settings_of(rows: Sequence[Row]) -> list[tuple[str, str, str]]:
    """Return the settings of rows, each once: user, log and model."""
    keys = ("user", "logging", "model")
    return list(dict.fromkeys(tuple(row[key] for key in keys) for row in rows))


def setting_means(rows: Sequence[Row], cure: str, key: str) -> dict[tuple[str, str, str], float]:
    """Return a field's mean over seeds in each setting."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for row in where(rows, cure=cure):
        found.setdefault((row["user"], row["logging"], row["model"]), []).append(row[key])
    return {place: float(np.mean(values)) for place, values in found.items()}


def summary_table(rows: Sequence[Row]) -> PlainTable:
    """Return a row for each cure over all settings (user, log and model), means over seeds."""
    count, seeds = len(settings_of(rows)), len(distinct(rows, "seed"))
    table = PlainTable(
        f"Cures over {count} settings (user, log, model) and {seeds} seeds, clicks per page; "
        f"logging policy {mean_of(rows, 'logging_value').mean:.3f}, best ranking found "
        f"{mean_of(rows, 'best').mean:.3f}",
        "cure",
        ["promised", "deployed", "mean |gap|", "lift", "settings at or above the log",
         "above no cure", "least against no cure", "never shown", "told to deploy", "wrongly"],
        f"Each number of settings is out of {count} where no other is named, by means over seeds. "
        "mean |gap|: |promised - deployed|, mean over settings and seeds. least against no "
        "cure: the worst setting's deployed value as a change of the uncured one. never shown: "
        "share of slots with documents that the log never showed for the query. told to deploy: "
        "share of settings and seeds in which the deployment card says so; wrongly: share of these "
        "that end below the log.",
    )  # fmt: skip
    plain = setting_means(rows, PLAIN, "deployed")
    for cure in distinct(rows, "cure"):
        part = where(rows, cure=cure)
        lifts, deployed = setting_means(rows, cure, "lift"), setting_means(rows, cure, "deployed")
        changes = [deployed[place] / plain[place] - 1.0 for place in deployed]
        some = f"{len(lifts)} setting{'s' if len(lifts) > 1 else ''}"
        label = cure if len(lifts) == count else f"{cure} ({some})"
        told = where(part, verdict=DEPLOY)
        wrong = [row for row in told if row["lift"] < 0]
        table.add(label, [
            f"{mean_of(part, 'promised').mean:.3f}", f"{mean_of(part, 'deployed').mean:.3f}",
            f"{np.mean([abs(row['gap']) for row in part]):.3f}",
            f"{mean_of(part, 'lift').mean:+.3f}",
            f"{sum(lift >= 0 for lift in lifts.values())}",
            "–" if cure == PLAIN else f"{sum(change > 0 for change in changes)}",
            "–" if cure == PLAIN else f"{min(changes):+.1%}",
            f"{mean_of(part, 'never_shown').mean:.1%}",
            f"{len(told) / len(part):.0%}", f"{len(wrong) / len(told):.1%}" if told else "–",
        ])  # fmt: skip
    return table


def losing_table(rows: Sequence[Row]) -> PlainTable:
    """Return the settings in which careful policies end below the log, and what cards say there."""
    table = PlainTable(
        "Careful policies that end below the log: settings by means over seeds, clicks per page",
        "user, log, model: cure", ["deployed", "log", "lift", *VERDICTS],
        "The last columns: in how many seeds the deployment card says so.",
    )  # fmt: skip
    for cure in CAREFUL:
        for place, lift in setting_means(rows, cure, "lift").items():
            if lift >= 0:
                continue
            user, logging, model = place
            part = where(rows, user=user, logging=logging, model=model, cure=cure)
            values = [mean_of(part, key).mean for key in ("deployed", "logging_value")]
            table.add(f"{', '.join(place)}: {cure}", [
                *(f"{value:.3f}" for value in values), f"{lift:+.3f}",
                *(str(len(where(part, verdict=verdict))) for verdict in VERDICTS),
            ])  # fmt: skip
    return table


def card_line(rows: Sequence[Row]) -> str:
    """Return how often deployment cards' intervals cover what policies earn."""
    asked = [row for row in rows if row.get("low") is not None]
    covered = sum(row["low"] <= row["deployed"] <= row["high"] for row in asked)
    share = f" ({covered / len(asked):.1%})" if asked else ""
    return f"deployment cards: 90% intervals cover {covered} of {len(asked)} policies{share}"


def setting_table(rows: Sequence[Row], user: str, logging: str) -> ResultTable:
    """Return the table of one user and log, a row for each model and cure."""
    chosen = where(rows, user=user, logging=logging)
    parts = {
        f"{model}, {cure}": where(chosen, model=model, cure=cure)
        for model in distinct(chosen, "model")
        for cure in distinct(where(chosen, model=model), "cure")
    }
    metrics = [
        Metric(
            name, bool(lower), digits=3, exclude=tuple(parts) if lower is None else (),
            arrow=lower is not None,
        )
        for name, lower in _COLUMNS.items()
    ]  # fmt: skip
    lines = {"best": "best", "logging policy": "logging_value", "random": "random"}
    text = ", ".join(f"{name} {mean_of(chosen, key).mean:.3f}" for name, key in lines.items())
    title = f"{user} user, log by {logging}, clicks per page; {text}"
    table = ResultTable(metrics, title, subject="model, cure")
    for name, part in parts.items():
        values = {key: [row[key] for row in part] for key in _COLUMNS}
        table.add(name, values, [row["seed"] for row in part])
    return table


def frontier_table(rows: Sequence[Row]) -> PlainTable:
    """Return what growing pessimism removes of the gap and leaves of the lift, by prior."""
    table = PlainTable(
        "Growing pessimism, means over users, logs and seeds, clicks per page", "model, prior, λ",
        ["promised", "deployed", "gap", "mean |gap|", "lift", "never shown"],
        "λ: pages are scored by the model at the quantile Φ(-λ) of every pair.",
    )  # fmt: skip
    for model in distinct(rows, "model"):
        for cure in distinct(where(rows, model=model), "cure"):
            part = where(rows, model=model, cure=cure)
            numbers = [mean_of(part, key).mean for key in ("promised", "deployed", "gap")]
            size = float(np.mean([abs(row["gap"]) for row in part]))
            table.add(f"{model}, {cure}", [
                *(f"{number:.3f}" for number in (*numbers, size)),
                f"{mean_of(part, 'lift').mean:+.3f}", f"{mean_of(part, 'never_shown').mean:.1%}",
            ])  # fmt: skip
    return table


def safe_table(rows: Sequence[Row], cured: Sequence[Row]) -> PlainTable:
    """Return the policies without a click model beside those chosen inside models."""
    loggings = distinct(rows, "logging")
    table = PlainTable(
        "Policies learned from the log without a click model, and those of models: mean lift over "
        "users, models and seeds, clicks per page", "policy",
        [*(f"log by {logging}" for logging in loggings), "all", "least", "documents shown"],
        "least: the least lift of any setting and seed. documents shown: the share of all "
        "documents that are shown at least once.",
    )  # fmt: skip
    for source in (rows, cured):
        for name in distinct(source, "cure"):
            part = where(source, cure=name)
            means = [mean_of(where(part, logging=one), "lift").mean for one in loggings]
            label = name if source is rows else f"Max-Reward, cure: {name}"
            table.add(label, [
                *(f"{mean:+.3f}" for mean in means), f"{mean_of(part, 'lift').mean:+.3f}",
                f"{min(row['lift'] for row in part):+.3f}",
                f"{mean_of(part, 'coverage').mean:.1%}",
            ])  # fmt: skip
    return table
