"""A gated recurrent unit for short sequences in small batches."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class GRU(nn.Module):
    """The same function as ``torch.nn.GRU`` (one layer, batch first), with its own backward pass.

    Ten steps of thirty-two rows are so little work that torch's overhead for every operation it
    records is most of the time. Here a sequence is one recorded operation, and whatever does not
    depend on the incoming gradient is worked out for all steps at once.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        bound = hidden**-0.5
        self.input_weights = nn.Parameter(torch.empty(3 * hidden, width).uniform_(-bound, bound))
        self.hidden_weights = nn.Parameter(torch.empty(3 * hidden, hidden).uniform_(-bound, bound))
        self.input_bias = nn.Parameter(torch.empty(3 * hidden).uniform_(-bound, bound))
        self.hidden_bias = nn.Parameter(torch.empty(3 * hidden).uniform_(-bound, bound))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the states (n, K, H) after each of K inputs (n, K, width)."""
        return self.states(nn.functional.linear(inputs, self.input_weights, self.input_bias))

    def states(self, gates: Tensor) -> Tensor:
        """Return the states (n, K, H) from what the inputs add to the gates, (n, K, 3 H)."""
        states: Tensor = _Sequence.apply(gates, self.hidden_weights, self.hidden_bias)
        return states


class _Sequence(torch.autograd.Function):
    """All steps of a GRU. Gates are reset, update, candidate; arrays are laid out step by step."""

    @staticmethod
    def forward(ctx: Any, gates: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
        n, steps, three = gates.shape
        hidden = three // 3
        ahead = gates.transpose(0, 1).contiguous()
        states = gates.new_zeros(steps + 1, n, hidden)
        open_gates = gates.new_empty(steps, n, 2 * hidden)
        candidate, back = gates.new_empty(steps, n, hidden), gates.new_empty(steps, n, hidden)
        transposed = weights.t()
        for k in range(steps):
            recurrent = torch.addmm(bias, states[k], transposed)
            opened = open_gates[k]
            torch.add(ahead[k, :, : 2 * hidden], recurrent[:, : 2 * hidden], out=opened)
            opened.sigmoid_()
            back[k] = recurrent[:, 2 * hidden :]
            proposal = candidate[k]
            torch.addcmul(ahead[k, :, 2 * hidden :], opened[:, :hidden], back[k], out=proposal)
            proposal.tanh_()
            torch.lerp(proposal, states[k], opened[:, hidden:], out=states[k + 1])
        ctx.save_for_backward(states, open_gates, candidate, back, weights)
        return states[1:].transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        states, open_gates, candidate, back, weights = ctx.saved_tensors
        steps, n, hidden = candidate.shape
        reset, update = open_gates[..., :hidden], open_gates[..., hidden:]
        by_update = (states[:-1] - candidate) * update * (1 - update)
        by_candidate = (1 - update) * (1 - candidate * candidate)
        by_reset = back * reset * (1 - reset)
        incoming = gradients[0].transpose(0, 1)
        by_ahead = states.new_empty(steps, n, 3 * hidden)
        by_recurrent = states.new_empty(steps, n, 3 * hidden)
        carried = states.new_zeros(n, hidden)
        for k in range(steps - 1, -1, -1):
            carried = carried + incoming[k]
            here = by_ahead[k]
            torch.mul(carried, by_candidate[k], out=here[:, 2 * hidden :])
            torch.mul(here[:, 2 * hidden :], by_reset[k], out=here[:, :hidden])
            torch.mul(carried, by_update[k], out=here[:, hidden : 2 * hidden])
            by_recurrent[k, :, : 2 * hidden] = here[:, : 2 * hidden]
            torch.mul(here[:, 2 * hidden :], reset[k], out=by_recurrent[k, :, 2 * hidden :])
            carried = torch.addmm(carried * update[k], by_recurrent[k], weights)
        flat = by_recurrent.reshape(steps * n, 3 * hidden)
        by_weights = flat.t() @ states[:-1].reshape(steps * n, hidden)
        return by_ahead.transpose(0, 1), by_weights, flat.sum(dim=0)
