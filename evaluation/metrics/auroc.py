"""How well a click model tells clicks from non-clicks: the area under the ROC curve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...clickmodels import ClickModel
from ...common.typing import Booleans, Floats
from ...data import ClickLog
from .perplexity import predictions


class Auroc(NamedTuple):
    """Area under the ROC curve; NaN where everything or nothing was clicked.

    Attributes
    ----------
    full : float
        Over all slots of all pages together.
    per_rank : (K,) float64
        Over the documents at one rank.
    """

    full: float
    per_rank: Floats


def auroc(model: ClickModel, log: ClickLog, conditional: bool = True) -> Auroc:
    """Return the area under the ROC curve of predicting the clicks in ``log``, by weight.

    Parameters
    ----------
    conditional : bool
        Predict each click from the clicks above it; otherwise with clicks unseen.

    Notes
    -----
    The chance that a random clicked slot got a higher probability than a random slot that was not
    clicked, ties counting half. Costs O(n K log(n K)) time and O(n K) memory.
    """
    probs = np.concatenate([part for _, part in predictions(model, log, conditional)])
    shown = log.ranking >= 0
    weight = np.broadcast_to(log.counts[:, None], probs.shape)
    full = area(probs[shown], log.clicks[shown], weight[shown])
    per_rank = [
        area(probs[page, rank], log.clicks[page, rank], weight[page, rank])
        for rank, page in enumerate(shown.T)
    ]
    return Auroc(full, np.array(per_rank))


def area(scores: Floats, positive: Booleans, weight: Floats) -> float:
    """Return the weighted area under the ROC curve of ``scores`` (n,); NaN for a single class."""
    values, value = np.unique(scores, return_inverse=True)
    above = np.bincount(value, np.where(positive, weight, 0.0), minlength=len(values))
    below = np.bincount(value, np.where(positive, 0.0, weight), minlength=len(values))
    pairs = above.sum() * below.sum()
    if not pairs > 0:
        return float("nan")
    won = above @ (np.cumsum(below) - below / 2.0)
    return float(won / pairs)
