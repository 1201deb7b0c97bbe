"""Popularity by clicks."""

from __future__ import annotations

from ..data import ClickLog, World
from .counting import check_log, count_by_pair
from .popularity import PopularityModel
from .registry import register


@register("TopPop")
class TopPop(PopularityModel):
    """Number of clicks of a query-document pair (equation 4 of the robustness paper).

    It only ranks. A document that was never shown has score 0, as one that was never clicked.
    """

    @classmethod
    def fit(cls, log: ClickLog, world: World, seed: int = 0) -> TopPop:
        """Count the log's clicks; nothing is random. Time grows with n K + Q N K."""
        check_log(log, world)
        return cls(count_by_pair(log, world).clicks)
