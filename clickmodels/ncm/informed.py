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


def inform(model: NCM, support: Support) -> NCM:
    """Return the model with typical documents in place of those that the log never showed.

    A document without impressions gets the embedding that documents of its attractiveness have on
    average, and a ``scale`` that brings P(click) in the first slot to what the table says; with
    impressions, a mean of this and its own, by ``own_weight``.
    """
    attractive = support.tables["attractiveness"]
    if model.document_rows is None:
        shown, known = support.shown, attractive
    else:  # of an item for all queries
        rows = np.broadcast_to(model.document_rows, model.shape)
        size = len(model.document_embedding)
        items = np.bincount(rows.ravel(), support.shown.ravel(), size)
        shown = items[rows]
        counted = np.bincount(rows.ravel(), minlength=size)
        known = np.bincount(rows.ravel(), attractive.ravel(), size) / np.maximum(counted, 1)
    weight = own_weight(shown)
    by_row = weight if model.document_rows is None else own_weight(items)
    embedding = _typical(model.document_embedding, known, by_row)
    state = {**model.state(), "document_embedding": embedding}
    blended = type(model)(**state)
    wanted = agreeing(attractive, model.relevance(), weight)
    ratio = wanted / np.maximum(blended.relevance(), 1e-12)
    informed = type(model)(**state, scale=ratio ** (1.0 - weight))
    strength = _same_spread(attractive, support.strengths["attractiveness"], informed.relevance())
    informed.uncertainty = Uncertainty({"attractiveness": strength.astype(np.float32)})
    return informed


def _same_spread(mean: Floats, strength: Floats, other: Floats) -> Floats:
    """Return strengths with which the ``other`` means have the relative spread of the first."""
    mean, other = (np.clip(values, _LEAST, 1.0 - _LEAST) for values in (mean, other))
    odds = (mean / (1.0 - mean)) * (1.0 - other) / other
    return np.maximum(odds * (strength + 1.0) - 1.0, _LEAST)


def _typical(
    embedding: NDArray[np.float32], attractive: Floats, weight: Floats
) -> NDArray[np.float32]:
    """Return embeddings (..., F) that are typical of the attractiveness (...) without weight."""
    logits = logit(np.clip(attractive, _LEAST, 1.0 - _LEAST)).reshape(-1)
    table, weights = embedding.reshape(-1, embedding.shape[-1]), weight.reshape(-1)
    well = weights > 0.5
    if well.sum() < 3:
        return embedding
    ends = np.quantile(logits[well], [_RARE, 1.0 - _RARE])
    x = np.clip(logits, *ends)
    design = np.stack([np.ones_like(x), x, x**2], axis=1)
    root = np.sqrt(weights[well])[:, None]
    found = np.linalg.lstsq(design[well] * root, table[well] * root, rcond=None)[0]
    result = weights[:, None] * table + (1.0 - weights[:, None]) * (design @ found)
    return result.reshape(embedding.shape).astype(np.float32)
