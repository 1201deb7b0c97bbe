"""Table 2 of the recommendation paper, and the tables that go beyond it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...common.typing import Floats
from ...evaluation.recommendation.system_scores import NDCG, PRECISION
from ...evaluation.reporting.formats import PlainTable, Shown
from ..engine.rows import Row, distinct, where
from .recommendation_claims import FORMS, SYSTEMS, USERS
from .recommendation_scores import FITTED, FITTED_DISCOUNT

METRICS = (NDCG, PRECISION)
EVERY_METRIC = (NDCG, PRECISION, FITTED_DISCOUNT, FITTED, *list(FORMS)[1:])
_BOLD = "bold"
_RSE = "RSE "


def items_text(inside: bool) -> str:
    """Return in words whether items that a user rated in training may be shown."""
    return f"training items {'in' if inside else 'out'}"


def table_2(rows: Sequence[Row], split: int, inside: bool) -> PlainTable:
    """Return ranks and scores of the systems, and errors of the metrics, as the paper has them."""
    chosen = where(rows, split=split, training_items=inside)
    users = distinct(where(chosen, kind="simulated"), "rate", USERS)
    scores = where(chosen, kind="score")
    systems = distinct(scores, "system", SYSTEMS)
    table = PlainTable(
        f"Table 2: split {split}, {items_text(inside)}", "", [*METRICS, *users],
        "Rank (score), exact. Bold: another rank than by precision; the greatest RSE (residual "
        "standard error) of a metric.",
    )  # fmt: skip
    values = np.array([
        [pick(scores, system=system, metric=name) for name in (*METRICS, *users)]
        for system in systems
    ])  # fmt: skip
    ranks = 1 + (values[None] > values[:, None]).sum(axis=1)
    for system, rank, row in zip(systems, ranks, values, strict=True):
        table.rows[system] = [
            Shown(f"{one} ({value:.3f})", _BOLD if one != rank[1] else "", float(value))
            for one, value in zip(rank, row, strict=True)
        ]
    for metric in METRICS:
        errors = [pick(chosen, kind="error", metric=metric, rate=user) for user in users]
        table.rows[_RSE + metric] = [Shown(""), Shown("")] + [
            Shown(f"{error:.5f}", _BOLD if error == max(errors) else "", error) for error in errors
        ]
    return table


def pick(rows: Sequence[Row], **wanted: object) -> float:
    """Return the value of the one row with these fields; NaN where it is not defined."""
    (row,) = where(rows, **wanted)
    return np.nan if row["value"] is None else float(row["value"])


def pool(rows: Sequence[Row], **wanted: object) -> Floats:
    """Return value, low and high of the rows with these fields, each the mean over splits."""
    found = [[row[name] for name in ("value", "low", "high")] for row in where(rows, **wanted)]
    return np.array(found, dtype=float).mean(axis=0)


def score_table(rows: Sequence[Row], inside: bool) -> PlainTable:
    """Return the scores with intervals, means over splits."""
    chosen = where(rows, kind="score", training_items=inside)
    measures = [name for name in distinct(chosen, "metric", (*METRICS, *USERS))
                if name not in FORMS or name == NDCG]  # fmt: skip
    table = PlainTable(
        f"Scores, {items_text(inside)}", "", measures,
        "Mean over splits [95% bootstrap interval over users]; users are CTRs.",
    )
    for system in distinct(chosen, "system", SYSTEMS):
        part = where(chosen, system=system)
        table.add(system, [_bounded(pool(part, metric=name), 4) for name in measures])
    return table


def forms_table(rows: Sequence[Row], inside: bool) -> PlainTable:
    """Return the scores by each form of nDCG, means over splits."""
    chosen = where(rows, kind="score", training_items=inside)
    table = PlainTable(
        f"Forms of nDCG, {items_text(inside)}", "", list(FORMS),
        "Mean over splits [95% bootstrap interval over users]. nDCG has binary gains, the discount "
        "1 / log2(p + 1) and the user's own best list as ideal; the others change one of these.",
    )
    for system in distinct(chosen, "system", SYSTEMS):
        part = where(chosen, system=system)
        table.add(system, [_bounded(pool(part, metric=name), 4) for name in FORMS])
    return table


_PREDICTION = {
    "error": ("Residual standard errors", 5, "Of the line from a metric (rows) to a CTR."),
    "relative": (
        "Relative errors", 3,
        "Residual standard error over the standard deviation of the systems' CTRs: about 1 where "
        "a metric predicts nothing, and users who click little compare with users who click much.",
    ),
    "tau": ("Kendall's tau", 2, "Between the systems' ranking by a metric and by a CTR."),
}  # fmt: skip


def prediction_table(rows: Sequence[Row], kind: str, inside: bool) -> PlainTable:
    """Return how well metrics predict CTRs: ``kind`` is "error", "relative" or "tau"."""
    title, digits, legend = _PREDICTION[kind]
    chosen = where(rows, kind=kind, training_items=inside)
    users = distinct(chosen, "rate", USERS)
    table = PlainTable(
        f"{title}, {items_text(inside)}", "metric", users,
        f"{legend} Mean over splits [95% bootstrap interval over users]. A fitted metric has the "
        "discount by place, or this and the gain by rating, that fit the user's click "
        "probabilities on the lists of all systems.",
    )
    for metric in distinct(chosen, "metric", EVERY_METRIC):
        part = where(chosen, metric=metric)
        table.add(metric, [_bounded(pool(part, rate=user), digits) for user in users])
    return table


def split_table(rows: Sequence[Row], inside: bool) -> PlainTable:
    """Return the errors of nDCG and precision split by split."""
    chosen = where(rows, kind="error", training_items=inside)
    users = distinct(chosen, "rate", USERS)
    table = PlainTable(f"Residual standard errors by split, {items_text(inside)}", "", users,
                       "Bold: the smaller of both.")  # fmt: skip
    for split in distinct(chosen, "split"):
        part = where(chosen, split=split)
        errors = np.array([
            [pick(part, metric=metric, rate=user) for user in users] for metric in METRICS
        ])  # fmt: skip
        for metric, row in zip(METRICS, errors, strict=True):
            table.rows[f"split {split}, {metric}"] = [
                Shown(f"{error:.5f}", _BOLD if error == best else "", float(error))
                for error, best in zip(row, errors.min(axis=0), strict=True)
            ]
    return table


def residual_table(rows: Sequence[Row], split: int, inside: bool) -> PlainTable:
    """Return each system's CTR minus what precision predicts, and precision minus CTR."""
    chosen = where(rows, split=split, training_items=inside, metric=PRECISION)
    users = distinct(where(chosen, kind="residual"), "rate", USERS)
    table = PlainTable(
        f"Residuals of Figure 1: split {split}, {items_text(inside)}", "", users,
        "CTR minus the line's prediction from precision: below 0 precision promises too much; in "
        "brackets precision minus CTR, without a line.",
    )
    for system in distinct(where(chosen, kind="residual"), "system", SYSTEMS):
        part = where(chosen, system=system)
        table.add(system, [
            f"{pick(part, kind='residual', rate=user):+.4f} "
            f"({pick(part, kind='excess', rate=user):+.4f})"
            for user in users
        ])  # fmt: skip
    return table


