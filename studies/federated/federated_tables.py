"""Tables 1 to 5 of the paper on federated search, and those that go beyond it."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ...data.world import VERTICALS
from ...evaluation.reporting.formats import PlainTable, Shown
from .abandonment_cells import ARMS, KINDS
from .correlation_cells import (
    BAD_ONLY,
    COLUMNS,
    EVERY,
    METRICS,
    PAPER,
    UCTR,
    UFCM,
    UTILITY,
    UUBM,
    UVCM,
)
from .drawn_pages import INTENTS
from .federated_rows import (
    ABANDONMENT,
    ATTENTION,
    CORRELATION,
    ONLINE,
    PERPLEXITY,
    SESSIONS,
    Pooled,
    PooledRows,
)
from .federated_setting import ALL

LOCATION = VERTICALS[3]
TABLES = dict(zip(VERTICALS, range(2, 6), strict=True))  # the paper's number of each type's table
_BOLD = "bold"
_NAMES = {"anyUBM": "P(any click), UBM", "anyFCM": "P(any click), FCM",
          "anyVCM": "P(any click), VCM"}  # fmt: skip
_LEGEND = (
    "Pearson's correlation over configurations, weighted by sessions; mean over seeds [95% "
    "interval by bootstrap over queries]. Bold: the best of the paper's metrics. Below them other "
    "metrics, what models say of UCTR itself, and what the true user's own probabilities reach: "
    "all that the noise of sessions leaves."
)


def kinds_of(found: PooledRows) -> tuple[list[str], list[str]]:
    """Return the users and the types that there are, types in the paper's order."""
    types = found.values("vertical")
    return found.values("user"), [name for name in VERTICALS if name in types]


def name_intent(intent: str) -> str:
    """Return which queries are meant, in words."""
    return "all queries" if intent == ALL else f"{intent} queries"


def table_1(found: PooledRows) -> PlainTable:
    """Return how many sessions, configurations and users there are, means over seeds."""
    users, types = kinds_of(found)
    counted = ("sessions", "configurations", "users")
    headings = [f"{name}, {part}" for part in ("training", "test") for name in counted]
    table = PlainTable(
        "Table 1: sessions", "", headings, "Means over seeds; training and test users differ."
    )
    for vertical in types:
        for user in users:
            for intent in INTENTS:
                table.add(f"{vertical}, {user} user, {intent}", [
                    f"{found.pool(SESSIONS, user, vertical, intent, '', part, '', name).value:,.0f}"
                    for part in ("training", "test")
                    for name in counted
                ])  # fmt: skip
    return table


def correlation_table(
    found: PooledRows, user: str, vertical: str, intent: str, sessions: str = EVERY
) -> PlainTable:
    """Return Table 2, 3, 4 or 5 for one true user and one kind of queries."""
    part = "" if sessions == EVERY else f", {sessions}"
    table = PlainTable(
        f"Table {TABLES[vertical]}: {vertical}, {user} user, {name_intent(intent)}{part}",
        "metric", COLUMNS, _LEGEND,
    )  # fmt: skip
    values = {
        metric: [
            found.pool(CORRELATION, user, vertical, intent, sessions, metric, "", column)
            for column in COLUMNS
        ]
        for metric in METRICS
    }
    best = np.max([[one.value for one in values[metric]] for metric in PAPER], axis=0)
    for metric in METRICS:
        table.rows[_NAMES.get(metric, metric)] = [
            Shown(say(one), _BOLD if metric in PAPER and one.value == top else "", one.value)
            for one, top in zip(values[metric], best, strict=True)
        ]
    return table


def say(found: Pooled, digits: int = 3, sign: str = "") -> str:
    """Return a number with its interval."""
    if np.isnan(found.value):
        return "–"
    low, high = found.bounds()
    return (
        f"{found.value:{sign}.{digits}f} [{low:{sign}.{digits}f}, {high:{sign}.{digits}f}]"
    )


