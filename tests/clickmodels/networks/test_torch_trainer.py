"""Training steps by torch: clipped gradients, weighted pages."""

from __future__ import annotations

import pytest
import torch
from judging import repeated
from torch import nn
from untrained import network_of, simulated

from clickgym.clickmodels.networks.embeddings import LazyEmbedding
from clickgym.clickmodels.networks.network import Network
from clickgym.clickmodels.networks.schedule import TrainingSettings
from clickgym.clickmodels.networks.torch_trainer import PageTensors, TorchTrainer


class TwoParts(Network):
    """A dense number and an embedding, with given gradients."""

    def __init__(self, dense, embedded):
        super().__init__()
        self.number = nn.Parameter(torch.zeros(1))
        self.embedding = LazyEmbedding(1, 1)
        self.dense, self.embedded = dense, embedded

    def total(self):
        looked_up = self.embedding(torch.tensor([0]))
        return self.dense * self.number.sum() + self.embedded * looked_up.sum()


def clipped(dense, embedded, clip):
    network, log = TwoParts(dense, embedded), simulated(1)
    trainer = TorchTrainer(network, log, log, TrainingSettings(clip=clip))
    network.total().backward()
    trainer._clip_gradients()
    return float(network.number.grad), float(network.embedding.gradients()[0])


def test_gradients_are_clipped_together_with_those_of_embeddings():
    assert clipped(30.0, 40.0, clip=5.0) == pytest.approx((3.0, 4.0))


def test_gradients_within_the_norm_are_left_alone():
    assert clipped(3.0, 4.0, clip=5.0) == (3.0, 4.0)


def test_a_gradient_that_is_not_finite_is_an_error():
    with pytest.raises(FloatingPointError, match="gradient"):
        clipped(float("nan"), 4.0, clip=5.0)


def test_a_weighted_row_counts_like_a_repeated_row_in_validation():
    log = simulated(weighted=True)
    network = network_of("NCM")
    weighted, plain = (PageTensors(part, torch.device("cpu")) for part in (log, repeated(log)))
    assert weighted.mean_loss(network) == pytest.approx(plain.mean_loss(network), rel=1e-5)


def test_the_loss_of_many_pages_is_their_mean(monkeypatch):
    log, network = simulated(weighted=True), network_of("NCM")
    pages = PageTensors(log, torch.device("cpu"))
    whole = pages.mean_loss(network)
    monkeypatch.setattr("clickgym.clickmodels.networks.torch_trainer._VALIDATION_ROWS", 7)
    assert pages.mean_loss(network) == pytest.approx(whole, rel=1e-5)
