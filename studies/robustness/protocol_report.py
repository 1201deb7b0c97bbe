"""What rows of the robustness protocol say: tables, Figure 2, and the whole report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation import Metric, ResultTable
from ...evaluation.reporting.formats import ledger_markdown
from ...evaluation.reporting.page import ledger_section
from ..claims import ledger_lines
from ..constants import (
    GRADED_DEPTHS,
    LOGGINGS,
    ORACLE,
    REFERENCE,
    SHIFT_MODELS,
    TEST_POLICIES,
    USERS,
)
from ..curse.curse_pictures import POLICIES, curse_picture, describe_lines
from ..engine.rows import Row, by_seed, describe_seeds, distinct, where
from ..study import Report
from .judging import click_models
from .ledger import RULES, ledger
from .relative import compared_models, relative_table
from .shift_claims import TABLES, is_shifted
from .spider import spider

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHIFT_TEST = "perplexity_reversed"
_SHIFT_FIELDS = {"ind PPL": "perplexity", "nDCG@3": "ndcg_3", "ood PPL": _SHIFT_TEST}
LINES = {"best": "best", "logging policy": "logging_value", "random": "random_value"}


def prediction_table(rows: Sequence[Row], user: str, logging: str) -> ResultTable:
    """Return how well models that one log trained predict clicks and order documents.

    In-distribution perplexity, perplexity on the pages of four other policies, nDCG. The oracle
    is the user itself: shown, not compared. Nor is ARM-NC's perplexity, which reads the click that
    it predicts.
    """
    chosen = where(rows, user=user, logging=logging)
    names = distinct(chosen, "model")
    reference = REFERENCE if REFERENCE in names else None
    fields = {"ind PPL": "perplexity"}
    fields |= {f"PPL, {test} test": f"perplexity_{test}" for test in TEST_POLICIES}
    metrics = [Metric(name, True, exclude=(ORACLE,), brackets=(REFERENCE,)) for name in fields]
    for depth in GRADED_DEPTHS:
        fields[f"nDCG@{depth}"] = f"ndcg_{depth}"
        metrics.append(
            Metric(
                f"nDCG@{depth}",
                False,
                reference=reference,
                daggers=click_models(names),
                exclude=(ORACLE,),
            )
        )
    table = ResultTable(metrics, f"{user} user, log by {logging}: click prediction and relevance")
    return fill_table(table, chosen, fields)


def policy_table(rows: Sequence[Row], user: str, logging: str) -> ResultTable:
    """Return the click-through rates of the models' two policies: clicks / slots of a page.

    ``promised`` by the model itself, otherwise deployed on the user. Models without a policy are
    left out.
    """
    chosen = [
        row
        for row in where(rows, user=user, logging=logging)
        if row["max_reward_deployed"] is not None
    ]
    names = tuple(distinct(chosen, "model"))
    fields: dict[str, str] = {}
    metrics = []
    for key, (label, _) in POLICIES.items():
        fields |= {label: f"{key}_deployed", f"{label}, promised": f"{key}_promised"}
        metrics.append(Metric(label, False, exclude=(ORACLE,)))
        metrics.append(Metric(f"{label}, promised", False, exclude=names, arrow=False))
    title = f"{user} user, log by {logging}: click-through rates"
    if chosen:
        title += f"; {describe_lines(chosen, LINES, 1.0 / chosen[0]['slots'])}"
    rates = [
        row | {key: row[key] / row["slots"] for key in fields.values() if row[key] is not None}
        for row in chosen
    ]
    return fill_table(ResultTable(metrics, title), rates, fields)


def protocol_tables(rows: Sequence[Row]) -> dict[str, list[ResultTable]]:
    """Return the tables of every user: two for every logging policy, without empty ones."""
    return {
        user: [
            table
            for logging in distinct(where(rows, user=user), "logging", LOGGINGS)
            for make in (prediction_table, policy_table)
            for table in [make(rows, user, logging)]
            if table.models
        ]
        for user in distinct(rows, "user", USERS)
    }


def figure_2(rows: Sequence[Row]) -> Figure:
    """Draw the click-through rates of the policies of the models that Figure 1 compares."""
    ordered = [
        row
        for user in distinct(rows, "user", USERS)
        for logging in distinct(rows, "logging", LOGGINGS)
        for model in compared_models(rows)
        for row in where(rows, user=user, logging=logging, model=model)
    ]
    return curse_picture(ordered, rate=True, lines=LINES)


def fill_table(table: ResultTable, rows: Sequence[Row], fields: dict[str, str]) -> ResultTable:
    """Add every model's values of the fields (by metric), one per seed, and return the table."""
    for model in distinct(rows, "model"):
        table.add(model, {})
        for name, field in fields.items():
            values = by_seed(where(rows, model=model), field)
            if values:
                table.add(model, {name: list(values.values())}, list(values))
    return table


