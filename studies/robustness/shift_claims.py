"""Claims of section 6.1, tested on the experiment that made them: Tables 3 and 4.

Their rows are those of the strong shift: a near-optimal log, tested on the reverse order. The
click models are the five of those tables; causal ARM is not in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...common.typing import Floats
from ..claims import DEPENDS, FAILS, HOLDS, Claim, Finding, every_above
from ..constants import REFERENCE, USERS
from ..engine.rows import Row, distinct
from .conditions import Condition, in_distribution, out_of_distribution, read_complete_seeds
from .reversals import Comparison, find_reversals

NDCG = "ndcg_3"
REVERSED = "reversed"  # the policy that tests
TABLES = {"DBN": "Table 3", "CoCM": "Table 4"}
TABLE_MODELS = ("PBM", "UBM", "DBN", "NCM", "CACM-minus")
BIASED = ("dCTR", REFERENCE)
_FIELD = Condition("", "", REVERSED).field


def is_shifted(row: Row) -> bool:
    """Return whether a row is one of the strong shift."""
    return _FIELD in row


def collapse(shifted: Sequence[Row]) -> Claim:
    """Compare dCTR and ARM-NC with each click model of Tables 3 and 4, by user."""
    users = distinct(shifted, "user", USERS) or list(TABLES)
    findings: list[Finding] = []
    for name in BIASED:
        for metric, field in (("nDCG@3", NDCG), ("ood PPL", _FIELD)):
            test = f"{metric}: {name} − each click model > 0, strong shift"
            findings += _mind_users(
                [
                    every_above(f"{test}, {user} user", _leads(shifted, user, name, field))
                    for user in users
                ]
            )
    return Claim(
        "dCTR and ARM-NC collapse out of distribution in spite of high nDCG", "section 6.1",
        tuple(findings), "Tables 3 and 4",
    )  # fmt: skip


def _mind_users(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings on one thing under each user; those that contradict each other depend."""
    if {HOLDS, FAILS} <= {finding.verdict for finding in findings}:
        return [
            replace(one, verdict=f"{DEPENDS}the user", numbers=f"{one.verdict} here: {one.numbers}")
            for one in findings
        ]
    return list(findings)


def nothing_predicts(shifted: Sequence[Row], grid: Sequence[Row]) -> Claim:
    """Look for pairs of models that are in one order in distribution and in the other outside.

    The tables decide, among their five click models; what Figure 1's grid has is told beside it,
    among the same models.
    """
    tables = [Condition(user, logging, REVERSED) for user, logging in _logs(shifted)]
    return Claim(
        "Neither in-distribution perplexity nor nDCG predicts out-of-distribution perplexity",
        "section 6.1",
        tuple(
            _look_for_reversals(shifted, tables, grid, name, field, sign)
            for name, field, sign in (("ind PPL", "perplexity", 1.0), ("nDCG@3", NDCG, -1.0))
        ),
        "Tables 3 and 4",
    )  # fmt: skip


def _look_for_reversals(
    shifted: Sequence[Row], tables: Sequence[Condition], grid: Sequence[Row],
    name: str, field: str, sign: float,
) -> Finding:  # fmt: skip
    test = f"some pair of click models is significantly better by {name} and worse by ood PPL"
    found = find_reversals(_comparisons(shifted, tables, field, sign))
    finding = Finding(test, found.verdict, found.describe())
    beside = find_reversals(_comparisons(grid, out_of_distribution(grid), field, sign))
    return finding.with_note(f"in Figure 1: {beside.count()}") if beside.pairs else finding


def _comparisons(
    rows: Sequence[Row], conditions: Sequence[Condition], field: str, sign: float
) -> list[Comparison]:
    """Return what was seen and what was wanted of each condition, lower is better in both."""
    comparisons = []
    for one in conditions:
        both = [
            {seed: values[0] for seed, values in zip(*found, strict=True)}
            for found in (
                read_complete_seeds(rows, [one], TABLE_MODELS, field),
                read_complete_seeds(rows, [one], TABLE_MODELS),
            )
        ]
        seeds = [seed for seed in both[0] if seed in both[1]]
        if seeds:
            seen, wanted = (np.stack([part[seed] for seed in seeds]) for part in both)
            tested = "" if one.test == REVERSED else f", {one.logging}, {one.test} test"
            label = f"{one.user} user{tested}"
            comparisons.append(Comparison(label, TABLE_MODELS, sign * seen, wanted))
    return comparisons


def _leads(
    shifted: Sequence[Row], user: str, name: str, field: str
) -> dict[str, Floats]:
    """Return a model's value minus each click model's, (seeds,) each; empty without all of them."""
    conditions = [Condition(*log) for log in _logs(shifted) if log[0] == user]
    _, values = read_complete_seeds(shifted, conditions, (name, *TABLE_MODELS), field)
    if not values.size:
        return {}
    own, others = values[:, 0, 0], values[:, 0, 1:].T
    with np.errstate(invalid="ignore"):
        differences = own - others
    differences[np.isnan(differences)] = 0.0  # two infinite perplexities are alike
    return {f"{model}:": row for model, row in zip(TABLE_MODELS, differences, strict=True)}


def _logs(shifted: Sequence[Row]) -> list[tuple[str, str]]:
    return [(one.user, one.logging) for one in in_distribution(shifted)]
