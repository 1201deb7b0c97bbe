"""The distinct pages of a log, query after query, and how often each was shown."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...common import checks
from ...common.grouping import fold_rows
from ...common.typing import Booleans, Floats, Integers
from ...data import ClickLog, World


@dataclass(frozen=True)
class LoggedPages:
    """The distinct pages of a log, sorted by query.

    Attributes
    ----------
    queries : (q,)
        The queries of the log, ascending.
    place : (m,)
        Which of ``queries`` each page answers, ascending.
    ranking : (m, K)
    counts : (m,)
        How many impressions showed each page; more than 0.
    candidates : (q, N) bool
    """

    queries: Integers
    place: Integers
    ranking: Integers
    counts: Floats
    candidates: Booleans

    @staticmethod
    def from_log(log: ClickLog, world: World) -> LoggedPages:
        """Fold the log's pages; a page that no ranking policy could show is an error.

        Costs a sort of one 64-bit word per row (see ``common.grouping``).
        """
        log.check_world(world)
        if not log.impressions > 0:
            raise ValueError("log has no impressions to estimate a policy from")
        _check_possible(log, world)
        rows, counts = fold_rows([log.query[:, None], log.ranking], log.weight)
        rows, counts = rows[counts > 0], counts[counts > 0]
        order = np.argsort(log.query[rows], kind="stable")
        rows, counts = rows[order], counts[order]
        queries, place = np.unique(log.query[rows].astype(np.int64), return_inverse=True)
        ranking = log.ranking[rows].astype(np.int64)
        return LoggedPages(queries, place, ranking, counts, world.candidates[queries])

    @property
    def slots(self) -> int:
        """Number of slots K."""
        return self.ranking.shape[1]

    @property
    def impressions(self) -> Floats:
        """How many impressions each query has, (q,)."""
        total = np.bincount(self.place, self.counts, len(self.queries))
        return total.astype(np.float64)  # of no pages they are integers

    @property
    def most_frequent(self) -> Floats:
        """How many impressions the most frequent page of each query has, (q,)."""
        most = np.zeros(len(self.queries))
        np.maximum.at(most, self.place, self.counts)
        return most

    @property
    def lengths(self) -> Integers:
        """How many documents each page shows, (m,)."""
        return (self.ranking >= 0).sum(axis=1)

    def split(self, share: float, seed: int) -> tuple[LoggedPages, LoggedPages]:
        """Leave out a random ``share`` of the impressions; return the rest and those left out.

        Impressions of the same page are dealt out one by one; where counts are not whole numbers
        a page goes to one side with all it counts.
        """
        rng = np.random.default_rng(seed)
        whole = np.rint(self.counts).astype(np.int64)
        if np.array_equal(whole, self.counts):
            left_out = rng.binomial(whole, share).astype(np.float64)
        else:
            left_out = np.where(rng.random(len(whole)) < share, self.counts, 0.0)
        return self._with_counts(self.counts - left_out), self._with_counts(left_out)

    def _with_counts(self, counts: Floats) -> LoggedPages:
        """Return the pages that are left with these ``counts`` (m,); queries keep their places."""
        some = counts > 0
        return replace(
            self, place=self.place[some], ranking=self.ranking[some], counts=counts[some]
        )

    def of_queries(self, chosen: Integers, width: int | None = None) -> LoggedPages:
        """Return the pages of the queries at the places ``chosen``, ascending.

        With ``width`` only the first so many documents are kept: the others are no candidates.
        """
        number = np.full(len(self.queries), -1)
        number[chosen] = np.arange(len(chosen))
        place = number[self.place]
        some = place >= 0
        return LoggedPages(
            self.queries[chosen], place[some], self.ranking[some], self.counts[some],
            self.candidates[chosen, :width],
        )  # fmt: skip


def _check_possible(log: ClickLog, world: World) -> None:
    """Raise where a page shows a document twice or one that is no candidate of its query."""
    repeats = checks.find_repeats(log.ranking)
    if repeats.any():
        row = int(repeats.argmax())
        raise ValueError(
            f"row {row} of the log shows a document twice: {log.ranking[row].tolist()}; leave "
            "such rows out"
        )
    shown = log.ranking >= 0
    wrong = shown & ~world.candidates[log.query[:, None], log.ranking]
    if wrong.any():
        row, slot = np.argwhere(wrong)[0]
        raise ValueError(
            f"row {row} of the log shows document {log.ranking[row, slot]}, which is no candidate "
            f"of query {log.query[row]} in this world"
        )
