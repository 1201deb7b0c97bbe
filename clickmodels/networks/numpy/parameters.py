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
from ..embeddings import BETAS, EPSILON, LazyEmbedding
from ..network import Network

Floats = NDArray[np.float32]
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
        self._moved, self._gradient, self._spare = vectors[:3], vectors[3], vectors[4]
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
            weights = Weights(vectors[0, place], vectors[3, place]).reshape(parameter.shape)
            weights.values[...] = parameter.detach().numpy()
            parameter.data = torch.from_numpy(weights.values)
            self._weights[parameter] = weights
            start = place.stop
        self._steps = 0
        self._used = self._dense
        self._gathered: list[tuple[LazyEmbedding, Integers, slice]] = []

    def weights(self, parameter: Tensor) -> Weights:
        """Return a dense parameter of the network."""
        return self._weights[parameter]

    def gather(self, embedding: LazyEmbedding, rows: Integers, record: bool) -> Weights:
        """Return the embeddings of distinct ``rows`` (d,), (d, width), to be moved by ``step``.

        Without ``record`` they have no gradient, and no step moves them.
        """
        tables = self._tables[embedding]
        if not record:
            return Weights(tables[0].take(rows, axis=0), _NONE)
        place = slice(self._used, self._used + len(rows) * self._width)
        for vector, table in zip(self._moved, tables, strict=True):
            table.take(rows, 0, vector[place].reshape(-1, self._width), "clip")
        self._gathered.append((embedding, rows, place))
        self._used = place.stop
        weights = Weights(self._moved[0, place], self._gradient[place])
        return weights.reshape((-1, self._width))

    def step(self, learning_rate: float, clip: float) -> None:
        """Take a step of Adam down the gradients, scaled together to the norm ``clip``."""
        values, mean, square = self._moved[:, : self._used]
        gradient, spare = self._gradient[: self._used], self._spare[: self._used]
        norm = math.sqrt(float(gradient @ gradient))
        if not math.isfinite(norm):
            raise FloatingPointError("a gradient became infinite while fitting")
        if norm > clip:
            gradient *= clip / norm
        self._steps += 1
        bias = math.sqrt(1.0 - BETAS[1] ** self._steps)
        size = learning_rate * bias / (1.0 - BETAS[0] ** self._steps)
        mean *= BETAS[0]
        mean += np.multiply(gradient, 1.0 - BETAS[0], out=spare)
        square *= BETAS[1]
        gradient *= gradient
        square += np.multiply(gradient, 1.0 - BETAS[1], out=spare)
        np.sqrt(square, out=spare)
        spare += EPSILON * bias
        np.divide(mean, spare, out=spare)
        spare *= size
        values -= spare
        for embedding, rows, place in self._gathered:
            for vector, table in zip(self._moved, self._tables[embedding], strict=True):
                table[rows] = vector[place].reshape(-1, self._width)
        self._gathered.clear()
        self._used = self._dense
