"""Embeddings that move as by Adam over the whole table, and layers over pairs."""

from __future__ import annotations

import numpy as np
import torch
from conftest import small_world
from torch import nn
from untrained import simulated, tensors

from clickgym.clickmodels.networks.embeddings import LazyEmbedding, PairEncoder


def stepped(steps, rows=8, width=3, rate=0.1):
    """The weights of a LazyEmbedding and of an ``nn.Embedding`` by Adam, and the start.

    The last two rows are never shown, the first only in the first five steps.
    """
    rng = np.random.default_rng(0)
    lazy = LazyEmbedding(rows, width)
    start = lazy.weight.clone()
    whole = nn.Embedding(rows, width, _weight=start.clone())
    optimiser = torch.optim.Adam(whole.parameters(), lr=rate)
    for step in range(steps):
        index = torch.from_numpy(rng.integers(int(step >= 5), rows - 2, size=(1, 2)))
        target = torch.from_numpy(rng.normal(size=(1, 2, width)).astype(np.float32))
        optimiser.param_groups[0]["lr"] = size = rate if step < 10 else rate / 2
        ((lazy(index) - target) ** 2).sum().backward()
        lazy.step(size)
        optimiser.zero_grad()
        ((whole(index) - target) ** 2).sum().backward()
        optimiser.step()
    lazy.catch_up()
    return lazy.weight, whole.weight.detach(), start


def test_lazy_embeddings_step_like_adam_over_the_whole_table():
    for steps in (1, 2, 20, 400):
        lazy, whole, _ = stepped(steps)
        torch.testing.assert_close(lazy, whole, rtol=1e-4, atol=1e-4)


def test_embeddings_go_on_by_their_momentum_when_batches_no_longer_show_them():
    embedding = LazyEmbedding(2, 2)
    embedding(torch.tensor([0])).sum().backward()
    embedding.step(0.1)
    shown = embedding.weight.clone()
    embedding(torch.tensor([1])).sum().backward()
    embedding.step(0.1)
    embedding.catch_up()
    assert (embedding.weight[0] < shown[0]).all()


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


def test_queries_and_documents_may_have_embeddings_of_different_widths():
    query, ranking, _ = tensors(simulated(20))
    encoder = PairEncoder(small_world(short=True), (2, 5))
    assert (encoder.query.weight.shape[1], encoder.document.weight.shape[1]) == (2, 5)
    layer = nn.Linear(encoder.width, 4)
    found = encoder.linear(query, ranking, layer)
    torch.testing.assert_close(found, layer(encoder(query, ranking)))
