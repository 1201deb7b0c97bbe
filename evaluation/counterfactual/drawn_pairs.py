"""Clicked products, each beside the products that could have been drawn against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...common.progress import progress
from ...common.typing import Booleans, Floats, Integers
from ...data import ClickLog
from ...policies import Policy, Preferences
from ..statistics import Estimate
from .disagreement import (
    Disagreement,
    estimate_difference,
    estimate_disagreement,
    warn_few_accepted,
)
from .scoring import Scores, find_scores

_CHUNK = 1 << 14  # clicks that are compared at once, so that they stay in cache


@dataclass(frozen=True, eq=False, repr=False)
class DrawnPairs:
    """The samples of a pairwise metric on a log, for any number of scoring functions.

    A sample is a click together with a product that is drawn against it. The draws are not made:
    all products that can be drawn are kept with their probabilities, so metrics are expectations.
    ``naive_pairs`` and ``counterfactual_pairs`` make these.

    Attributes
    ----------
    log : ClickLog
    policy : Policy or None
        Who made the log, where the draws depend on it.
    method : str
    counts : (P,)
        How many impressions each distinct clicked page stands for.
    page, query, clicked : (C,)
        Of each click: its page, ascending; its query; the document.
    documents : (G, m)
        Lists of documents that can be drawn; -1 where a list is shorter.
    group : (C,)
        The list of each click.
    chances : (D, m)
        Distributions over the documents of a list.
    draw : (C,)
        The distribution of each click.
    accepted : (C, m) bool
        Which documents of its list are not rejected if they are drawn.
    errors : (D, m) or None
        Standard errors of ``chances`` where they were estimated from drawn pages.
    """

    log: ClickLog
    policy: Policy | None
    method: str
    counts: Floats
    page: Integers
    query: Integers
    clicked: Integers
    documents: Integers
    group: Integers
    chances: Floats
    draw: Integers
    accepted: Booleans
    errors: Floats | None = None

    def __post_init__(self) -> None:
        if not self.counts[self.page] @ self.mass > 0:
            known = "" if self.policy is None else " (is the logging policy deterministic?)"
            raise ValueError(
                f"every sample is rejected: no click has another product to compare with{known}"
            )

    def __repr__(self) -> str:
        return (
            f"DrawnPairs({self.samples:,.0f} clicks, {self.method}, {self.rejected:.1%} of the "
            "mass rejected)"
        )

    @cached_property
    def samples(self) -> float:
        """The number of clicks, by weight."""
        return float(self.counts[self.page].sum())

    @cached_property
    def mass(self) -> Floats:
        """The probability that each click's sample is not rejected, (C,)."""
        parts = [weights.sum(axis=1) for _, weights in self._chunks()]
        return np.concatenate([np.zeros(0), *parts])

    @property
    def rejected(self) -> float:
        """The share of samples that are rejected."""
        return max(1.0 - float(self.counts[self.page] @ self.mass) / self.samples, 0.0)

    def _chunks(self) -> Iterator[tuple[slice, Floats]]:
        """Give some clicks and the accepted mass of each of their products, (c, m), at a time."""
        for start in range(0, len(self.page), _CHUNK):
            part = slice(start, start + _CHUNK)
            weights = self.chances.take(self.draw[part], axis=0)
            weights *= self.accepted[part]
            yield part, weights

    def disagreement(self, scores: Scores) -> Disagreement:
        """Return the share of accepted samples in which the other product scores higher.

        Ties count a half. ``scores``: (Q, N), anything with ``relevance()``, or a policy.
        """
        return self.disagreements([scores])[0]

    def disagreements(self, scores: Sequence[Scores]) -> list[Disagreement]:
        """Return the disagreement of each of several scoring functions.

        Costs one look at every pair for each of them, about 0.05 s per million pairs and
        function; what the pairs are is worked out once, when this object is made.
        """
        tables = [find_scores(one, self.log, self.policy) for one in scores]
        wrong, tied = self._count_wrong(tables)
        accepted = self._by_page(self.mass)
        if self.policy is not None:
            warn_few_accepted(float(self.counts @ accepted), self.samples)
        found = [
            estimate_disagreement(
                self._by_page(row), accepted, self.counts,
                samples=self.samples, impressions=self.log.impressions, method=self.method,
                estimated="" if self.policy is None else self.policy.estimated,
                extra=self._sampling_variance([table], row),
            )
            for table, row in zip(tables, wrong, strict=True)
        ]  # fmt: skip
        for result, ties in zip(found, tied, strict=True):
            result.tied = min(float(ties) / float(self.counts @ accepted), 1.0)
        return found

    def difference(self, one: Scores, other: Scores) -> Estimate:
        """Return the disagreement of ``one`` minus that of ``other``, with its standard error.

        Below zero ``one`` is better. Both are compared on the same pairs, so what both get wrong
        cancels, and the difference is known better than either disagreement. Pages are the units,
        as for each of them; where no page tells the two apart although their scores differ, the
        interval is that of "no other page seen".
        """
        tables = [find_scores(scores, self.log, self.policy) for scores in (one, other)]
        (first, second), _ = self._count_wrong(tables)
        return estimate_difference(
            self._by_page(first - second), self._by_page(self.mass), self.counts,
            impressions=self.log.impressions, method=f"{self.method}, difference",
            estimated="" if self.policy is None else self.policy.estimated,
            extra=self._sampling_variance(tables, first - second),
            same=bool(np.array_equal(tables[0], tables[1])),
        )  # fmt: skip

    def _count_wrong(self, tables: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return each click's mass that disagrees with each table, (T, C), and all ties, (T,)."""
        wrong, tied = np.zeros((len(tables), len(self.page))), np.zeros(len(tables))
        with progress(len(self.page), "pairs") as advance:
            for part, weights in self._chunks():
                counts = self.counts[self.page[part]]
                for number, table in enumerate(tables):
                    outcome = self._compare(table, part)
                    wrong[number, part] = (weights * outcome).sum(axis=1)
                    tied[number] += counts @ (weights * (outcome == 0.5)).sum(axis=1)
                advance(len(weights))
        return wrong, tied

    def preferences(self) -> Preferences:
        """Return the accepted pairs to learn from: clicked documents against drawn ones.

        A pair weighs what its samples count: impressions times the probability of the draw.
        ``policies.fit_linear_pairs`` and ``policies.fit_tree_pairs`` learn rankers from them.
        """
        n_docs = int(max(self.documents.max(), self.clicked.max())) + 1
        keys, weights = [], []
        for part, mass in self._chunks():
            mass *= self.counts[self.page[part], None]
            own = (self.query[part] * n_docs + self.clicked[part]) * n_docs
            key = own[:, None] + self.documents.take(self.group[part], axis=0)
            some = mass > 0
            key, again = np.unique(key[some], return_inverse=True)
            keys.append(key)
            weights.append(np.bincount(again, mass[some], len(key)))
        pairs, again = np.unique(np.concatenate(keys), return_inverse=True)
        query, preferred = np.divmod(pairs // n_docs, n_docs)
        weight = np.bincount(again, np.concatenate(weights), len(pairs)).astype(np.float64)
        return Preferences(query, preferred, pairs % n_docs, weight, self.log.fingerprint)

    def _compare(self, table: Floats, part: slice) -> Floats:
        """Return 1 where the other product scores higher, 1/2 where it scores the same, (c, m)."""
        base = self.query[part] * table.shape[1]
        own = table.reshape(-1).take(base + self.clicked[part])[:, None]
        places = self.documents.take(self.group[part], axis=0) + base[:, None]
        others = table.reshape(-1).take(places, mode="clip")  # -1 is never accepted
        result: Floats = (others > own) + 0.5 * (others == own)
        return result

    def _by_page(self, values: Floats) -> Floats:
        return np.bincount(self.page, values, len(self.counts)).astype(np.float64)

    def _sampling_variance(self, tables: Sequence[Floats], wrong: Floats) -> float:
        """Return the variance of a disagreement that estimated ``chances`` bring.

        Of two tables, that of the difference of their disagreements. ``wrong`` (C,) is the mass
        that disagrees, or its difference.

        Each distribution is taken as counted from drawn pages, apart from the others: a sum of
        factors f by its chances p has the variance Σ p (f - mean f)² / draws, and p / draws is
        errors² / (1 - p). Distributions that clicks share add their factors up before.
        """
        if self.errors is None:
            return 0.0
        counts = self.counts[self.page]
        total = float(counts @ self.mass)
        ratio = float(counts @ wrong) / total
        factors = np.zeros_like(self.chances)
        for start in range(0, len(self.page), _CHUNK):
            part = slice(start, start + _CHUNK)
            compared = self._compare(tables[0], part)
            for other in tables[1:]:
                compared = compared - self._compare(other, part)
            moved = (compared - ratio) * self.accepted[part]
            np.add.at(factors, self.draw[part], moved * (counts[part, None] / total))
        factors -= (self.chances * factors).sum(axis=1, keepdims=True)
        rest = 1.0 - self.chances
        single = np.divide(self.errors**2, rest, out=np.zeros_like(rest), where=rest > 0)
        return float((single * factors**2).sum())
