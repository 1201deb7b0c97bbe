"""Untrained networks and simulated logs, for the tests of everything that is trained."""

from __future__ import annotations

import numpy as np
import torch
from conftest import SLOTS, small_world
from judging import random_log
from torch import nn

from clickgym import clickmodels
from clickgym.clickmodels.fitting import takes_parameters
from clickgym.clickmodels.network_fitting import make_network
from clickgym.clickmodels.networks.network import seeded

NETWORKS = ("PBM", "UBM", "DBN", "ARM", "ARM-NC", "CACM-minus", "NCM")  # with NumPy's gradients
ALL_NETWORKS = tuple(
    name
    for name in clickmodels.names()
    if takes_parameters(name) or clickmodels.registry.registered_class(name).network
)


def simulated(n=200, user="UBM", seed=1, weighted=False):
    """Pages of a small world with the clicks of a user."""
    world = small_world(short=True)
    return random_log(world, clickmodels.true_user(user, world), n, seed, weighted)


def network_of(name):
    """The untrained network of a model, all its numbers random.

    They are not so extreme that single precision and the clamps of training would show.
    """
    world = small_world(short=True)
    with seeded(5):
        network = make_network(name, world, SLOTS, (4, 6), (6, 5))
        for parameter in network.parameters():
            nn.init.uniform_(parameter, -0.8, 0.8)
    return network


def tensors(log):
    """Queries, rankings and clicks of a log as torch wants them."""
    arrays = log.query.astype(np.int64), log.ranking.astype(np.int64), log.clicks.copy()
    return [torch.from_numpy(array) for array in arrays]
