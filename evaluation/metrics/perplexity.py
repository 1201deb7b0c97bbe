"""How well a click model predicts clicks: perplexity and log-likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...clickmodels import ClickModel
from ...clickmodels.base import GENERATIVE
from ...data import ClickLog
from .outcomes import CHUNK, TOLERANCE, check_judgeable, losses, warn_impossible, weights


class Perplexity(NamedTuple):
    """Perplexity of each rank and on average; 1 is perfect, 2 is a coin.

    Attributes
    ----------
    per_rank : (K,) float64
        NaN for a rank that no page of the log has.
    mean : float
        Over the ranks that have pages, each counted once.
    """

    per_rank: NDArray[np.float64]
    mean: float


def perplexity(model: ClickModel, log: ClickLog, conditional: bool = True) -> Perplexity:
    """Return the perplexity of ``model`` on ``log``, per rank and on average.

    Parameters
    ----------
    conditional : bool
        Predict each click from the clicks above it, P(C_k | c_1 .. c_{k-1}), as the papers do.
        Otherwise with clicks unseen, P(C_k), for which the model must be generative.

    Notes
    -----
    ``2 ** -mean(c log2 p + (1 - c) log2(1 - p))`` over the pages that have the rank, by weight
    (equation 1 of Deffayet et al. lacks the minus sign). When the model gave probability zero to
    something that happened the perplexity is inf, and an ``ImpossibleOutcome`` warning says how
    often. Costs one call of the model for each chunk of rows; memory does not grow with the log.
    """
    weight = weights(log)
    total = np.zeros(log.slots)
    pages = np.zeros(log.slots)
    for rows, loss in losses(model, log, conditional):
        # No BLAS here: 0 * inf would be NaN, so rows without weight have no loss at all.
        total += (weight[rows, None] * loss).sum(axis=0)
        pages += (weight[rows, None] * (log.ranking[rows] >= 0)).sum(axis=0)
    per_rank, mean = from_totals(total, pages)
    return Perplexity(per_rank, float(mean))


def from_totals(
    total: NDArray[np.float64], pages: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return perplexities of losses in bits summed by rank, (..., K), over ``pages`` (..., K).

    Returns
    -------
    per_rank : (..., K)
    mean : (...)
    """
    some = pages > 0
    if not some.any(axis=-1).all():
        raise ValueError("every page of the log is empty: there is nothing to predict")
    mean_loss = np.divide(total, pages, out=np.full(total.shape, np.nan), where=some)
    with np.errstate(over="ignore"):
        per_rank = np.exp2(mean_loss)
    return per_rank, np.where(some, per_rank, 0.0).sum(axis=-1) / some.sum(axis=-1)


def log_likelihood(model: ClickModel, log: ClickLog) -> float:
    """Return the mean of log P(clicks | query, ranking) over impressions, in nats.

    -inf, with an ``ImpossibleOutcome`` warning, when the model calls a page of the log impossible.
    """
    check_judgeable(model, log, GENERATIVE)
    weight = weights(log)
    total = 0.0
    impossible = 0
    for start in range(0, len(log), CHUNK):
        rows = slice(start, start + CHUNK)
        asked = np.flatnonzero(weight[rows] > 0) + start
        if not len(asked):
            continue
        value = np.asarray(
            model.log_likelihood(log.query[asked], log.ranking[asked], log.clicks[asked])
        )
        wrong = ~(value <= TOLERANCE * log.slots)  # also true of NaN
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"{model.name} gave {value[row]} as the log-likelihood of row {asked[row]}"
            )
        impossible += int(np.isneginf(value).sum())
        total += float((weight[asked] * value).sum())
    warn_impossible(model, impossible, int((weight > 0).sum()), "pages", stacklevel=3)
    return total / log.impressions
