"""Layers over embeddings of query and document, and the loss of clicks, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from ..embeddings import PairEncoder, PairLogits
from .batches import Batch
from .parameters import Floats, Parameters, Weights

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


class PairLayer:
    """The linear layer W [q; d] + b, ``weights`` (H, E) and ``bias`` (H,).

    As ``PairEncoder.linear``, it works out each query's and each document's part once.
    """

    def __init__(
        self, parameters: Parameters, encoder: PairEncoder, weights: Weights, bias: Weights
    ) -> None:
        self._parameters, self._encoder = parameters, encoder
        width = encoder.query_width
        self._by_query, self._by_document = weights[:, :width], weights[:, width:]
        self._bias = bias

    def forward(self, batch: Batch, record: bool) -> Floats:
        """Return the layer's outputs, (K n, H)."""
        encoder, gather = self._encoder, self._parameters.gather
        self._batch = batch
        self._queries = gather(encoder.query, batch.queries.rows, record)
        self._documents = gather(encoder.document, batch.documents.rows, record)
        by_query = self._queries.values @ self._by_query.values.T
        by_query += self._bias.values
        by_document = self._documents.values @ self._by_document.values.T
        result: Floats = by_document.take(batch.documents.place, axis=0)
        slots = result.reshape(*batch.clicks.shape, -1)
        slots += by_query.take(batch.queries.place, axis=0)
        return result

    def backward(self, gradient: Floats) -> None:
        """Write the gradients of weights, bias and embeddings, given that of the outputs."""
        batch, queries, documents = self._batch, self._queries, self._documents
        slots = gradient.reshape(*batch.clicks.shape, -1)
        by_query = batch.queries.sums(slots.sum(axis=0))
        by_document = batch.documents.sums(gradient)
        by_query.sum(axis=0, out=self._bias.gradient)
        np.matmul(by_query.T, queries.values, out=self._by_query.gradient)
        np.matmul(by_document.T, documents.values, out=self._by_document.gradient)
        np.matmul(by_query, self._by_query.values, out=queries.gradient)
        np.matmul(by_document, self._by_document.values, out=documents.gradient)


class PairScores:
    """The logit of each slot's pair, as ``PairLogits`` has it."""

    def __init__(self, parameters: Parameters, network: PairLogits) -> None:
        weights, layer = parameters.weights, network.layer
        self._layer = PairLayer(
            parameters, network.encoder, weights(layer.weight), weights(layer.bias)
        )
        self._more = [HiddenLayer(parameters, one) for one in network.more]
        self._out = Output(parameters, network.out)

    def forward(self, batch: Batch, record: bool) -> Floats:
        """Return the logits, (K, n)."""
        hidden = self._layer.forward(batch, record)
        self._first = np.maximum(hidden, 0.0, out=hidden)
        for layer in self._more:
            hidden = layer.forward(hidden)
        return self._out.forward(hidden).reshape(batch.clicks.shape)

    def backward(self, gradient: Floats) -> None:
        """Write all gradients, given that of the logits."""
        by_hidden = self._out.backward(gradient.ravel())
        for layer in reversed(self._more):
            by_hidden = layer.backward(by_hidden)
        by_hidden *= np.sign(self._first)  # the ReLU: 0 or 1
        self._layer.backward(by_hidden)


class HiddenLayer:
    """A linear layer and a ReLU."""

    def __init__(self, parameters: Parameters, layer: Any) -> None:
        self._weights = parameters.weights(layer.weight)
        self._bias = parameters.weights(layer.bias)

    def forward(self, inputs: Floats) -> Floats:
        """Return the outputs (m, O) of inputs (m, H)."""
        self._inputs = inputs
        self._outputs: Floats = inputs @ self._weights.values.T
        self._outputs += self._bias.values
        return np.maximum(self._outputs, 0.0, out=self._outputs)

    def backward(self, gradient: Floats) -> Floats:
        """Write the parameters' gradients, and return that of the inputs, (m, H)."""
        gradient *= np.sign(self._outputs)
        np.matmul(gradient.T, self._inputs, out=self._weights.gradient)
        gradient.sum(axis=0, out=self._bias.gradient)
        result: Floats = gradient @ self._weights.values
        return result


class Output:
    """A linear layer to one number."""

    def __init__(self, parameters: Parameters, layer: nn.Linear) -> None:
        self._weights = parameters.weights(layer.weight)[0]
        self._bias = parameters.weights(layer.bias)

    def forward(self, inputs: Floats) -> Floats:
        """Return the numbers (m,) of inputs (m, H)."""
        self.inputs = inputs
        result: Floats = inputs @ self._weights.values
        result += self._bias.values
        return result

    def backward(self, gradient: Floats) -> Floats:
        """Write the parameters' gradients, and return that of the inputs, (m, H)."""
        np.matmul(gradient, self.inputs, out=self._weights.gradient)
        self._bias.gradient[0] = gradient.sum()
        return np.multiply.outer(gradient, self._weights.values)
