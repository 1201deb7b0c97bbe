"""The hand-written GRU against torch's."""

from __future__ import annotations

import pytest
import torch

from clickgym.clickmodels.networks.gru import GRU


@pytest.fixture
def pair():
    torch.manual_seed(0)
    ours, theirs = GRU(5, 4).double(), torch.nn.GRU(5, 4, batch_first=True).double()
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.input_weights)
        theirs.weight_hh_l0.copy_(ours.hidden_weights)
        theirs.bias_ih_l0.copy_(ours.input_bias)
        theirs.bias_hh_l0.copy_(ours.hidden_bias)
    return ours, theirs


def test_states_are_torchs(pair):
    inputs = torch.randn(3, 6, 5, dtype=torch.double)
    torch.testing.assert_close(pair[0](inputs), pair[1](inputs)[0])


def test_gradients_are_torchs(pair):
    ours, theirs = pair
    inputs = torch.randn(3, 6, 5, dtype=torch.double, requires_grad=True)
    weight = torch.randn(3, 6, 4, dtype=torch.double)
    mine = torch.autograd.grad((ours(inputs) * weight).sum(), [inputs, *ours.parameters()])
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    wanted = [inputs, *(getattr(theirs, name) for name in names)]
    reference = torch.autograd.grad((theirs(inputs)[0] * weight).sum(), wanted)
    torch.testing.assert_close(mine, reference)
