"""Where our numbers differ from the released code's, and what speaks to the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...common.typing import Floats
from ..constants import ORACLE

BOUNDS = {"nDCG@3": 0.03}  # of a difference that wants a reason
_BOUND = 0.01  # of perplexities
WORLDS, NOT_DETERMINED = "between worlds", "not determined"


@dataclass(frozen=True)
class Compared:
    """A number of the released code, ours by world (worlds,), and our tables' on the code's log.

    None where there is no such number.
    """

    published: float | None
    values: Floats
    same_log: float | None = None


@dataclass(frozen=True)
class Difference:
    """A number that we differ from, ours by world, and the reason."""

    model: str
    metric: str
    published: float
    values: Floats
    reason: str

    @property
    def range_text(self) -> str:
        """The least and the most of our worlds."""
        return f"{self.values.min():.3f} to {self.values.max():.3f}"


def find_differences(numbers: Mapping[tuple[str, str], Compared]) -> list[Difference]:
    """Return the numbers, by model and metric, that differ by more than their bound.

    Notes
    -----
    The code's numbers come from one world. A difference is one between worlds where, in
    perplexity, the model is as far above the oracle of its world as ours are above theirs, or
    where clickgym's tables give the code's number on the code's own log. Otherwise the reason is
    not determined, and what the log and our worlds say is told.
    """
    found = []
    for (model, metric), one in numbers.items():
        bound = BOUNDS.get(metric, _BOUND)
        if one.published is None or not len(one.values):
            continue
        if abs(one.values.mean() - one.published) > bound:
            oracle = numbers.get((ORACLE, metric)) if model != ORACLE else None
            reason = _find_reason(one.published, one, oracle, metric, bound)
            found.append(Difference(model, metric, one.published, one.values, reason))
    return found


def _find_reason(
    published: float, one: Compared, oracle: Compared | None, metric: str, bound: float
) -> str:
    facts = []
    if metric not in BOUNDS and oracle is not None and oracle.published is not None:
        above = published - oracle.published
        rise = float(np.mean(one.values) - np.mean(oracle.values))
        text = f"the code's is {above:.3f} above its oracle, ours {rise:.3f}"
        if abs(above - rise) <= bound:
            return f"{WORLDS}: {text}"
        facts.append(text)
    if one.same_log is not None:
        text = f"on the code's own log clickgym's tables give {one.same_log:.3f}"
        if abs(one.same_log - published) <= bound:
            return f"{WORLDS}: {text}"
        facts.append(text)
    if one.values.min() <= published <= one.values.max():
        facts.append("the code's lies within the range of our worlds")
    return "; ".join([NOT_DETERMINED, *facts])
