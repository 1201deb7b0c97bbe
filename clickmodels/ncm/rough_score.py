"""A cheap approximation of the neural click model's expected clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...common.typing import Floats, Integers
from .gates import Gates, write_next_states

if TYPE_CHECKING:
    from .model import NCM

_PAIRS = 1 << 16  # query-document pairs prepared at a time
_ROWS = 2048  # pages at a time: what they need stays in the cache


class SoftClicks:
    """Reads a page once, with P(click) in place of whether the rank before was clicked.

    That is K steps of the network per page instead of 2^K - 1. The result is not the expected
    number of clicks, but it orders rankings nearly as that does, which is enough to choose the
    moves of a search that are worth scoring. What query and document add to the gates is kept in
    single precision: 768 bytes per pair with 64 hidden units.
    """

    def __init__(self, model: NCM) -> None:
        self._model, (n_queries, self._n_docs) = model, model.shape
        pairs = np.arange(n_queries * self._n_docs)
        self._gates = gates = Gates(model, np.dtype(np.float32))
        self._inputs = np.empty((3, len(pairs), gates.hidden), dtype=np.float32)
        for start in range(0, len(pairs), _PAIRS):
            part = pairs[start : start + _PAIRS]
            self._inputs[:, part] = gates.inputs(part // self._n_docs, part % self._n_docs)

    def scores(self, query: Integers, columns: Integers) -> Floats:
        """Return the approximate expected clicks of pages (K, n), (n,)."""
        total = np.empty(columns.shape[1])
        with np.errstate(over="ignore"):
            for start in range(0, len(total), _ROWS):
                part = slice(start, start + _ROWS)
                total[part] = self._score_chunk(query[part], columns[:, part])
        return total

    def _score_chunk(self, query: Integers, columns: Integers) -> NDArray[np.float32]:
        n, gates = columns.shape[1], self._gates
        state = np.zeros((n, gates.hidden), dtype=np.float32)
        chance, total = np.zeros((n, 1), dtype=np.float32), np.zeros(n, dtype=np.float32)
        ahead, back, click = (np.empty((3, n, gates.hidden), np.float32) for _ in range(3))
        for documents in columns:
            self._inputs.take(query * self._n_docs + documents, 1, out=ahead, mode="wrap")
            np.multiply(chance, gates.click, out=click)
            ahead += click
            np.matmul(state, gates.weights, out=back)
            opening, candidate = back[:2], back[2]
            opening += ahead[:2]
            np.exp(opening, out=opening)
            candidate += gates.candidate_bias
            write_next_states(state, opening, candidate, (ahead[2],), candidate, state)
            own = 1 / (1 + np.exp(-gates.logits(state)))
            click_chance = self._model.scaled(own, query, documents)
            chance[:, 0] = np.where(documents >= 0, click_chance, np.float32(0))
            total += chance[:, 0]
        return total
