"""Counter-examples to a prediction: pairs of models whose order turns round.

Whether something seen in distribution predicts what is wanted out of it is no matter of a
correlation being below some bound. A single pair of models that is significantly in one order by
what was seen, and significantly in the other by what was wanted, shows that it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...common.typing import Floats
from ...evaluation import Interval, interval
from ..claims import FAILS, HOLDS, LEVEL, NOT_THERE, UNDECIDED


@dataclass(frozen=True)
class Comparison:
    """Models under one condition: ``seen`` and ``wanted`` (seeds, models), lower is better."""

    label: str
    models: tuple[str, ...]
    seen: Floats
    wanted: Floats


@dataclass(frozen=True)
class Pair:
    """Two models under a condition, the one better by what was seen first: second minus first.

    ``seen`` and ``wanted`` are (seeds,); reversed where the first is above and the second below 0.
    """

    label: str
    better: str
    worse: str
    seen: Floats
    wanted: Floats

    def is_reversed(self, confidence: float) -> bool:
        """Return whether both intervals lie on opposite sides of 0."""
        seen, wanted = self._intervals(confidence)
        return seen.low > 0.0 and wanted.high < 0.0

    def is_kept(self, confidence: float) -> bool:
        """Return whether both intervals lie on the same side of 0."""
        seen, wanted = self._intervals(confidence)
        return seen.low > 0.0 and wanted.low > 0.0

    def describe(self, confidence: float) -> str:
        """Return by how much the first is ahead by what was seen, and behind by what was wanted."""
        ahead, behind = (
            f"{one.mean:.4f} [{one.low:.4f}, {one.high:.4f}]"
            if np.isfinite(one.low)
            else f"{one.mean:.4f} (no interval)"
            for one in (interval(values, confidence) for values in (self.seen, -self.wanted))
        )
        names = f"{self.better} is ahead of {self.worse}"
        return f"{self.label}: {names} by {ahead}, and behind in ood PPL by {behind}"

    def distance(self) -> float:
        """Return how far the pair is from a reversal: the smaller of the two effects, in errors.

        Greater is nearer to a reversal; below 0 where the order of the means is kept.
        """
        effects = [self.seen, -self.wanted]
        if len(self.seen) < 2:
            return float(min(np.sign(one.mean()) for one in effects))
        return float(min(one.mean() / max(one.std(ddof=1), 1e-12) for one in effects))

    def _intervals(self, confidence: float) -> tuple[Interval, Interval]:
        return interval(self.seen, confidence), interval(self.wanted, confidence)


@dataclass(frozen=True)
class Reversals:
    """All pairs of some comparisons, tested at a level divided by their number (Bonferroni).

    Within a pair nothing is corrected: both of its intervals must lie where they are claimed to.
    """

    pairs: tuple[Pair, ...]

    @property
    def confidence(self) -> float:
        """The level of each interval."""
        return 1.0 - LEVEL / max(len(self.pairs), 1)

    @property
    def found(self) -> list[Pair]:
        """The pairs that are reversed, the clearest first."""
        return sorted(
            (pair for pair in self.pairs if pair.is_reversed(self.confidence)),
            key=Pair.distance, reverse=True,
        )  # fmt: skip

    @property
    def verdict(self) -> str:
        """"holds" by one reversal; "does not hold" where all pairs significantly keep their order.

        That all keep it needs no correction, so it is at 95%.
        """
        if self.found:
            return HOLDS
        if self.pairs and all(pair.is_kept(1.0 - LEVEL) for pair in self.pairs):
            return FAILS
        return UNDECIDED

    def count(self) -> str:
        """Return how many pairs are reversed, with and without the correction."""
        many = len(self.pairs)
        plain = sum(pair.is_reversed(1.0 - LEVEL) for pair in self.pairs)
        return (
            f"{len(self.found)} of {many} pairs reverse at {100 * LEVEL:g}%/{many} "
            f"({plain} at {100 * LEVEL:g}%)"
        )

    def describe(self) -> str:
        """Return how many pairs are reversed, and which; of none, the nearest to it."""
        if not self.pairs:
            return NOT_THERE
        texts = [pair.describe(self.confidence) for pair in self.found]
        if not texts:
            nearest = max(self.pairs, key=Pair.distance)
            texts = [f"nearest to it: {nearest.describe(self.confidence)}"]
        return "; ".join([self.count(), *texts])


def find_reversals(comparisons: Sequence[Comparison]) -> Reversals:
    """Return every pair of models of every comparison."""
    return Reversals(tuple(pair for one in comparisons for pair in _pairs(one)))


def _pairs(comparison: Comparison) -> list[Pair]:
    pairs = []
    for one, other in combinations(range(len(comparison.models)), 2):
        means = comparison.seen.mean(axis=0)
        first, second = (one, other) if means[one] <= means[other] else (other, one)
        differences = []
        for values in (comparison.seen, comparison.wanted):
            with np.errstate(invalid="ignore"):
                difference = values[:, second] - values[:, first]
            differences.append(np.where(np.isnan(difference), 0.0, difference))
        names = comparison.models[first], comparison.models[second]
        pairs.append(Pair(comparison.label, *names, *differences))
    return pairs
