"""The ledger of the study of pages with a block: made rows that hold, fail, and depend."""

from __future__ import annotations

import pytest

from clickgym.studies.federated.abandonment_cells import DIFFERENCE, GOOD, KINDS, OTHERS
from clickgym.studies.federated.correlation_cells import COLUMNS, EVERY, MIDDLE, PAPER
from clickgym.studies.federated.drawn_pages import INTENTS
from clickgym.studies.federated.federated_ledger import federated_ledger
from clickgym.studies.federated.federated_rows import PooledRows

USERS = ("FCM", "VCM")
TYPES = ("news", "images", "video", "location")


def row(part, user, vertical, value, spread=0.001, seed=0, **more):
    fields = dict.fromkeys(("intent", "sessions", "metric", "against", "column"), "")
    bounds = {"low": value - spread, "high": value + spread}
    return {"part": part, "user": user, "vertical": vertical, "seed": seed, "value": value,
            **bounds, **fields, **more}  # fmt: skip


def rows_of(correlation, spread=0.001):
    """Return rows of differences; ``correlation(metric, user, vertical, intent, column)``."""
    rows = []
    for user in USERS:
        for vertical in TYPES:
            for intent in INTENTS:
                for column in COLUMNS:
                    where = user, vertical, intent, column
                    value = {name: correlation(name, *where) for name in PAPER}
                    pairs = {(a, b): value[a] - value[b] for a in PAPER for b in PAPER if a < b}
                    pairs[MIDDLE] = value["uFCM"] + value["uUBM"] - 2.0 * value["uVCM"]
                    rows += [
                        row("difference", user, vertical, one, spread, intent=intent,
                            sessions=EVERY, metric=first, against=second, column=column)
                        for (first, second), one in pairs.items()
                    ]  # fmt: skip
    return rows


def claim(rows, words):
    (found,) = [one for one in federated_ledger(PooledRows(rows)) if words in one.statement]
    return found


def published(name, user, vertical, intent, column):
    """Return correlations as the paper reports them, for every user and intent."""
    if vertical == "news":
        return 0.5 if name == "DCG" else 0.61 if name in ("uFCM", "uVCM") else 0.60
    if vertical == "location":
        best = "uDCM" if column == "UCTR" else "DCG"
        return 0.7 if name == best else 0.6 if name in ("DCG", "uDCM", "EBU") else 0.5
    return {"uFCM": 0.8, "uVCM": 0.66, "uUBM": 0.65}.get(name, 0.5)


NUMBERED = ("News: uUBM", "News: all metrics but DCG", "superior to the others in UCTR",
            "superior to the others in RR", "Images: uFCM has a higher correlation",
            "Images: uFCM has the highest correlation with UCTR",
            "Video: uFCM has the highest correlation with RR", "Images: uVCM is second",
            "Video: uVCM is close to uUBM", "Location: DCG has the highest",
            "Location: uDCM has the highest")  # fmt: skip


def test_every_published_correlation_would_hold():
    rows = rows_of(published)
    for words in NUMBERED:
        assert claim(rows, words).verdict == "holds", words


def test_the_opposite_does_not_hold():
    rows = rows_of(lambda *where: -published(*where))
    for words in NUMBERED[1:]:  # differences are as small
        assert claim(rows, words).verdict == "does not hold", words


def test_what_is_within_the_noise_is_undecided():
    rows = rows_of(published, spread=1.0)
    for words in NUMBERED:
        assert claim(rows, words).verdict == "undecided", words


@pytest.mark.parametrize(("place", "reason"), [(0, "the user"), (2, "the queries")])
def test_what_turns_the_verdict_is_told(place, reason):
    turned = (USERS[1], None, INTENTS[1])[place]

    def correlation(name, *where):
        value = published(name, *where)
        return -value if where[place] == turned else value

    found = claim(rows_of(correlation), "Images: uFCM has the highest correlation with UCTR")
    assert found.verdict == f"depends on {reason}"


def test_a_metric_of_the_users_own_model_holds_by_construction():
    (finding,) = claim(rows_of(published), "Images: uFCM has a higher correlation").findings
    parts = dict(one.split(", ", 1) for one in finding.numbers.split("; ")[::2])
    assert "holds by construction" in parts["FCM user"]
    assert "by construction" not in parts["VCM user"]


def abandonment(good, others):
    return [
        row("abandonment", user, "location", {GOOD: good, OTHERS: others}.get(kind, 0.1),
            intent=intent, metric=DIFFERENCE, column=kind)
        for user in USERS for intent in INTENTS for kind in KINDS
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("others", "expected"), [(0.1, "holds"), (-0.1, "does not hold"), (0.0, "undecided")]
)
def test_blindness_shows_in_those_whom_the_block_did_not_satisfy(others, expected):
    rows = abandonment(0.2, others)
    assert claim(rows, "banner blindness").verdict == expected
    assert claim(rows, "abandonment is higher").verdict == "holds"


@pytest.mark.parametrize(("own", "expected"), [(0.2, "holds"), (0.9, "does not hold")])
def test_attention_of_vcm_is_compared_with_that_of_fcm(own, expected):
    rows = []
    for user in USERS:
        for vertical in ("images", "video"):
            for seed in range(3):
                for name, value in (("FCM", 0.8), ("VCM", own)):
                    rows += [
                        row("attention", user, vertical, value + 0.01 * seed * (name == "FCM"),
                            seed=seed, metric=name, column=str(place))
                        for place in range(2)
                    ]  # fmt: skip
                rows += [
                    row("shown", user, vertical, 0.5, seed=seed, column=str(place))
                    for place in range(2)
                ]
    assert claim(rows, "which makes it UBM-like").verdict == expected


def test_nothing_is_decided_without_rows():
    for one in federated_ledger(PooledRows(abandonment(0.2, 0.1))):
        if "bandonment is higher" not in one.statement and "blindness" not in one.statement:
            assert one.verdict == "undecided", one.statement
