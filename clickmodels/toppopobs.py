"""Popularity by clicks and impressions."""

from __future__ import annotations

from ..data import ClickLog, World
from .counting import check_log, count_by_pair
from .popularity import PopularityModel
from .registry import register


@register("TopPopObs")
class TopPopObs(PopularityModel):
    """Clicks times impressions of a query-document pair (equation 5 of the robustness paper).

    It only ranks, and leans on what the logging policy showed more than ``TopPop`` does: this is
    its purpose in the paper.
    """

    @classmethod
    def fit(cls, log: ClickLog, world: World, seed: int = 0) -> TopPopObs:
        """Count the log's clicks and impressions; nothing is random. Time grows as TopPop's."""
        check_log(log, world)
        clicks, impressions = count_by_pair(log, world)
        return cls(clicks * impressions)
