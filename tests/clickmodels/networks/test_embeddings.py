"""Embeddings of which a step moves only the rows that a batch shows, and layers over pairs."""

from __future__ import annotations

import numpy as np
import torch
from conftest import small_world
from torch import nn
from untrained import simulated, tensors

from clickgym.clickmodels.networks.embeddings import LazyEmbedding, PairEncoder


def stepped(steps, rows=8, width=3, rate=0.1):
    """The weights of a LazyEmbedding and of an ``nn.Embedding`` by SparseAdam, and the start."""
    rng = np.random.default_rng(0)
    lazy = LazyEmbedding(rows, width)
    start = lazy.weight.clone()
    sparse = nn.Embedding(rows, width, sparse=True, _weight=start.clone())
    optimiser = torch.optim.SparseAdam(sparse.parameters(), lr=rate)
    for _ in range(steps):
        index = torch.from_numpy(rng.integers(rows - 2, size=(2, 4)))  # never the last two
        target = torch.from_numpy(rng.normal(size=(2, 4, width)).astype(np.float32))
        ((lazy(index) - target) ** 2).sum().backward()
        lazy.step(rate)
        optimiser.zero_grad()
        ((sparse(index) - target) ** 2).sum().backward()
        optimiser.step()
    return lazy.weight, sparse.weight.detach(), start


def test_lazy_embeddings_step_like_sparse_adam():
    for steps in (1, 2, 20):
        lazy, sparse, _ = stepped(steps)
        torch.testing.assert_close(lazy, sparse, rtol=1e-4, atol=1e-5)


def test_embeddings_that_no_batch_shows_stand_still():
    lazy, _, start = stepped(5)
    torch.testing.assert_close(lazy[-2:], start[-2:], rtol=0, atol=0)


def test_embeddings_that_a_batch_shows_move():
    lazy, _, start = stepped(20)
    assert (lazy[:-2] != start[:-2]).all()


def test_looking_up_without_gradients_leaves_nothing_to_step():
    embedding = LazyEmbedding(4, 2)
    with torch.no_grad():
        embedding(torch.tensor([0, 1]))
    assert embedding.gradients() == []


def test_a_layer_over_pairs_is_one_over_their_embeddings_side_by_side():
    query, ranking, _ = tensors(simulated(20))
    encoder = PairEncoder(small_world(short=True), 5)
    layer = nn.Linear(encoder.width, 4)
    found = encoder.linear(query, ranking, layer)
    torch.testing.assert_close(found, layer(encoder(query, ranking)))
    embedded = encoder.document.weight[encoder.empty].expand(int((ranking < 0).sum()), -1)
    torch.testing.assert_close(encoder(query, ranking)[ranking < 0][:, 5:], embedded)
