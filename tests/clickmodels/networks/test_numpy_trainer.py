"""Gradients and steps in NumPy against torch's."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from conftest import small_world
from untrained import NETWORKS, network_of, simulated, tensors

from clickgym.clickmodels.networks.embeddings import LazyEmbedding
from clickgym.clickmodels.networks.numpy import NumpyTrainer, has_gradients
from clickgym.clickmodels.networks.numpy.examined_gradients import ClickWeights, examination_of
from clickgym.clickmodels.networks.prefix_networks import ARMNetwork
from clickgym.clickmodels.networks.schedule import TrainingSettings
from clickgym.clickmodels.networks.torch_trainer import TorchTrainer
from clickgym.data import ClickLog

every_network = pytest.mark.parametrize("name", NETWORKS)


def both(name, log, **settings):
    """Networks with the same numbers, and what trains them: NumPy and torch."""
    network = network_of(name)
    networks = network, copy.deepcopy(network)
    chosen = TrainingSettings(**settings)
    kinds = zip(networks, (NumpyTrainer, TorchTrainer), strict=True)
    return networks, [kind(network, log, log, chosen) for network, kind in kinds]


def edges(n=60):
    """A log with weights, and pages without clicks, with the last slot clicked, and all clicked."""
    log = simulated(n, weighted=True)
    clicks = log.clicks.copy()
    clicks[0], clicks[1, -1], clicks[2] = False, True, True
    return ClickLog(log.query, log.ranking, clicks & (log.ranking >= 0), weight=log.weight)


@every_network
def test_losses_and_gradients_are_torchs(name):
    log = edges()
    (network, reference), (trainer, by_torch) = both(name, log)
    rows = np.arange(len(log))
    with torch.no_grad():
        losses = reference.loss(*tensors(log)).numpy()
    found = trainer.gradients.forward(trainer.pages.batch(rows), record=False)
    np.testing.assert_allclose(found, losses, rtol=1e-5, atol=1e-5)

    by_torch.pages.batch_loss(reference, torch.from_numpy(rows)).backward()
    trainer.gradients.forward(trainer.pages.batch(rows), record=True)
    trainer.gradients.backward()
    parameters = trainer.parameters
    expected = dict(reference.named_parameters())
    for key, parameter in network.named_parameters():
        found = parameters.weights(parameter).gradient
        np.testing.assert_allclose(found, expected[key].grad, atol=1e-5, err_msg=key)
    gathered = {
        embedding: (indices, parameters._gradient[place].reshape(len(indices), -1))
        for embedding, indices, place in parameters._gathered
    }
    references = dict(reference.named_modules())
    for key, embedding in network.named_modules():
        if isinstance(embedding, LazyEmbedding):
            indices, found = gathered[embedding]
            ((wanted, values),) = references[key]._looked_up
            np.testing.assert_array_equal(indices, wanted)
            np.testing.assert_allclose(found, values.grad, atol=1e-5, err_msg=key)


@every_network
def test_steps_are_torchs(name):
    log = edges(96)
    for clip in (40.0, 0.01):
        networks, trainers = both(name, log, clip=clip, learning_rate=1e-2)
        rng = np.random.default_rng(0)
        for step in range(30):
            rows = rng.permutation(len(log))[:32]
            losses = [trainer.step(rows, 1e-2 if step < 20 else 5e-3) for trainer in trainers]
            assert losses[0] == pytest.approx(losses[1], rel=1e-4), clip
        found, expected = (trainer.validation_loss() for trainer in trainers)
        assert found == pytest.approx(expected, rel=1e-4), clip
        states = [network.state_dict() for network in networks]
        for key, value in states[0].items():
            torch.testing.assert_close(value, states[1][key], rtol=0.0, atol=2e-3, msg=key)


def dropping(log, seed=3, dropout=0.4):
    """NCM with dropout, and what trains it: NumPy and torch."""
    networks, trainers = both("NCM", log)
    for network in networks:
        network.drop(dropout, seed)
    return networks, trainers


def test_steps_with_dropout_are_torchs():
    log = edges(96)
    networks, trainers = dropping(log)
    for _ in range(10):
        losses = [trainer.step(np.arange(32), 1e-2) for trainer in trainers]
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    for key, value in networks[0].state_dict().items():
        torch.testing.assert_close(value, networks[1].state_dict()[key], rtol=0.0, atol=2e-3)


def test_dropout_changes_training_and_not_validation():
    log = edges(96)
    _, plain = both("NCM", log)
    _, changed = dropping(log)
    for one, other in zip(plain, changed, strict=True):
        assert one.validation_loss() == other.validation_loss()
        assert one.step(np.arange(32), 1e-2) != other.step(np.arange(32), 1e-2)


def test_a_seed_draws_the_dropout():
    log = edges(96)
    first, again, other = (
        dropping(log, seed)[1][0].step(np.arange(32), 1e-2) for seed in (3, 3, 4)
    )
    assert first == again != other


def test_dropout_keeps_the_mean_of_states():
    network = network_of("NCM")
    network.drop(0.2, 0)
    mask = network.draw_mask((400, 500))
    assert set(np.unique(mask)) == {0.0, np.float32(1.25)}
    assert mask.mean() == pytest.approx(1.0, abs=0.01)


def test_gradients_are_those_of_the_network_they_are_registered_for_and_not_of_a_subclass():
    class Changed(ARMNetwork):
        """Someone's own examination."""

    world = small_world()
    assert has_gradients(ARMNetwork(world, 3, 4, 4))
    assert not has_gradients(Changed(world, 3, 4, 4))
    examination_of(Changed)(ClickWeights)
    assert has_gradients(Changed(world, 3, 4, 4))
