"""What there is in a log: clicks by rank, its long tail, and how random its pages were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.grouping import fold_rows
from ...common.typing import Floats
from ...data import ClickLog
from .pairs import count_pairs

RARE = 10  # impressions; a document shown less often than this is hardly ever shown


@dataclass(frozen=True)
class LogDescription:
    """Numbers of a log; rows count as many impressions as they stand for.

    Attributes
    ----------
    impressions : float
    queries, documents : int
        How many different queries, and pairs of query and document, were shown.
    clicks_per_page, clicked_pages : float
        The mean number of clicks, and the share of pages with one or more.
    shown, click_rate : (K,)
        By rank, how many documents were shown there, and the share of them that was clicked (NaN
        where none was shown).
    query_shares : (queries,)
        Each query's share of the impressions, most frequent first.
    rare_documents : float
        The share of pairs of query and document that were shown fewer than ``RARE`` times.
    same_page : float
        The chance that two pages of one query are the same, documents and order: 1 is a log
        without any randomness. Queries count by their impressions; NaN where none came twice.
    same_document : (K,)
        By rank, the chance that two pages of one query show the same document there.
    """

    impressions: float
    queries: int
    documents: int
    clicks_per_page: float
    clicked_pages: float
    shown: Floats
    click_rate: Floats
    query_shares: Floats
    rare_documents: float
    same_page: float
    same_document: Floats

    @property
    def effective_queries(self) -> float:
        """How many equally frequent queries would have traffic as concentrated as this."""
        return float(1.0 / (self.query_shares**2).sum())

    def share_of_head(self, part: float) -> float:
        """Return the share of impressions of the most frequent ``part`` of the queries."""
        head = max(round(part * self.queries), 1)
        return float(self.query_shares[:head].sum())


def describe_log(log: ClickLog) -> LogDescription:
    """Return what there is in a log."""
    counts = log.counts
    total = log.impressions
    if not total > 0:
        raise ValueError("the log has no impressions to describe")
    clicks = np.count_nonzero(log.clicks, axis=1)
    shown = counts @ (log.ranking >= 0)
    with np.errstate(invalid="ignore"):
        click_rate = (counts @ log.clicks) / shown
    by_query = np.bincount(log.query, counts)
    shares = np.sort(by_query[by_query > 0])[::-1] / total
    pairs = count_pairs(log).total
    return LogDescription(
        impressions=total,
        queries=len(shares),
        documents=len(pairs),
        clicks_per_page=float(counts @ clicks / total),
        clicked_pages=float(counts @ (clicks > 0) / total),
        shown=shown,
        click_rate=click_rate,
        query_shares=shares,
        rare_documents=float((pairs < RARE).mean()) if len(pairs) else 0.0,
        same_page=_repeat_chance(log.query, log.ranking, counts),
        same_document=np.array([_repeat_in_slot(log, counts, slot) for slot in range(log.slots)]),
    )


def _repeat_in_slot(log: ClickLog, counts: Floats, slot: int) -> float:
    there = log.ranking[:, slot] >= 0
    return _repeat_chance(log.query[there], log.ranking[there, slot][:, None], counts[there])


def _repeat_chance(query: NDArray[Any], what: NDArray[Any], counts: Floats) -> float:
    """Return the chance that two impressions of a query show the same, without bias.

    ``what`` (n, c) is what an impression shows. Queries count by their impressions.
    """
    if not len(query):
        return float("nan")
    first, often = fold_rows([query[:, None], what], counts)
    pairs = np.bincount(query[first], np.maximum(often * (often - 1.0), 0.0))
    total = np.bincount(query[first], often)
    twice = total > 1.0
    if not twice.any():
        return float("nan")
    chance = np.minimum(pairs[twice] / (total[twice] * (total[twice] - 1.0)), 1.0)
    return float(total[twice] @ chance / total[twice].sum())
