"""The states of a gated recurrent unit (``torch.nn.GRU``) along chains or a tree of clicks."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np
from torch import nn

from ....common.typing import Integers
from .parameters import Floats, Parameters


class Order(Protocol):
    """Which state follows which: the states of a level follow some of the level before."""

    levels: list[slice]

    def before(self, states: Floats, level: int) -> Floats:
        """Return the states that those of ``level`` follow."""

    def hand_back(self, gradient: Floats, level: int, carried: Floats) -> None:
        """Add what the states of ``level`` carry back to the ``gradient`` of those before."""


class Chains:
    """Each page has a state of its own in each slot."""

    def __init__(self, slots: int, pages: int) -> None:
        self.levels = [slice(slot * pages, (slot + 1) * pages) for slot in range(slots)]

    def before(self, states: Floats, level: int) -> Floats:
        """Return the states of the slot before."""
        return states[self.levels[level - 1]]

    def hand_back(self, gradient: Floats, level: int, carried: Floats) -> None:
        """Add to the slot before."""
        gradient[self.levels[level - 1]] += carried


class ClickTree:
    """Pages with the same clicks so far share a state: a tree of the click prefixes ``cells`` (m,).

    Prefixes are numbered as by ``prefix_cells`` and ascend. They are all prefixes of whole pages,
    so each but the longest has at least one child; children of a prefix stand side by side.
    """

    def __init__(self, cells: Integers, slots: int) -> None:
        starts = np.searchsorted(cells, (1 << np.arange(slots + 1)) - 1)
        self.starts = starts[:-1]
        self.levels = [slice(*pair) for pair in pairwise(starts)]
        self.clicked = cells % 2 == 0  # whether the prefix ends with a click
        self._parents = np.searchsorted(cells, (cells - 1) // 2)
        self._first_children = np.searchsorted(self._parents[1:], np.arange(starts[-2])) + 1

    def before(self, states: Floats, level: int) -> Floats:
        """Return the states of the prefixes one shorter."""
        result: Floats = states.take(self._parents[self.levels[level]], axis=0)
        return result

    def hand_back(self, gradient: Floats, level: int, carried: Floats) -> None:
        """Add to the prefixes one shorter."""
        parents = self.levels[level - 1]
        children = self._first_children[parents] - self.levels[level].start
        gradient[parents] += np.add.reduceat(carried, children, axis=0)


class Recurrent:
    """All states of a GRU, level by level.

    Gates are in torch's order: reset, update, candidate. Arrays of gates are (3, m, H).
    """

    def __init__(self, parameters: Parameters, gru: nn.GRU) -> None:
        weights = [parameters.weights(part) for part in gru.all_weights[0]]
        self.input_weights, self._weights, self.input_bias, self._bias = weights

    def forward(self, ahead: Floats, order: Order) -> Floats:
        """Return the states (m, H) from what the inputs add to the gates, (m, 3 H)."""
        m, hidden = len(ahead), ahead.shape[1] // 3
        bias = self._bias.values.reshape(3, 1, hidden)
        ahead = ahead.reshape(m, 3, hidden).transpose(1, 0, 2).copy()
        ahead[:2] += bias[:2]
        weights = self._weights.values.reshape(3, hidden, hidden).transpose(0, 2, 1).copy()
        ahead[:2] *= 0.5  # σ(x) = (1 + tanh(x / 2)) / 2
        weights[:2] *= 0.5
        self._order = order
        self._before = np.zeros((m, hidden), dtype=np.float32)
        self._back = np.empty((3, m, hidden), dtype=np.float32)
        self._gates = np.empty((2, m, hidden), dtype=np.float32)
        self._candidate = np.empty((m, hidden), dtype=np.float32)
        states = np.empty((m, hidden), dtype=np.float32)
        for number, level in enumerate(order.levels):
            before, back, gates = self._before[level], self._back[:, level], self._gates[:, level]
            if number:
                before[...] = order.before(states, number)
            np.matmul(before, weights, out=back)
            np.add(ahead[:2, level], back[:2], out=gates)
            np.tanh(gates, out=gates)
            gates *= 0.5
            gates += 0.5
            back[2] += bias[2]
            candidate = np.multiply(gates[0], back[2], out=self._candidate[level])
            candidate += ahead[2, level]
            np.tanh(candidate, out=candidate)
            state = np.subtract(before, candidate, out=states[level])
            state *= gates[1]
            state += candidate
        return states

    def backward(self, gradient: Floats) -> Floats:
        """Return the gradient of ``ahead``, (m, 3 H); that of the states (m, H) is overwritten."""
        m, hidden = gradient.shape
        reset, update = self._gates
        closed = 1.0 - self._gates
        by_update = self._before - self._candidate
        by_update *= update
        by_update *= closed[1]
        by_candidate = np.square(self._candidate)
        np.subtract(1.0, by_candidate, out=by_candidate)
        by_candidate *= closed[1]
        by_reset = self._back[2] * reset
        by_reset *= closed[0]
        weights = self._weights.values.reshape(3, hidden, hidden)
        by_back = np.empty_like(self._back)
        by_proposal = np.empty_like(gradient)
        for number in range(len(self._order.levels) - 1, -1, -1):
            level = self._order.levels[number]
            carried, back = gradient[level], by_back[:, level]
            proposal = np.multiply(carried, by_candidate[level], out=by_proposal[level])
            np.multiply(proposal, by_reset[level], out=back[0])
            np.multiply(carried, by_update[level], out=back[1])
            np.multiply(proposal, reset[level], out=back[2])
            if number:
                carried *= update[level]
                for part in np.matmul(back, weights):
                    carried += part
                self._order.hand_back(gradient, number, carried)
        flat = by_back.transpose(1, 0, 2).reshape(m, 3 * hidden)
        np.matmul(flat.T, self._before, out=self._weights.gradient)
        flat.sum(axis=0, out=self._bias.gradient)
        flat[:, 2 * hidden :] = by_proposal
        return flat