def shift_table(rows: Sequence[Row], user: str) -> ResultTable:
    """Return a user's table from rows of the protocol's preset "strong-shift".

    ARM-NC reads the click that it predicts, so its perplexity is not compared; as in the paper it
    stands in brackets in distribution only.
    """
    oracle = f"{user} oracle"
    chosen = [
        row | {"model": oracle} if row["model"] == ORACLE else row
        for row in where(rows, user=user)
    ]
    names = distinct(chosen, "model", (oracle, *SHIFT_MODELS))
    reference = REFERENCE if REFERENCE in names else None
    daggers = click_models(name for name in names if name != oracle)
    metrics = [
        Metric("ind PPL", True, exclude=(oracle,), brackets=(REFERENCE,)),
        Metric("nDCG@3", False, reference=reference, daggers=daggers, exclude=(oracle,)),
        Metric("ood PPL", True, exclude=(oracle, REFERENCE)),
    ]
    number = f"{TABLES[user]}: " if user in TABLES else ""
    table = ResultTable(metrics, f"{number}strong policy shift, {user} user")
    ordered = [row for name in names for row in where(chosen, model=name)]
    return fill_table(table, ordered, _SHIFT_FIELDS)


TITLE = "Robustness of click models to policy shift"
_SPIDER = (
    "log-normalised perplexity (equation 16), near the centre for the best model; background: "
    "user, outer labels: training policy"
)
FIGURES = {  # the files, and what they show
    "figure1.png": f"Figure 1: {_SPIDER}, inner labels: test policy. Where the solid line is "
    "inside the dashed one, a model is more robust than its counterparts.",
    "figure1-ind.png": f"Figure 1, in distribution alone: {_SPIDER}.",
    "figure2.png": "Figure 2: click-through rates of the Top-Down and Max-Reward policies deployed "
    "on the user, and what the models promised.",
}


def write_report(rows: Sequence[Row], folder: str | Path, settings: Mapping[str, Any]) -> Path:
    """Write tables, figures, the ledger and the page that collects them; return the page's path.

    Parameters
    ----------
    rows : sequence of dict
        See ``make_report``.
    folder : path
        For ``tables.md``, ``ledger.md`` and ``report.html``, and unless all rows are of the strong
        shift for ``figure1.png``, ``figure1-ind.png`` and ``figure2.png``; each is replaced as a
        whole.
    settings : dict
        What the page says about how the rows were made.
    """
    return make_report(rows).write(Path(folder), settings)


def make_report(rows: Sequence[Row]) -> Report:
    """Return what the rows say.

    Parameters
    ----------
    rows : sequence of dict
        One per cell: "user", "logging", "model", "seed", "slots" and the numbers of the protocol,
        None where a model cannot have one. The model "oracle" is the user itself. Rows of the
        strong shift ("perplexity_reversed") make tables 3 and 4, the others all the rest.
    """
    _check(rows)
    grid = [row for row in rows if not is_shifted(row)]
    shifted = [row for row in rows if is_shifted(row)]
    report = Report(TITLE, _summary(rows))
    lines = ledger_lines(ledger(rows))
    report.sections["Ledger of claims"] = ledger_section(lines, RULES)
    report.texts["ledger.md"] = ledger_markdown(lines, RULES)
    if grid:
        figures = (spider(grid), spider(grid, out_of_distribution_too=False), figure_2(grid))
        for (name, caption), figure in zip(FIGURES.items(), figures, strict=True):
            report.figures[name] = caption, figure
        report.tables["Normalised perplexity"] = [relative_table(grid)]
    if shifted:
        users = distinct(shifted, "user", USERS)
        report.tables["Strong policy shift"] = [shift_table(shifted, user) for user in users]
    if grid:
        report.tables |= {f"{user} user": part for user, part in protocol_tables(grid).items()}
    return report


def _check(rows: Sequence[Row]) -> None:
    if not rows:
        raise ValueError("there are no rows to report on")
    keys = [tuple(row[name] for name in ("user", "logging", "model", "seed")) for row in rows]
    if len(set(keys)) < len(keys):
        twice = next(key for number, key in enumerate(keys) if key in keys[:number])
        raise ValueError(f"rows has a user, logging policy, model and seed twice: {twice}")


def _summary(rows: Sequence[Row]) -> str:
    users, loggings = distinct(rows, "user", USERS), distinct(rows, "logging", LOGGINGS)
    models = distinct(rows, "model")
    seeds = describe_seeds(distinct(where(rows, model=model), "seed") for model in models)
    return (
        f"{len(rows)} results: users {', '.join(users)}; logs by {', '.join(loggings)}; models "
        f"{', '.join(models)}; {seeds}. {_describe_worlds(rows)}Headings of tables sort them."
    )


def _describe_worlds(rows: Sequence[Row]) -> str:
    """Return how many worlds the intervals are over, and how unequal their queries are."""
    known = {row["world_seed"]: row for row in rows if row.get("head_query") is not None}
    if not known:
        return ""
    head, effective = (
        float(np.mean([row[name] for row in known.values()]))
        for name in ("head_query", "effective_queries")
    )
    seeds = {row["seed"] for row in rows}
    if len(known) == 1:
        worlds = "one world"
    elif len(known) == len(seeds):
        worlds = f"{len(known)} worlds, over which intervals are"
    else:
        worlds = f"{len(known)} worlds for {len(seeds)} seeds, so that intervals are too narrow"
    return (
        f"There {'are' if len(known) > 1 else 'is'} {worlds}: the most frequent query has "
        f"{100 * head:.0f}% of the traffic, so that it is as if {effective:.0f} queries were "
        "equally frequent (1 / Σ p²). "
    )
