"""Whether a model predicts clicks by rank well: the sign of one that is wrong about examination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...clickmodels import ClickModel
from ...common import checks
from ...common.typing import Floats
from ...data import ClickLog
from ..metrics.perplexity import predictions
from .sign import SignReport, percent

PAGES = 100_000  # of a longer log so many are drawn
MOST_MISPLACED = 0.05  # of all clicks
MOST_SCALED = 3.0  # times what chance alone gives
_LEAST_VARIANCE = 5.0  # a cell with less is not nearly normal, and left out of the statistic


@dataclass(frozen=True)
class RankCalibration(SignReport):
    """Observed and predicted clicks by rank, and by rank and the rank of the last click above it.

    Attributes
    ----------
    shown, observed, predicted : (K,)
        How many documents were shown, clicked, and by the model's conditional probabilities
        expected to be clicked, at each rank.
    observed_after, predicted_after : (K, K)
        The same by the rank of the last click above, [rank, r'], r' = 0 where there is none (as in
        UBM).
    scaled, scaled_after : float
        Σ (observed - predicted)² / variance over ranks, or cells, divided by their number: near 1
        for a model that is right, and growing with the log for one that is wrong.
    misplaced, misplaced_after : float
        The share of clicks that are missing where they were predicted, or there where they were
        not, beyond what chance explains: Σ √max((observed - predicted)² - variance, 0) / Σ
        observed. It does not grow with the log.
    pages : float
        How many impressions were looked at.
    """

    sign: ClassVar[str] = "calibration by rank"
    shown: Floats
    observed: Floats
    predicted: Floats
    observed_after: Floats
    predicted_after: Floats
    scaled: float
    scaled_after: float
    misplaced: float
    misplaced_after: float
    pages: float

    @property
    def warning(self) -> str | None:
        """Speaks where more than 5% of clicks are misplaced, by rank or after clicks."""
        by_rank = self.misplaced > MOST_MISPLACED and self.scaled > MOST_SCALED
        after = self.misplaced_after > MOST_MISPLACED and self.scaled_after > MOST_SCALED
        if not (by_rank or after):
            return None
        share, what = self.misplaced, "by rank"
        if not by_rank or self.misplaced_after > self.misplaced:
            share, what = self.misplaced_after, "by rank and last click"
        return (
            f"The model puts {percent(share)} of the clicks in the wrong place {what}: it is wrong "
            "about how users read a page, and so about the relevance of documents that were shown "
            "low. Fit another kind of model, and do not extrapolate from this one."
        )


def rank_calibration(
    model: ClickModel, log: ClickLog, pages: int | None = PAGES, seed: int = 0
) -> RankCalibration:
    """Return how well ``model`` predicts clicks by rank on ``log``.

    Parameters
    ----------
    model : ClickModel
        With conditional click probabilities, P(C_k | clicks above).
    log : ClickLog
        Preferably one that the model was not fitted to: models with a parameter for each rank fit
        the clicks by rank of their own log, right or wrong.
    pages : int or None
        At most so many rows of the log, drawn by ``seed``; None = all.
    """
    if pages is not None and checks.positive_integer(pages, "pages") < len(log):
        rng = np.random.default_rng(checks.positive_integer(seed, "seed", 0))
        log = log[np.sort(rng.choice(len(log), pages, replace=False))]
    slots = log.slots
    size = slots * slots
    counts = log.counts
    tables = np.zeros((4, size))  # shown, observed, predicted, variance
    for rows, probs in predictions(model, log):
        clicks = log.clicks[rows]
        last = np.maximum.accumulate(clicks * np.arange(1, slots + 1), axis=1)
        above = np.pad(last, ((0, 0), (1, 0)))[:, :-1]
        cell = (np.arange(slots) * slots + above).reshape(-1)
        weight = np.where(log.ranking[rows] >= 0, counts[rows, None], 0.0)
        values = (np.ones(probs.shape), clicks.astype(np.float64), probs, probs * (1.0 - probs))
        for table, value in zip(tables, values, strict=True):
            table += np.bincount(cell, (weight * value).reshape(-1), size)
    cells = tables.reshape(4, slots, slots)
    ranks = cells.sum(axis=2)
    scaled, misplaced = _compare(ranks)
    scaled_after, misplaced_after = _compare(cells)
    return RankCalibration(
        ranks[0], ranks[1], ranks[2], cells[1], cells[2], scaled, scaled_after, misplaced,
        misplaced_after, log.impressions,
    )  # fmt: skip


def _compare(tables: Floats) -> tuple[float, float]:
    """Return the scaled statistic and the share misplaced of (4, …) tables.

    NaN for a statistic without any cell, and for the share where nothing was clicked.
    """
    _, observed, predicted, variance = tables
    squares = (observed - predicted) ** 2
    some = variance >= _LEAST_VARIANCE
    scaled = float((squares[some] / variance[some]).mean()) if some.any() else float("nan")
    total = float(observed.sum())
    beyond = float(np.sqrt(np.maximum(squares - variance, 0.0)).sum())
    return scaled, beyond / total if total > 0 else float("nan")