def lead_table(found: PooledRows, column: str = UCTR) -> PlainTable:
    """Return how far uFCM and uVCM are above uUBM in one online metric."""
    users, types = kinds_of(found)
    pairs = ((UFCM, UUBM), (UVCM, UUBM), (UFCM, UVCM), (UFCM, "DCG"), (UTILITY, UFCM))
    table = PlainTable(
        f"Paired differences of correlations with {column}", "",
        [f"{first} − {second}" for first, second in pairs],
        "Mean over seeds [95% interval by bootstrap over queries, both metrics on the same "
        "resamples].",
    )  # fmt: skip
    for vertical in types:
        for user in users:
            for intent in (*INTENTS, ALL):
                table.add(f"{vertical}, {user} user, {name_intent(intent)}", [
                    say(found.difference(*pair, user, vertical, intent, EVERY, column), 3, "+")
                    for pair in pairs
                ])  # fmt: skip
    return table


def online_table(found: PooledRows) -> PlainTable:
    """Return the online metrics themselves, means over test sessions and seeds."""
    users, types = kinds_of(found)
    table = PlainTable(
        "Online metrics", "", COLUMNS,
        "Means over test sessions; RR of a session without a click is 0.",
    )
    for vertical in types:
        for user in users:
            for intent in INTENTS:
                for sessions in (EVERY, BAD_ONLY):
                    means = [
                        found.pool(ONLINE, user, vertical, intent, sessions, column=column).value
                        for column in COLUMNS
                    ]
                    if not np.isnan(means).any():
                        name = f"{vertical}, {user} user, {intent}"
                        name += "" if sessions == EVERY else f", {sessions}"
                        table.add(name, [f"{mean:.3f}" for mean in means])
    return table


def attention_table(found: PooledRows) -> PlainTable:
    """Return attention by position: the true user's, and what FCM and VCM find."""
    users, types = kinds_of(found)
    positions = sorted({int(row["column"]) for row in found.rows if row["part"] == ATTENTION})
    table = PlainTable(
        "Attention by position of the block", "", [str(one) for one in positions],
        "P(the block is noticed); means over seeds. FCM and VCM are fitted to the training "
        "sessions.",
    )  # fmt: skip
    for vertical in types:
        for user in users:
            for name in ("true user", "FCM", "VCM"):
                label = f"{user} user" if name == "true user" else f"{user} user, fit of {name}"
                values = [
                    found.pool(ATTENTION, user, vertical, metric=name, column=str(one)).value
                    for one in positions
                ]
                table.add(f"{vertical}, {label}", [f"{value:.2f}" for value in values])
    return table


def perplexity_table(found: PooledRows) -> PlainTable:
    """Return the perplexity of the true user and of the fits on the test sessions."""
    users, types = kinds_of(found)
    models = list(dict.fromkeys(
        row["metric"] for row in found.rows if row["part"] == PERPLEXITY
    ))  # fmt: skip
    table = PlainTable(
        "Perplexity on test sessions", "", models, "Means over seeds; parameters by grade."
    )
    for vertical in types:
        for user in users:
            table.add(f"{vertical}, {user} user", [
                f"{found.pool(PERPLEXITY, user, vertical, metric=one).value:.4f}" for one in models
            ])  # fmt: skip
    return table


def abandonment_table(found: PooledRows) -> PlainTable:
    """Return the A/B experiment: abandonment of both arms, split into good and bad."""
    table = PlainTable(
        "A/B experiment: the location block suppressed for some users", "", [*ARMS, "p-value"],
        "Share of sessions without a web click; mean over seeds [95% interval over users]. Good: "
        "the block satisfied the user; the last rate leaves these sessions out. P-values are "
        "two-sided.",
    )  # fmt: skip
    for user in found.values("user"):
        for intent in (*INTENTS, ALL):
            for kind in KINDS:
                shown, suppressed, difference = (
                    found.pool(ABANDONMENT, user, LOCATION, intent, metric=arm, column=kind)
                    for arm in ARMS
                )
                table.add(f"{user} user, {name_intent(intent)}: {kind}", [
                    say(shown), say(suppressed), say(difference, 3, "+"), _p_value(difference),
                ])  # fmt: skip
    return table


def _p_value(one: Pooled) -> str:
    if not one.stderr > 0.0:
        return "–"
    p = 2.0 * float(ndtr(-abs(one.value) / one.stderr))
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
