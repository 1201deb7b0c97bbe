"""A cheap approximation of the neural click model's expected clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .model import NCM

_PAIRS = 1 << 16  # query-document pairs prepared at a time
_ROWS = 2048  # pages at a time: what they need stays in the cache

Floats = NDArray[np.float32]


class SoftClicks:
    """Reads a page once, with P(click) where the network expects whether the rank was clicked.

    K steps of the network a page instead of 2^K - 1. The result is not the expected number of
    clicks, but it orders rankings nearly as that does, which is enough to choose the moves of a
    search that are worth scoring. What query and document add to the gates is kept in single
    precision: 768 bytes a pair with 64 hidden units.
    """

    def __init__(self, model: NCM) -> None:
        n_queries, n_docs = model.shape
        pairs = np.arange(n_queries * n_docs)
        self._n_docs = n_docs
        self._hidden = hidden = len(model.output_weights)
        # Gates are kept negated and the candidate doubled, as the exponentials want them; each in
        # an array of its own, (3, ., H), so that all steps run over contiguous memory.
        sign = np.array([-1.0, -1.0, -2.0])[:, None, None]
        bias = model.hidden_bias.reshape(3, 1, hidden) * sign
        self._inputs = np.empty((3, len(pairs), hidden), dtype=np.float32)
        for start in range(0, len(pairs), _PAIRS):
            part = pairs[start : start + _PAIRS]
            inputs = model.inputs(part // n_docs, part % n_docs).reshape(-1, 3, hidden)
            inputs = inputs.transpose(1, 0, 2) * sign
            inputs[:2] += bias[:2]
            self._inputs[:, part] = inputs
        self._candidate_bias = bias[2].astype(np.float32)
        weights = model.hidden_weights.reshape(3, hidden, hidden).transpose(0, 2, 1)
        self._weights = np.ascontiguousarray(weights * sign, np.float32)
        self._click = (model.input_weights[:, -1].reshape(3, 1, hidden) * sign).astype(np.float32)
        self._out = model.output_weights.astype(np.float32)
        self._out_bias = np.float32(model.output_bias)

    def scores(
        self, query: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the approximate expected clicks of pages (K, n), (n,)."""
        total = np.empty(columns.shape[1])
        with np.errstate(over="ignore"):
            for start in range(0, len(total), _ROWS):
                part = slice(start, start + _ROWS)
                total[part] = self._chunk(query[part], columns[:, part])
        return total

    def _chunk(self, query: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        n = columns.shape[1]
        state = np.zeros((n, self._hidden), dtype=np.float32)
        chance, total = np.zeros((n, 1), dtype=np.float32), np.zeros(n, dtype=np.float32)
        ahead, back, click = (np.empty((3, n, self._hidden), np.float32) for _ in range(3))
        for documents in columns:
            self._inputs.take(query * self._n_docs + documents, 1, out=ahead, mode="wrap")
            np.multiply(chance, self._click, out=click)
            ahead += click
            np.matmul(state, self._weights, out=back)
            self._next(state, ahead, back)
            logits = state @ self._out + self._out_bias
            chance[:, 0] = np.where(documents >= 0, 1 / (1 + np.exp(-logits)), np.float32(0))
            total += chance[:, 0]
        return total

    def _next(self, state: Floats, ahead: Floats, back: Floats) -> None:
        """Replace ``state`` (n, H) by the next one."""
        gates, candidate = back[:2], back[2]
        gates += ahead[:2]
        np.exp(gates, out=gates)
        gates += 1
        candidate += self._candidate_bias
        candidate /= gates[0]
        candidate += ahead[2]
        np.exp(candidate, out=candidate)
        candidate += 1
        np.divide(2, candidate, out=candidate)
        candidate -= 1
        state -= candidate
        state /= gates[1]
        state += candidate
