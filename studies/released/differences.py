"""Where our numbers differ from the released code's, and the reason that our own worlds show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...common.typing import Floats
from ..constants import ORACLE

BOUNDS = {"nDCG@3": 0.03}  # of a difference that wants a reason
_BOUND = 0.01  # of perplexities
NOT_DETERMINED = "not determined"

Key = tuple[str, str]  # model and metric


@dataclass(frozen=True)
class Difference:
    """A number of the released code that ours differ from: the code's, ours by world, and why."""

    model: str
    metric: str
    published: float
    values: Floats
    reason: str

    @property
    def range_text(self) -> str:
        """The least and the most of our worlds."""
        return f"{self.values.min():.3f} to {self.values.max():.3f}"


def find_differences(numbers: Mapping[Key, tuple[float | None, Floats]]) -> list[Difference]:
    """Return the numbers that differ by more than their bound, with reasons.

    Parameters
    ----------
    numbers : dict
        By model and metric, the code's number (None where it has none) and ours, (worlds,).

    Notes
    -----
    The code's numbers come from one world. A difference is one between worlds where the number
    lies within the range of ours, or where the model is as far above the oracle of its own world,
    in perplexity, as ours are above theirs. Any other is not determined.
    """
    found = []
    for (model, metric), (published, values) in numbers.items():
        bound = BOUNDS.get(metric, _BOUND)
        if published is None or not len(values) or abs(values.mean() - published) <= bound:
            continue
        reason = _find_reason(model, metric, published, values, numbers, bound)
        found.append(Difference(model, metric, published, values, reason))
    return found


def _find_reason(
    model: str, metric: str, published: float, values: Floats,
    numbers: Mapping[Key, tuple[float | None, Floats]], bound: float,
) -> str:  # fmt: skip
    if values.min() <= published <= values.max():
        return "between worlds: the code's lies within our range"
    oracle, ours = numbers.get((ORACLE, metric), (None, np.zeros(0)))
    if oracle is not None and model != ORACLE and metric not in BOUNDS and len(ours) == len(values):
        above, rise = published - oracle, float((values - ours).mean())
        texts = f"{above:.3f} above its oracle, ours {rise:.3f}"
        if abs(above - rise) <= bound:
            return f"between worlds: the code's is {texts}"
        return f"{NOT_DETERMINED}; the code's is {texts}"
    return NOT_DETERMINED