def shown_table(rows: Sequence[Row]) -> PlainTable:
    """Return which share of the shown items has no rating, and of the places shows nothing."""
    kinds = {"share unrated": "unrated", "share empty": "places empty"}
    sides = distinct(rows, "training_items")
    headings = [f"{text}, {items_text(inside)}" for text in kinds.values() for inside in sides]
    table = PlainTable("Shown items without a test rating", "", headings, "Means over splits.")
    for system in distinct(where(rows, kind="score"), "system", SYSTEMS):
        table.add(system, [
            f"{pool(rows, kind=kind, system=system, training_items=inside)[0]:.4f}"
            for kind in kinds
            for inside in sides
        ])  # fmt: skip
    return table


def simulated_table(rows: Sequence[Row], split: int, inside: bool) -> PlainTable:
    """Return the CTRs of simulated clicks, with how far they are from the exact ones."""
    chosen = where(rows, split=split, training_items=inside)
    every = [abs(row["value"]) for row in where(rows, kind="z")]
    users = distinct(where(chosen, kind="simulated"), "rate", USERS)
    largest = f"{max(every):.1f} in {len(every)} cells of all splits" if every else "not known"
    table = PlainTable(
        f"CTRs of simulated clicks: split {split}, {items_text(inside)}", "", users,
        "Mean of the repetitions ± its standard error. Distance from the exact CTR in standard "
        f"errors: at most {largest}.",
    )
    for system in distinct(where(chosen, kind="simulated"), "system", SYSTEMS):
        part = where(chosen, kind="simulated", system=system)
        texts = []
        for user in users:
            (row,) = where(part, rate=user)
            error = f" ± {row['high'] - row['value']:.5f}" if row["high"] is not None else ""
            texts.append(f"{row['value']:.4f}{error}")
        table.add(system, texts)
    return table


def odds_table(rows: Sequence[Row], inside: bool) -> PlainTable:
    """Return the errors where a CTR is clicked to non-clicked items, the paper's wording."""
    chosen = where(rows, kind="odds error", training_items=inside)
    users = distinct(chosen, "rate", USERS)
    table = PlainTable(
        f"Residual standard errors, CTR as clicked to non-clicked items, {items_text(inside)}",
        "metric", users, "Mean over splits [95% bootstrap interval over users].",
    )  # fmt: skip
    for metric in METRICS:
        part = where(chosen, metric=metric)
        table.add(metric, [_bounded(pool(part, rate=user), 5) for user in users])
    return table


def _bounded(values: Floats, digits: int) -> str:
    if np.isnan(values[0]):
        return "–"
    value, low, high = (f"{one:.{digits}f}" for one in values)
    return f"{value} [{low}, {high}]"
