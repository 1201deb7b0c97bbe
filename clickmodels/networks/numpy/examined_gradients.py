"""Gradients of the networks with P(click) = attractiveness × examination."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from ..network import CellNetwork, ExaminedNetwork, Network
from ..prefix_networks import ARMNCNetwork, ARMNetwork, CACMMinusNetwork
from .batches import Batch
from .layers import Output, PairScores, click_gradient, click_loss, complement, log_sigmoid
from .numpy_trainer import gradients_of
from .parameters import Floats, Parameters
from .recurrent import ClickTree, Recurrent


class Examination(Protocol):
    """The logits of examination, in which these networks differ."""

    def __init__(self, parameters: Parameters, network: Any) -> None: ...

    def forward(self, batch: Batch) -> Floats:
        """Return the logits of all slots, (K, n)."""

    def backward(self, gradient: Floats) -> None:
        """Write the parameters' gradients, given that of the last logits, (K, n)."""


class ExaminedGradients:
    """Attractiveness from embeddings, times an examination from the clicks."""

    def __init__(
        self, parameters: Parameters, network: ExaminedNetwork, examination: type[Examination]
    ) -> None:
        self._scores = PairScores(parameters, network.attractiveness)
        self._examination = examination(parameters, network)

    def forward(self, batch: Batch, record: bool) -> Floats:
        """Return minus the log-likelihood of each page, (n,)."""
        self._batch = batch
        self._attractive = log_sigmoid(self._scores.forward(batch, record))
        self._examined = log_sigmoid(self._examination.forward(batch))
        return click_loss(self._attractive + self._examined, batch)

    def backward(self) -> None:
        """Write the gradients of the mean loss."""
        gradient = click_gradient(self._attractive + self._examined, self._batch)
        self._scores.backward(gradient * complement(self._attractive))
        self._examination.backward(gradient * complement(self._examined))


Class = TypeVar("Class", bound=type[Examination])


def examination_of(network: type[Network]) -> Callable[[Class], Class]:
    """Register the examination of a network: a class decorator, see ``gradients_of``."""

    def decorate(examination: Class) -> Class:
        gradients_of(network)(partial(ExaminedGradients, examination=examination))
        return examination

    return decorate


@examination_of(CellNetwork)
class CellTable:
    """A logit for each cell: for each rank (PBM), or each rank and rank of the latest click."""

    def __init__(self, parameters: Parameters, network: CellNetwork) -> None:
        self._weights = parameters.weights(network.examination)

    def forward(self, batch: Batch) -> Floats:
        """Return the logit of each slot's cell, (K, n)."""
        self._cells = batch.cells
        logits: Floats = self._weights.values.take(batch.cells)
        return logits

    def backward(self, gradient: Floats) -> None:
        """Sum the slots' gradients for each cell."""
        size, shape = self._weights.values.size, self._weights.values.shape
        sums = np.bincount(self._cells.ravel(), gradient.ravel(), size)
        self._weights.gradient[...] = sums.reshape(shape)


@examination_of(ARMNetwork)
@examination_of(ARMNCNetwork)
class ClickWeights:
    """w_0 plus the weights of the clicks above, and in ARM-NC that of the click itself."""

    def __init__(self, parameters: Parameters, network: ARMNetwork | ARMNCNetwork) -> None:
        self._weights = parameters.weights(network.weights)

    def forward(self, batch: Batch) -> Floats:
        """Return the logits, (K, n)."""
        slots, pages = batch.clicks.shape
        terms = len(self._weights.values)
        self._active = np.ones((terms, pages), dtype=np.float32)
        self._active[1:] = batch.clicks[: terms - 1]
        sums = np.cumsum(self._active * self._weights.values[:, None], axis=0)
        return sums[terms - slots :]

    def backward(self, gradient: Floats) -> None:
        """Sum for each weight over the slots that it is added to."""
        below = np.zeros_like(self._active)
        below[len(below) - len(gradient) :] = gradient
        below = np.cumsum(below[::-1], axis=0)[::-1]
        below *= self._active
        below.sum(axis=1, out=self._weights.gradient)


@examination_of(CACMMinusNetwork)
class PrefixGRU:
    """A GRU over positions and previous clicks, run once for all pages with the same clicks."""

    def __init__(self, parameters: Parameters, network: CACMMinusNetwork) -> None:
        weights, clicks = parameters.weights, network.gru
        self._position, self._click = weights(clicks.position.weight), weights(clicks.click.weight)
        self._recurrent = Recurrent(parameters, clicks.gru)
        width = self._position.values.shape[1]
        inputs, self._bias = self._recurrent.input_weights, self._recurrent.input_bias
        self._by_position, self._by_click = inputs[:, :width], inputs[:, width:]
        self._out = Output(parameters, clicks.out)

    def forward(self, batch: Batch) -> Floats:
        """Return the logits of the clicks above each slot, (K, n)."""
        self._cells, slots = batch.distinct_cells, len(batch.clicks)
        self._order = order = ClickTree(self._cells.rows, slots)
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
        """Sum the slots' gradients for each prefix, and go back through the GRU."""
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
