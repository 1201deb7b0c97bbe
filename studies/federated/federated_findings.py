"""How numbers of several users and intents become a verdict.

A claim about a type of block is asked of every true user and of both intents. "By construction"
stands where a metric and the user who decides are one model: it would be odd if it did not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..claims import DEPENDS, FAILS, HOLDS, NOT_THERE, UNDECIDED, Finding
from .drawn_pages import INTENTS
from .federated_rows import Pooled, PooledRows

USER, QUERIES = "the user", "the queries"
BY_CONSTRUCTION = "by construction"
_LEVEL = 0.05
RULES = (
    "Every finding is asked of each true user and of navigational and informational queries: four "
    "conditions. Numbers are means over seeds with 95% intervals by bootstrap over queries (over "
    "users in the A/B experiment), paired where metrics are compared; of several the one with the "
    "lowest lower bound is given. In a condition a finding holds when all its intervals lie above "
    "0, and does not hold when one lies below at a level of 5% divided by their number. Over "
    "conditions it depends on the user or on the queries where these turn \"holds\" into \"does "
    "not hold\". A claim holds when all its findings hold, and does not hold when one does not. "
    "\"By construction\": the true user is the very model that the metric comes from."
)


@dataclass(frozen=True)
class Condition:
    """One true user and one intent, with the numbers that must be above 0, by name."""

    user: str
    intent: str
    numbers: dict[str, Pooled]

    def verdict(self) -> str:
        """Return whether all numbers are above 0."""
        values = list(self.numbers.values())
        if not values or any(np.isnan(one.value) for one in values):
            return NOT_THERE
        if all(one.bounds(_LEVEL)[0] > 0.0 for one in values):
            return HOLDS
        if any(one.bounds(_LEVEL / len(values))[1] < 0.0 for one in values):
            return FAILS
        return UNDECIDED

    def describe(self, own: str) -> str:
        """Return the verdict and the least sure number; ``own`` is the user who is the metric's."""
        verdict = self.verdict()
        if verdict == HOLDS and own == self.user:
            verdict = f"{HOLDS} {BY_CONSTRUCTION}"
        name, one = min(self.numbers.items(), key=lambda item: item[1].bounds()[0])
        low, high = one.bounds()
        above = sum(value > 0.0 for value in one.by_seed)
        seeds = f", {above} of {len(one.by_seed)} seeds" if len(one.by_seed) > 1 else ""
        where = f"{self.user} user, {self.intent}"
        return f"{where}, {verdict}: {one.value:+.3f} [{low:+.3f}, {high:+.3f}] {name}{seeds}"


Ask = Callable[[str, str], dict[str, Pooled]]  # of a user and an intent


def find(found: PooledRows, text: str, ask: Ask, own: str = "") -> Finding:
    """Return the finding that all numbers of all conditions are above 0.

    Parameters
    ----------
    own : the name of the user that is the same model as the metric in question, "" for none.
    """
    conditions = [
        Condition(user, intent, ask(user, intent))
        for user in found.values("user")
        for intent in INTENTS
    ]
    conditions = [one for one in conditions if one.verdict() != NOT_THERE]
    if not conditions:
        return Finding(text, UNDECIDED, NOT_THERE)
    return Finding(text, judge(conditions), "; ".join(one.describe(own) for one in conditions))


def judge(conditions: Sequence[Condition]) -> str:
    """Return the verdict over users and intents."""
    verdicts = {(one.user, one.intent): one.verdict() for one in conditions}
    every = set(verdicts.values())
    if len(every) == 1:
        return every.pop()
    reasons = []
    for reason, fixed in ((USER, 1), (QUERIES, 0)):
        groups: dict[str, set[str]] = {}
        for key, verdict in verdicts.items():
            groups.setdefault(key[fixed], set()).add(verdict)
        if any({HOLDS, FAILS} <= group for group in groups.values()):
            reasons.append(reason)
    if {HOLDS, FAILS} <= every:
        return DEPENDS + " and ".join(reasons or (USER, QUERIES))
    return UNDECIDED
