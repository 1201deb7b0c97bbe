"""The numbers that a training step moves, side by side in one vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ....common.typing import Integers
from ..drift import BETAS, EPSILON, Drift
from ..embeddings import LazyEmbedding, PairEncoder
from ..network import Network

Floats = NDArray[np.float32]
_CATCH_UP_ROWS = 4096  # whose numbers fit the cache
_NONE: Floats = np.empty(0, dtype=np.float32)


@dataclass(frozen=True)
class Weights:
    """Some parameters and the place for their gradient, views of one shape."""

    values: Floats
    gradient: Floats

    def __getitem__(self, part: Any) -> Weights:
        return Weights(self.values[part], self.gradient[part])

    def reshape(self, shape: tuple[int, ...]) -> Weights:
        """Return the same numbers in another shape."""
        return Weights(self.values.reshape(shape), self.gradient.reshape(shape))


class Parameters:
    """The dense parameters of a network and the embeddings of a batch, moved together by Adam.

    The parameters of ``network`` become views of the beginning of one vector. During a step, the
    embeddings of the batch, at most ``pages`` of ``slots``, stand behind them, with their moments;
    afterwards they go back to the tables of ``LazyEmbedding``. One Adam over the one vector is a
    few long operations of NumPy instead of a dozen for each parameter. Other embeddings catch up
    with the steps they missed when they are gathered, or all together by ``catch_up``.
    """

    def __init__(self, network: Network, pages: int, slots: int) -> None:
        dense = dict(network.named_parameters())
        embeddings = [m for m in network.modules() if isinstance(m, LazyEmbedding)]
        self._dense = sum(parameter.numel() for parameter in dense.values())
        encoders = [module for module in network.modules() if isinstance(module, PairEncoder)]
        room = sum(
            pages * (one.query.weight.shape[1] + slots * one.document.weight.shape[1])
            for one in encoders
        )
        vectors = np.zeros((5, self._dense + room), dtype=np.float32)
        self._moved, self._gradient, self._spare = vectors[:3], vectors[3], vectors[4]
        self._tables = {
            embedding: tuple(
                table.numpy() for table in (embedding.weight, embedding.mean, embedding.square)
            )
            for embedding in embeddings
        }
        self._last = {embedding: embedding.last.numpy() for embedding in embeddings}
        self._weights: dict[Tensor, Weights] = {}
        start = 0
        for parameter in dense.values():
            place = slice(start, start + parameter.numel())
            weights = Weights(vectors[0, place], vectors[3, place]).reshape(parameter.shape)
            weights.values[...] = parameter.detach().numpy()
            parameter.data = torch.from_numpy(weights.values)
            self._weights[parameter] = weights
            start = place.stop
        self._drift = Drift()
        self._used = self._dense
        self._gathered: list[tuple[LazyEmbedding, Integers, slice]] = []

    def weights(self, parameter: Tensor) -> Weights:
        """Return a dense parameter of the network."""
        return self._weights[parameter]

    def gather(self, embedding: LazyEmbedding, rows: Integers, record: bool) -> Weights:
        """Return the embeddings of distinct ``rows`` (d,), (d, width), to be moved by ``step``.

        Without ``record`` they have no gradient, no step moves them, and they are as the last
        ``catch_up`` left them.
        """
        tables = self._tables[embedding]
        if not record:
            return Weights(tables[0].take(rows, axis=0), _NONE)
        width = tables[0].shape[1]
        place = slice(self._used, self._used + len(rows) * width)
        moved = self._moved[:, place].reshape(3, -1, width)
        for part, table in zip(moved, tables, strict=True):
            table.take(rows, 0, part, "clip")
        spare = self._spare[place].reshape(-1, width)
        _bring_up(moved, self._drift.since(self._last[embedding][rows]), spare)
        self._gathered.append((embedding, rows, place))
        self._used = place.stop
        return Weights(moved[0], self._gradient[place].reshape(-1, width))

    def catch_up(self) -> None:
        """Bring all embeddings to the present step."""
        for embedding, tables in self._tables.items():
            last = self._last[embedding]
            stale = np.flatnonzero((last > 0) & (last < self._drift.steps))
            for start in range(0, len(stale), _CATCH_UP_ROWS):
                rows = stale[start : start + _CATCH_UP_ROWS]
                moved = np.stack([table[rows] for table in tables])
                _bring_up(moved, self._drift.since(last[rows]), np.empty_like(moved[0]))
                for part, table in zip(moved, tables, strict=True):
                    table[rows] = part
            last[stale] = self._drift.steps

    def step(self, learning_rate: float, clip: float) -> None:
        """Take a step of Adam down the gradients, scaled together to the norm ``clip``."""
        values, mean, square = self._moved[:, : self._used]
        gradient, spare = self._gradient[: self._used], self._spare[: self._used]
        norm = math.sqrt(float(gradient @ gradient))
        if not math.isfinite(norm):
            raise FloatingPointError("a gradient became infinite while fitting")
        if norm > clip:
            gradient *= clip / norm
        size, epsilon = self._drift.take_step(learning_rate)
        mean *= BETAS[0]
        mean += np.multiply(gradient, 1.0 - BETAS[0], out=spare)
        square *= BETAS[1]
        gradient *= gradient
        square += np.multiply(gradient, 1.0 - BETAS[1], out=spare)
        np.sqrt(square, out=spare)
        spare += epsilon
        np.divide(mean, spare, out=spare)
        spare *= size
        values -= spare
        for embedding, rows, place in self._gathered:
            for vector, table in zip(self._moved, self._tables[embedding], strict=True):
                table[rows] = vector[place].reshape(len(rows), -1)
            self._last[embedding][rows] = self._drift.steps
        self._gathered.clear()
        self._used = self._dense


def _bring_up(moved: Floats, since: Floats, spare: Floats) -> None:
    """Bring weights, means and squares (3, d, width) to the present, given ``Drift.since``."""
    values, mean, square = moved
    gone, of_mean, of_square = since
    np.sqrt(square, out=spare)
    spare += EPSILON
    np.divide(mean, spare, out=spare)
    spare *= gone
    values -= spare
    mean *= of_mean
    square *= of_square
