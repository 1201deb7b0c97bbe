"""Examination logits of every slot from the clicks, with their gradients."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..prefix_networks import ClickGRU
from .layers import Output
from .pages import Batch
from .parameters import Floats, Parameters, Weights
from .recurrent import ClickTree, Recurrent


class Examination(Protocol):
    """What the examination hypothesis leaves open."""

    def forward(self, batch: Batch) -> Floats:
        """Return the logits, (K, n)."""

    def backward(self, gradient: Floats) -> None:
        """Write the gradients of the last ``forward``, from that of its logits."""


class CellTable:
    """A logit for every cell, ``weights`` of any shape (PBM, UBM)."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def forward(self, batch: Batch) -> Floats:
        """Return the cells' logits, (K, n)."""
        self._cells = batch.cells
        logits: Floats = self._weights.values.take(batch.cells)
        return logits

    def backward(self, gradient: Floats) -> None:
        """Sum by cell."""
        size, shape = self._weights.values.size, self._weights.values.shape
        sums = np.bincount(self._cells.ravel(), gradient.ravel(), size)
        self._weights.gradient[...] = sums.reshape(shape)


class ClickWeights:
    """w_0 plus the weights of the clicks above, and of the click itself if it has one too (ARM)."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def forward(self, batch: Batch) -> Floats:
        """Return the logits, (K, n)."""
        slots, pages = batch.clicks.shape
        terms = len(self._weights.values)
        self._active = np.ones((terms, pages), dtype=np.float32)
        self._active[1:] = batch.clicks[: terms - 1]
        sums = np.cumsum(self._active * self._weights.values[:, None], axis=0)
        return sums[terms - slots :]

    def backward(self, gradient: Floats) -> None:
        """Sum over the slots that a click is above."""
        below = np.zeros_like(self._active)
        below[len(below) - len(gradient) :] = gradient
        below = np.cumsum(below[::-1], axis=0)[::-1]
        below *= self._active
        below.sum(axis=1, out=self._weights.gradient)


class PrefixGRU:
    """A GRU over positions and previous clicks (CACM⊖), once for all pages with the same clicks."""

    def __init__(self, parameters: Parameters, network: ClickGRU) -> None:
        of, gru = parameters.of, network.gru
        self._position, self._click = of(network.position.weight), of(network.click.weight)
        width = self._position.values.shape[1]
        inputs, _, bias, _ = map(of, gru.all_weights[0])
        self._by_position, self._by_click = inputs[:, :width], inputs[:, width:]
        self._bias = bias
        self._recurrent = Recurrent(parameters, gru)
        self._out = Output(of(network.out.weight), of(network.out.bias))

    def forward(self, batch: Batch) -> Floats:
        """Return the prefixes' logits, (K, n)."""
        self._cells, slots = batch.distinct_cells, len(batch.clicks)
        cells = self._cells.rows
        self._order = order = ClickTree(cells, slots)
        level = np.repeat(np.arange(slots), [part.stop - part.start for part in order.levels])
        self._before = order.clicked.astype(np.int64)  # skipped, clicked
        self._before[0] = 2  # nothing before the first slot
        by_position = self._position.values @ self._by_position.values.T
        by_position += self._bias.values
        by_click = self._click.values @ self._by_click.values.T
        ahead = by_position.take(level, axis=0)
        ahead += by_click.take(self._before, axis=0)
        logits = self._out.forward(self._recurrent.forward(ahead, order))
        return logits.take(self._cells.place).reshape(batch.clicks.shape)

    def backward(self, gradient: Floats) -> None:
        """Sum by prefix, and back through the GRU."""
        sums = np.bincount(self._cells.place, gradient.ravel()).astype(np.float32)
        by_ahead = self._recurrent.backward(self._out.backward(sums))
        by_position = np.add.reduceat(by_ahead, self._order.starts, axis=0)
        by_click = np.equal.outer(np.arange(3), self._before).astype(np.float32) @ by_ahead
        by_position.sum(axis=0, out=self._bias.gradient)
        for table, weights, by_gates in (
            (self._position, self._by_position, by_position),
            (self._click, self._by_click, by_click),
        ):
            np.matmul(by_gates.T, table.values, out=weights.gradient)
            np.matmul(by_gates, weights.values, out=table.gradient)
