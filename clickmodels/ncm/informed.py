"""The neural click model of documents that its log hardly ever showed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from ...common.typing import Floats
from ..networks.support import Support, agreeing, own_weight
from ..uncertainty.posterior import Uncertainty

if TYPE_CHECKING:
    from .model import NCM

_RARE = 0.02  # the share of well shown documents beyond which attractiveness is not distinguished
_LEAST = 1e-3
_MOST = 0.99
_COMMON = 10.0  # well shown documents of a query that are as many as all others together


def inform(model: NCM, support: Support) -> NCM:
    """Return the model with typical documents in place of those that the log never showed.

    A document without impressions gets the embedding that documents of its attractiveness have on
    average, and a ``scale`` that brings P(click) in the first slot to what the table says; with
    impressions, a mean of this and its own, by ``own_weight``.
    """
    attractive = support.tables["attractiveness"]
    own_rows = model.document_rows is None
    if own_rows:
        weight = by_row = own_weight(support.shown)
        known = attractive
    else:  # of an item for all queries
        rows = np.broadcast_to(np.asarray(model.document_rows), model.shape)
        size = len(model.document_embedding)
        shown: Floats = np.bincount(rows.ravel(), support.shown.ravel(), size).astype(np.float64)
        counted = np.bincount(rows.ravel(), minlength=size)
        known = np.bincount(rows.ravel(), attractive.ravel(), size) / np.maximum(counted, 1)
        by_row = own_weight(shown)
        weight = by_row[rows]
    table = model.document_embedding
    typical = _typical(table, known, by_row, per_query=own_rows)
    embedding = by_row[..., None] * table + (1.0 - by_row[..., None]) * typical
    blended = type(model)(**{**model.state(), "document_embedding": embedding})
    wanted = agreeing(attractive, model.relevance(), weight)
    logs = [np.log(np.clip(chance, 1e-9, _MOST)) for chance in (blended.relevance(), wanted)]
    informed = blended.with_relevance(np.exp(weight * logs[0] + (1.0 - weight) * logs[1]))
    trials = support.strengths["attractiveness"].astype(np.float64)
    strength = _same_spread(attractive, trials, informed.relevance())
    informed.uncertainty = Uncertainty({"attractiveness": strength.astype(np.float32)})
    informed.second = support.model
    return informed


def _same_spread(mean: Floats, strength: Floats, other: Floats) -> Floats:
    """Return strengths with which the ``other`` means have the relative spread of the first."""
    mean, other = (np.clip(values, _LEAST, 1.0 - _LEAST) for values in (mean, other))
    odds = (mean / (1.0 - mean)) * (1.0 - other) / other
    return np.maximum(odds * (strength + 1.0) - 1.0, _LEAST)


def _typical(
    embedding: NDArray[np.float32], attractive: Floats, weight: Floats, per_query: bool
) -> Floats:
    """Return the embeddings that are typical of the attractiveness (...), (..., F).

    A parabola in its logit, and what the documents of a query have in common beyond that.
    """
    logits = logit(np.clip(attractive, _LEAST, 1.0 - _LEAST))
    known = weight > 0.0
    if not known.any():
        return embedding.astype(np.float64)
    x = np.clip(logits, *np.quantile(logits[known], [_RARE, 1.0 - _RARE]))
    design = np.stack([np.ones_like(x), x, x**2], axis=-1)
    root = np.sqrt(weight[known])[:, None]
    found = np.linalg.lstsq(design[known] * root, embedding[known] * root, rcond=None)[0]
    typical: Floats = design @ found
    if per_query:
        rest = (weight[..., None] * (embedding - typical)).sum(axis=1)
        typical = typical + (rest / (weight.sum(axis=1)[:, None] + _COMMON))[:, None]
    return typical
