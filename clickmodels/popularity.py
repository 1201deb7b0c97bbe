"""Models that only rank, by a popularity score per query-document pair."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Floats
from ..data import ClickLog, World
from .base import RANK, ClickModel
from .registry import register
from .saving import constructor_arguments
from .tablefit.counting import check_log, count_by_pair, count_by_rank, rank_rate


class PopularityModel(ClickModel):
    """A score for each query-document pair: it ranks, and cannot predict clicks.

    Parameters
    ----------
    scores : (Q, N)
        Memory is 8 bytes per pair, shown or not.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({RANK})
    deterministic: ClassVar[frozenset[str]] = frozenset({"table"})

    def __init__(self, scores: ArrayLike) -> None:
        self.scores = checks.finite(scores, "scores", 2).copy()
        if self.scores.size == 0:
            raise ValueError(f"scores is empty, shape {self.scores.shape}")
        self.scores.flags.writeable = False

    def state(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return constructor_arguments(self)

    def relevance(self) -> Floats:
        """Return the scores, (Q, N)."""
        return self.scores


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
