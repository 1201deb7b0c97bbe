"""Popularity by impressions at ranks that are clicked much."""

from __future__ import annotations

from ..data import ClickLog, World
from .counting import check_log, count_by_pair, count_by_rank, rank_rate
from .popularity import PopularityModel
from .registry import register


@register("RankTopObs")
class RankTopObs(PopularityModel):
    """Impressions of a query-document pair, each worth its rank's rCTR (equation 6 of the paper).

    It only ranks, and by where the logging policy showed a document: the document's own clicks
    play no part. The released code calls it Weighted TopObs.
    """

    @classmethod
    def fit(cls, log: ClickLog, world: World, seed: int = 0) -> RankTopObs:
        """Count the log's impressions; nothing is random. Time grows as TopPop's."""
        check_log(log, world)
        by_rank = rank_rate(count_by_rank(log))
        return cls(count_by_pair(log, world, rank_weight=by_rank).impressions)
