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
from ..embeddings import LazyEmbedding
from ..network import Network

Floats = NDArray[np.float32]
_BETAS, _EPS = (0.9, 0.999), 1e-8


@dataclass(frozen=True)
class Weights:
    """Some parameters and the place for their gradient, views of one shape."""

    values: Floats
    gradient: Floats

    def __getitem__(self, part: Any) -> Weights:
        return Weights(self.values[part], self.gradient[part])


class Parameters:
    """The dense parameters of a network and the embeddings of a batch, moved together by Adam.

    The parameters of ``network`` become views of the beginning of one vector. During a step, the
    embeddings of the batch, at most ``rows``, stand behind them, with their moments; afterwards
    they go back to the tables of ``LazyEmbedding``. One Adam over the one vector is a few long
    operations of NumPy instead of a dozen for each parameter.
    """

    def __init__(self, network: Network, rows: int) -> None:
        dense = dict(network.named_parameters())
        embeddings = [m for m in network.modules() if isinstance(m, LazyEmbedding)]
        self._width = embeddings[0].weight.shape[1]
        self._dense = sum(parameter.numel() for parameter in dense.values())
        vectors = np.zeros((5, self._dense + rows * self._width), dtype=np.float32)
        self._values, self._mean, self._square, self._gradient, self._spare = vectors
        self._tables = {
            embedding: tuple(
                table.numpy() for table in (embedding.weight, embedding.mean, embedding.square)
            )
            for embedding in embeddings
        }
        self._weights: dict[Tensor, Weights] = {}
        start = 0
        for parameter in dense.values():
            place = slice(start, start + parameter.numel())
            values = self._values[place].reshape(parameter.shape)
            values[...] = parameter.detach().numpy()
            parameter.data = torch.from_numpy(values)
            self._weights[parameter] = Weights(
                values, self._gradient[place].reshape(parameter.shape)
            )
            start = place.stop
        self._steps = 0
        self._used = self._dense
        self._gathered: list[tuple[LazyEmbedding, Integers, slice]] = []

    def weights(self, parameter: Tensor) -> Weights:
        """Return a dense parameter of the network."""
        return self._weights[parameter]

    def look_up(self, embedding: LazyEmbedding, rows: Integers) -> Floats:
        """Return the embeddings of ``rows`` (d,), (d, width), which no step moves."""
        found: Floats = self._tables[embedding][0].take(rows, axis=0)
        return found

    def gather(self, embedding: LazyEmbedding, rows: Integers) -> Weights:
        """Return the embeddings of distinct ``rows`` (d,), (d, width), for the next ``step``."""
        place = slice(self._used, self._used + len(rows) * self._width)
        for vector, table in zip(self._vectors(), self._tables[embedding], strict=True):
            table.take(rows, 0, self._as_rows(vector, place), "clip")
        self._gathered.append((embedding, rows, place))
        self._used = place.stop
        return Weights(self._as_rows(self._values, place), self._as_rows(self._gradient, place))

    def _vectors(self) -> tuple[Floats, Floats, Floats]:
        return self._values, self._mean, self._square

    def _as_rows(self, vector: Floats, place: slice) -> Floats:
        return vector[place].reshape(-1, self._width)

    def step(self, learning_rate: float, clip: float) -> None:
        """Take a step of Adam down the gradients, scaled together to the norm ``clip``."""
        used = slice(0, self._used)
        values, mean, square = (vector[used] for vector in self._vectors())
        gradient, spare = self._gradient[used], self._spare[used]
        norm = math.sqrt(float(gradient @ gradient))
        if not math.isfinite(norm):
            raise FloatingPointError("a gradient became infinite while fitting")
        if norm > clip:
            gradient *= clip / norm
        self._steps += 1
        bias = math.sqrt(1.0 - _BETAS[1] ** self._steps)
        size = learning_rate * bias / (1.0 - _BETAS[0] ** self._steps)
        mean *= _BETAS[0]
        mean += np.multiply(gradient, 1.0 - _BETAS[0], out=spare)
        square *= _BETAS[1]
        gradient *= gradient
        square += np.multiply(gradient, 1.0 - _BETAS[1], out=spare)
        np.sqrt(square, out=spare)
        spare += _EPS * bias
        np.divide(mean, spare, out=spare)
        spare *= size
        values -= spare
        self._put_back()

    def _put_back(self) -> None:
        for embedding, rows, place in self._gathered:
            for vector, table in zip(self._vectors(), self._tables[embedding], strict=True):
                table[rows] = self._as_rows(vector, place)
        self._gathered.clear()
        self._used = self._dense
