"""The ledger of the recommendation paper: its claims, and what splits of ratings say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...evaluation.recommendation.system_scores import NDCG
from ..claims import DEPENDS, FAILS, HOLDS, NOT_THERE, UNDECIDED, Claim, Finding
from ..engine.rows import Row, distinct, where
from .recommendation_claims import CLAIMS, FORMS, Check

SPLIT, TRAINING, FORM = "the split", "training items", "the form of nDCG"
RULES = (
    "Every number is asked of each split of the ratings, with items of the training part left out "
    "or in, and of each form of nDCG where it is about nDCG; [low, high] is its 95% bootstrap "
    "interval over users. Numbers and bounds are means over splits. \"Each\" stands for the least "
    "of several, \"some\" for the greatest; the bound by which one of several decides alone is "
    "corrected for their number. With training items out, and with them in, a finding holds when "
    "the interval lies above the threshold, does not hold when it lies below, and depends on the "
    "form of nDCG where another form is decided the other way; where the interval contains the "
    "threshold it depends on the split if splits lie on both sides, and is undecided otherwise. "
    "It depends on training items where it is decided one way and not the same the other way. "
    "A claim holds when all its findings hold, and does not hold when one does not. Numbers are "
    "those of the usual nDCG; other forms are counted."
)
Condition = tuple[bool, str]  # whether training items may be shown, and the form of nDCG


class Found(NamedTuple):
    """A number with its bounds, means over splits; and the number of each split."""

    value: float
    low: float
    high: float
    by_split: tuple[float, ...]
    labels: tuple[str, ...]

    def side(self, threshold: float) -> int:
        """Return 1 where the interval lies above the threshold, -1 below, 0 where it is in it."""
        return int(self.low > threshold) - int(self.high < threshold)


def recommendation_ledger(rows: Sequence[Row]) -> list[Claim]:
    """Return the paper's claims with their findings on rows of the study."""
    asked = where(rows, kind="claim")
    return [
        Claim(
            claim.statement, claim.section,
            tuple(_find(test, where(asked, rate=key)) for key, test in claim.tests.items()),
        )
        for claim in CLAIMS
    ]  # fmt: skip


def _find(test: Check, rows: Sequence[Row]) -> Finding:
    text = test.text.format(metric=NDCG)
    found: dict[Condition, Found] = {}
    for inside in distinct(rows, "training_items"):
        for form in FORMS:
            chosen = where(rows, training_items=inside, metric=form)
            if chosen:
                found[inside, form] = _pool(chosen)
    if not found or any(np.isnan(one[:3]).any() for one in found.values()):
        return Finding(text, UNDECIDED, NOT_THERE)
    return Finding(text, judge_conditions(found, test.threshold), _describe(found, test))


def _pool(rows: Sequence[Row]) -> Found:
    """Return the means over splits; NaN where one has no number.

    The mean of the splits' bounds is as wide as if splits shared all their noise: never too narrow.
    """
    names = ("value", "low", "high")
    table = np.array([[row[name] for name in names] for row in rows], dtype=float)
    labels = tuple(dict.fromkeys(row["system"] for row in rows if row["system"]))
    value, low, high = (float(mean) for mean in table.mean(axis=0))
    return Found(value, low, high, tuple(table[:, 0]), labels)


def judge_conditions(found: Mapping[Condition, Found], threshold: float) -> str:
    """Return the verdict over training items out and in and all forms of nDCG."""
    verdicts = {judge_side(found, inside, threshold) for inside, _ in found}
    if len(verdicts) == 1:
        return verdicts.pop()
    depending = sorted(one.removeprefix(DEPENDS) for one in verdicts if one.startswith(DEPENDS))
    decided = {HOLDS, FAILS} & verdicts
    reasons = [TRAINING, *depending] if decided else depending
    return DEPENDS + " and ".join(reasons) if reasons else UNDECIDED


def judge_side(found: Mapping[Condition, Found], inside: bool, threshold: float) -> str:
    """Return the verdict with training items out, or in."""
    sides = {form: one.side(threshold) for (where_, form), one in found.items() if where_ == inside}
    if {1, -1} <= set(sides.values()):
        return DEPENDS + FORM
    usual = found[inside, NDCG]
    if sides[NDCG]:
        return HOLDS if sides[NDCG] > 0 else FAILS
    if min(usual.by_split) <= threshold < max(usual.by_split):
        return DEPENDS + SPLIT
    return UNDECIDED


def _describe(found: Mapping[Condition, Found], test: Check) -> str:
    parts = []
    for (inside, form), one in found.items():
        if form != NDCG:
            continue
        above = sum(value > test.threshold for value in one.by_split)
        label = f" ({'; '.join(one.labels)})" if one.labels else ""
        text = (
            f"training items {'in' if inside else 'out'}, "
            f"{judge_side(found, inside, test.threshold)}: {_number(one.value)} "
            f"[{_number(one.low)}, {_number(one.high)}], {above} of {len(one.by_split)} splits"
        )
        text += _describe_forms(found, inside, test.threshold)
        parts.append(text + label)
    return "; ".join(parts)


def _describe_forms(found: Mapping[Condition, Found], inside: bool, threshold: float) -> str:
    """Return what other forms of nDCG say, "" where a test is not about nDCG."""
    others = {form: one for (side, form), one in found.items() if side == inside and form != NDCG}
    if not others:
        return ""
    values = [one.value for one in others.values()]
    text = f", other forms {_number(min(values))} to {_number(max(values))}"
    for word, side in (("above", 1), ("below", -1)):
        names = [
            form.removeprefix(f"{NDCG}, ") for form, one in others.items()
            if one.side(threshold) == side
        ]  # fmt: skip
        if names:
            every = len(names) == len(others)
            text += f", {'all' if every else ' and '.join(names)} {word}"
    return text


def _number(value: float) -> str:
    digits = 2 if abs(value) >= 0.1 else 4 if abs(value) >= 0.001 else 5
    return f"{value:+.{digits}f}"
