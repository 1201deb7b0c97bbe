"""Gradients of the dynamic Bayesian network."""

from __future__ import annotations

import numpy as np

from ..cascade_networks import DBNNetwork
from .batches import Batch
from .layers import PairScores, complement, log_sigmoid
from .numpy_trainer import gradients_of
from .parameters import Floats, Parameters

_CERTAIN = np.float32(1e-7)


@gradients_of(DBNNetwork)
class DBNGradients:
    """Attractiveness and satisfaction of pairs, and the chance to go on.

    The likelihood of a page has two factors: that of the slots down to the last click, which the
    user has seen, and that of no click below, summed over where the user may have stopped.
    """

    def __init__(self, parameters: Parameters, network: DBNNetwork) -> None:
        self._attractiveness = PairScores(parameters, network.attractiveness)
        self._satisfaction = PairScores(parameters, network.satisfaction)
        self._continuation = parameters.weights(network.continuation)[None]

    def forward(self, batch: Batch, record: bool) -> Floats:
        """Return minus the log-likelihood of each page, (n,)."""
        self._batch = batch
        clicks, slots = batch.clicks, len(batch.clicks)
        logits = self._attractiveness.forward(batch, record)
        self._click = log_sigmoid(logits)
        self._skip = log_sigmoid(-logits) * batch.shown
        self._stay = log_sigmoid(-self._satisfaction.forward(batch, record))
        goes_on = log_sigmoid(self._continuation.values)
        stops = goes_on - self._continuation.values
        ranks = np.arange(1, slots + 1)[:, None]
        self._last = (clicks * ranks).max(axis=0)
        self._above, self._below = ranks < self._last, ranks > self._last
        seen = np.where(clicks, self._click, self._skip * ~self._below)
        seen += self._above * (goes_on + clicks * self._stay)
        # P(the user looks at ranks last + 1 .. k, skips them all, and stops there)
        self._steps = np.maximum(ranks - self._last - 1, 0).astype(np.float32)
        reached = np.cumsum(self._skip * self._below, axis=0)
        reached += self._steps * goes_on
        reached[:-1] += stops
        self._ended = np.exp(reached) * self._below
        self._skipped = self._ended.sum(axis=0) + (self._last == slots)
        self._at_last = ranks == self._last
        stayed = (self._at_last * self._stay).sum(axis=0) + goes_on
        self._onwards = np.where(self._last > 0, np.exp(stayed), np.float32(1.0))
        self._unseen = 1.0 - self._onwards * (1.0 - self._skipped)
        losses: Floats = -seen.sum(axis=0) - np.log(np.maximum(self._unseen, _CERTAIN))
        return losses

    def backward(self) -> None:
        """Write the gradients of the mean loss."""
        clicks, weight = self._batch.clicks, self._batch.weight
        by_unseen = np.where(
            self._unseen >= _CERTAIN, -weight / np.maximum(self._unseen, _CERTAIN), 0.0
        )
        by_stayed = by_unseen * (self._skipped - 1.0) * self._onwards * (self._last > 0)
        by_reached = by_unseen * self._onwards * self._ended
        by_skip = np.cumsum(by_reached[::-1], axis=0)[::-1] * self._below
        by_skip -= weight * ~(clicks | self._below)
        by_stay = self._at_last * by_stayed - weight * (self._above & clicks)
        # d log σ(x) = 1 - σ(x), d log σ(-x) = -σ(x)
        by_logits = -by_skip * complement(self._skip)
        by_logits -= weight * clicks * complement(self._click)
        self._attractiveness.backward(by_logits)
        self._satisfaction.backward(-by_stay * complement(self._stay))
        by_goes_on = by_stayed.sum() + (by_reached * self._steps).sum()
        by_goes_on -= (weight * self._above).sum()
        chance = np.exp(log_sigmoid(self._continuation.values))
        self._continuation.gradient[...] = (
            by_goes_on * (1.0 - chance) - by_reached[:-1].sum() * chance
        )
