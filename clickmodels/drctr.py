"""The click-through rate by query, document and rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Floats, Integers
from ..data import ClickLog, World
from .reading.independent import IndependentModel, WithWorldSize
from .registry import register
from .tablefit.counting import (
    Counts,
    check_counts,
    check_log,
    check_smoothing,
    count_by_pair_and_rank,
    rank_rate,
    rate,
    smoothed_rate,
)


@register("drCTR")
class DRCTR(WithWorldSize, IndependentModel):
    """Click-through rate by query-document pair and rank (equation 3 of the robustness paper).

    Assumptions: clicks depend on query, document and rank, on nothing else on the page, and what
    a document does at one rank tells nothing about another.

    The rate is ``(c + smoothing) / (n + smoothing / prior)`` with c clicks and n impressions of
    the pair at the rank and the rank's click-through rate rCTR as ``prior``: a pair that was never
    shown at a rank has exactly the prior there. A rank that was never shown at all has the global
    rate as prior.

    ``relevance`` is equation 3 as printed, and not smoothed, because the paper smooths "when
    predicting clicks": the sum over the ranks at which the pair was shown of ``c / n / rCTR``.
    It grows with the number of those ranks, and is 0 for a pair that was never shown. The
    released code smooths here as well, so that a rank without impressions adds 1;
    ``smooth_relevance`` does this. A rank without any click adds nothing either way.

    Parameters
    ----------
    pairs : (P,) integers
        The pairs that were shown: ``query * n_docs + document``, rising.
    clicks, impressions : (P, K)
        How often each of them was clicked and shown at each rank.
    n_queries, n_docs : int
        The world's.
    smoothing : float
        The α of the paper's prior; 0 for none.
    smooth_relevance : bool

    Notes
    -----
    Memory is 24 bytes for each of P × K counts and 12 for each of Q × N pairs, shown or not.
    """

    pair_tables = frozenset({"clicks", "impressions"})

    def __init__(
        self,
        pairs: ArrayLike,
        clicks: ArrayLike,
        impressions: ArrayLike,
        n_queries: int,
        n_docs: int,
        smoothing: float = 1.0,
        smooth_relevance: bool = False,
    ) -> None:
        super().__init__(n_queries, n_docs)
        self.clicks, self.impressions = check_counts(clicks, impressions)
        self.pairs = _check_pairs(pairs, self.shape, len(self.clicks))
        self.smoothing = check_smoothing(smoothing)
        self.smooth_relevance = bool(smooth_relevance)
        by_rank = Counts(self.clicks.sum(axis=0), self.impressions.sum(axis=0))
        self.prior = rank_rate(by_rank)
        self.prior.flags.writeable = False
        self._rates = smoothed_rate(self.clicks, self.impressions, self.prior, self.smoothing)
        # Rows of rates, one a shown pair, then the prior, then zeros for empty slots. As in
        # ``Table``, document -1 points at the column that closes the row above.
        n_pairs, slots = self._rates.shape
        self._flat = np.concatenate([self._rates, [self.prior], np.zeros((1, slots))]).reshape(-1)
        rows = np.full((n_queries, n_docs + 1), n_pairs, dtype=np.int32)
        rows[:, -1] = n_pairs + 1
        rows[np.divmod(self.pairs, n_docs)] = np.arange(n_pairs)
        self._rows = rows.reshape(-1)
        self._relevance = self._scores()
        self._relevance.flags.writeable = False

    @classmethod
    def fit(
        cls,
        log: ClickLog,
        world: World,
        seed: int = 0,
        smoothing: float = 1.0,
        smooth_relevance: bool = False,
    ) -> DRCTR:
        """Count the log; nothing is random. Time grows with n K + Q N."""
        check_log(log, world)
        counts = count_by_pair_and_rank(log, world)
        return cls(*counts, world.n_queries, world.n_docs, smoothing, smooth_relevance)

    def for_documents(self, classes: Integers) -> DRCTR:
        """Return the model in which documents (Q, N) have the rates of their class.

        The impressions of a class are shared out evenly among its documents; their clicks are
        such that no smoothing gives the class's rates, which were smoothed. A class that was
        never shown leaves its documents never shown.
        """
        flat = classes.reshape(-1)
        row = np.full(self.shape[1], -1)
        row[self.pairs] = np.arange(len(self.pairs))
        documents = np.bincount(flat, minlength=self.shape[1])[self.pairs]
        shown = self.impressions / np.maximum(documents, 1)[:, None]
        pairs = np.flatnonzero(row[flat] >= 0)
        rows = row[flat[pairs]]
        clicks, impressions = (self._rates * shown)[rows], shown[rows]
        n_queries, n_docs = classes.shape
        return DRCTR(pairs, clicks, impressions, n_queries, n_docs, 0.0, self.smooth_relevance)

    @property
    def max_slots(self) -> int:
        """The number of slots of the log."""
        return self.clicks.shape[1]

    def relevance(self) -> Floats:
        """Return the sums over ranks of equation 3, (Q, N)."""
        return self._relevance

    def _scores(self) -> Floats:
        clicked = self.prior > 0
        weight = np.where(clicked, 1.0 / np.where(clicked, self.prior, 1.0), 0.0)
        rates = self._rates if self.smooth_relevance else rate(self.clicks, self.impressions)
        never_shown = float(clicked.sum()) if self.smooth_relevance else 0.0
        scores = np.full(self.shape, never_shown)
        scores.reshape(-1)[self.pairs] = rates @ weight
        return scores

    def _probs(self, query: Integers, document: Integers, rank: Integers) -> Floats:
        row = self._rows.take(query * (self.shape[1] + 1) + document, mode="wrap")
        return self._flat.take(np.multiply(row, self.max_slots, dtype=np.int64) + rank)


def _check_pairs(pairs: ArrayLike, shape: tuple[int, int], n_pairs: int) -> Integers:
    array = checks.integers(pairs, "pairs", 1).astype(np.int64)
    checks.same_shape(array, (n_pairs,), "pairs", "clicks")
    if array[0] < 0 or array[-1] >= shape[0] * shape[1] or (np.diff(array) <= 0).any():
        raise ValueError(f"pairs must rise within 0..{shape[0] * shape[1] - 1}")
    array.flags.writeable = False
    return array
