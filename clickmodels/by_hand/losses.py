"""Minus the log-likelihood of slots from log-probabilities, with its gradient."""

from __future__ import annotations

import numpy as np

from .pages import Batch
from .parameters import Floats

_CERTAIN = np.float32(-1e-7)


def log_sigmoid(logits: Floats) -> Floats:
    """Return log σ(x), of any shape."""
    result: Floats = np.abs(logits)
    np.negative(result, out=result)
    np.log1p(np.exp(result, out=result), out=result)
    return np.minimum(logits, 0.0) - result


def complement(log_probability: Floats) -> Floats:
    """Return 1 - exp(x), of any shape, exact for small x too."""
    result: Floats = np.expm1(log_probability)
    return np.negative(result, out=result)


def click_loss(log_click: Floats, batch: Batch) -> Floats:
    """Return minus the log-likelihood of pages, (n,), from log P(click) of each slot, (K, n)."""
    log_click = np.minimum(log_click, _CERTAIN)
    found = np.where(batch.clicks, log_click, np.log(complement(log_click)))
    found *= batch.shown
    losses: Floats = found.sum(axis=0)
    return np.negative(losses, out=losses)


def click_gradient(log_click: Floats, batch: Batch) -> Floats:
    """Return the gradient (K, n) of the batch's mean ``click_loss`` by ``log_click``."""
    clamped = np.minimum(log_click, _CERTAIN)
    skip = complement(clamped)
    gradient = np.where(batch.clicks, np.float32(-1.0), (1.0 - skip) / skip)
    gradient *= batch.shown
    gradient *= log_click <= _CERTAIN
    gradient *= batch.weight
    return gradient
