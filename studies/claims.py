"""Testing a published finding on rows of results: the rules, one for every kind of statement.

Fits of one seed and training condition share their log, so differences are taken within a seed
and tested over seeds by paired Student-t intervals. Conditions (users, policies) are what was
chosen, not drawn: a statement about an average over them is one value per seed, and one test. A
statement about *each* of them must stand in all (``every_above``); one about *some* of them is its
negation (``some_below``). Rank correlations are over models; their intervals come from resampling
training conditions (``correlated_above``). No verdict is reached without an interval, and nothing
is corrected across findings or claims.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..evaluation import Interval, interval
from ..evaluation.reporting.formats import LedgerLine
from ..evaluation.statistics import make_interval

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
DEPENDS = "depends on "  # begins the verdict of a finding that something turns into its opposite
_OPPOSITE = {HOLDS: FAILS, FAILS: HOLDS, UNDECIDED: UNDECIDED}
NOT_THERE = "not in these results"
LEVEL = 0.05
_RESAMPLES = 10_000


@dataclass(frozen=True)
class Finding:
    """One test: what is tested, its verdict, and the numbers behind it."""

    test: str
    verdict: str
    numbers: str

    def negate(self, test: str) -> Finding:
        """Return the same numbers as a test of the opposite statement."""
        return replace(self, test=test, verdict=_OPPOSITE[self.verdict])

    def with_note(self, note: str) -> Finding:
        """Return the finding with more numbers."""
        return replace(self, numbers=f"{self.numbers}; {note}")


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, its section, and the findings that it stands or falls with.

    ``stands_on`` names the paper's tables or figures, where ``section`` does not.
    """

    statement: str
    section: str
    findings: tuple[Finding, ...]
    stands_on: str = ""

    @property
    def source(self) -> str:
        """Where the paper has it: section, tables and figures."""
        return ", ".join(filter(None, (self.section, self.stands_on)))

    @property
    def verdict(self) -> str:
        """"holds" when all findings do, "does not hold" when one does not, else "undecided".

        Where none fails and some depend on something, it depends on that.
        """
        verdicts = dict.fromkeys(finding.verdict for finding in self.findings)
        if FAILS in verdicts:
            return FAILS
        depending = [one.removeprefix(DEPENDS) for one in verdicts if one.startswith(DEPENDS)]
        if depending:
            reasons = dict.fromkeys(name for one in depending for name in one.split(" and "))
            return DEPENDS + " and ".join(reasons)
        return HOLDS if set(verdicts) == {HOLDS} else UNDECIDED


def every_above(test: str, values: Mapping[str, ArrayLike], threshold: float = 0.0) -> Finding:
    """Test that the mean of each of ``values`` is above ``threshold``.

    Parameters
    ----------
    values : dict of (n,) floats
        By condition (a single one for an average over conditions), one value per seed; empty where
        the results do not have what it is about.

    Notes
    -----
    It holds when all 95% Student-t intervals over seeds lie above the threshold: no correction is
    needed where all must pass. It does not hold when one interval lies below, at a level of 5%
    divided by the number of conditions (Bonferroni), because one suffices. Otherwise, as with one
    seed alone, it is undecided.
    """
    if not values:
        return Finding(test, UNDECIDED, NOT_THERE)
    found = {name: _interval(column, 1.0 - LEVEL) for name, column in values.items()}
    strict = [_interval(column, 1.0 - LEVEL / len(values)) for column in values.values()]
    verdict = UNDECIDED
    if all(one.low > threshold for one in found.values()):
        verdict = HOLDS
    elif any(one.high < threshold for one in strict):
        verdict = FAILS
    return Finding(test, verdict, "; ".join(_describe(name, one) for name, one in found.items()))


def some_below(test: str, values: Mapping[str, ArrayLike], threshold: float) -> Finding:
    """Test that the mean of at least one of ``values`` is below ``threshold``.

    The negation of ``every_above``: it holds when one interval lies below at the corrected level,
    and does not hold when all lie above.
    """
    return every_above(test, values, threshold).negate(test)


def correlated_above(
    test: str, correlations: Mapping[str, Sequence[float]], threshold: float = 0.0
) -> Finding:
    """Test that the mean rank correlation over conditions is above ``threshold``.

    Parameters
    ----------
    correlations : dict of sequences of floats
        By training condition, the correlation under each of its test conditions; empty where
        the results do not have what it is about.

    Notes
    -----
    The 95% percentile bootstrap draws whole training conditions with replacement, because test
    conditions of one log share their fits. It holds when the interval lies above the threshold,
    does not hold when it lies below. With as few as nine training conditions such an interval is
    somewhat too narrow; with fewer than four there is none.
    """
    if not correlations:
        return Finding(test, UNDECIDED, NOT_THERE)
    groups = [np.asarray(group, dtype=np.float64) for group in correlations.values()]
    found = _bootstrap(groups)
    verdict = UNDECIDED
    if found.low > threshold:
        verdict = HOLDS
    elif found.high < threshold:
        verdict = FAILS
    count = sum(map(len, groups))
    many = f" over {count} conditions of {len(groups)} training logs"
    return Finding(test, verdict, _describe("mean rank correlation", found) + many)


def _bootstrap(groups: Sequence[np.ndarray]) -> Interval:
    sums = np.array([group.sum() for group in groups])
    counts = np.array([len(group) for group in groups])
    mean = float(sums.sum() / counts.sum())
    if len(groups) < 4:
        return make_interval(mean, np.nan, np.nan, len(groups))
    drawn = np.random.default_rng(0).integers(len(groups), size=(_RESAMPLES, len(groups)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [LEVEL / 2.0, 1.0 - LEVEL / 2.0])
    return make_interval(mean, float(low), float(high), len(groups))


def _interval(values: ArrayLike, confidence: float) -> Interval:
    """Return the Student-t interval; of values that are all the same infinity, that infinity."""
    array = np.asarray(values, dtype=np.float64)
    if len(array) > 1 and np.isinf(array[0]) and (array == array[0]).all():
        return make_interval(array[0], array[0], array[0], len(array))
    return interval(array, confidence)


def _describe(name: str, found: Interval) -> str:
    bounds = "no interval"
    if np.isfinite(found.low):
        bounds = f"[{found.low:+.3f}, {found.high:+.3f}]"
    return f"{name} {found.mean:+.3f} {bounds}".strip()


def ledger_lines(claims: Sequence[Claim]) -> list[LedgerLine]:
    """Return the lines of a ledger: a claim's own, then one per finding."""
    lines: list[LedgerLine] = []
    for number, claim in enumerate(claims, start=1):
        lines.append((f"{number}. {claim.statement} ({claim.source})", claim.verdict, "", ""))
        lines += [("", found.verdict, found.test, found.numbers) for found in claim.findings]
    return lines
