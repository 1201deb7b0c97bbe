"""Click models as networks, for fitting by mini-batches; torch stays inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from .embeddings import LazyEmbedding, PairLinear

if TYPE_CHECKING:
    from ...data import World
    from ..base import ClickModel

_FREEZE_ROWS = 1 << 16


class Network(nn.Module):
    """A click model being trained: knows the loss of pages and what model it becomes."""

    def loss(self, query: Tensor, ranking: Tensor, clicks: Tensor) -> Tensor:
        """Return minus the log-likelihood of each page, (n,)."""
        raise NotImplementedError(f"{type(self).__name__} does not define loss()")

    def frozen(self) -> ClickModel:
        """Return the trained model, as arrays."""
        raise NotImplementedError(f"{type(self).__name__} does not define frozen()")


class PairEncoder(nn.Module):
    """Embeddings of query and of document within query; empty slots share one."""

    def __init__(self, world: World, embedding: int) -> None:
        super().__init__()
        self.n_queries, self.n_docs = world.n_queries, world.n_docs
        self.query = LazyEmbedding(self.n_queries, embedding)
        self.empty = self.n_queries * self.n_docs
        self.document = LazyEmbedding(self.empty + 1, embedding)
        self.width = 2 * embedding

    def linear(self, query: Tensor, ranking: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
        """Return (n, K, H): a linear layer, weights (H, width), over both side by side."""
        place = torch.where(ranking >= 0, query[:, None] * self.n_docs + ranking, self.empty)
        queries, documents = self.query.look_up(query), self.document.look_up(place)
        result: Tensor = PairLinear.apply(*queries, *documents, weights, bias)
        return result


class PairLogits(nn.Module):
    """A logit for every (query, document), from embeddings through a small network."""

    def __init__(self, world: World, embedding: int, hidden: int) -> None:
        super().__init__()
        self.encoder = PairEncoder(world, embedding)
        self.layer = nn.Linear(self.encoder.width, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, query: Tensor, ranking: Tensor) -> Tensor:
        """Return (n, K) logits."""
        hidden = self.encoder.linear(query, ranking, self.layer.weight, self.layer.bias)
        return self.out(hidden.relu())[..., 0]

    @torch.no_grad()
    def table(self) -> NDArray[np.float64]:
        """Return the probabilities of all pairs, (Q, N)."""
        n_queries, n_docs = self.encoder.n_queries, self.encoder.n_docs
        documents = torch.arange(n_docs)
        rows = max(_FREEZE_ROWS // n_docs, 1)
        parts = []
        for start in range(0, n_queries, rows):
            query = torch.arange(start, min(start + rows, n_queries))
            logits = self(query, documents.expand(len(query), -1))
            parts.append(torch.sigmoid(logits.double()).numpy())
        return np.concatenate(parts)


def click_loss(log_click: Tensor, clicks: Tensor, shown: Tensor) -> Tensor:
    """Return minus the log-likelihood of pages, (n,), from log P(click) of each slot, (n, K)."""
    log_click = log_click.clamp(max=-1e-7)
    log_skip = torch.log(-torch.expm1(log_click))
    return -torch.where(shown, torch.where(clicks, log_click, log_skip), 0.0).sum(dim=1)


class ExaminedNetwork(Network):
    """P(click) = attractiveness × examination; subclasses say what examination depends on."""

    def __init__(self, world: World, slots: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.slots = slots
        self.attractiveness = PairLogits(world, embedding, hidden)

    def examination(self, clicks: Tensor) -> Tensor:
        """Return the examination logits of every slot, (n, K), from the clicks (n, K)."""
        raise NotImplementedError(f"{type(self).__name__} does not define examination()")

    def loss(self, query: Tensor, ranking: Tensor, clicks: Tensor) -> Tensor:
        """Return minus the log-likelihood of each page, (n,)."""
        attractive = functional.logsigmoid(self.attractiveness(query, ranking))
        examined = functional.logsigmoid(self.examination(clicks))
        return click_loss(attractive + examined, clicks, ranking >= 0)


class PBMNetwork(ExaminedNetwork):
    """The position-based model."""

    def __init__(self, world: World, slots: int, embedding: int, hidden: int) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.ranks = nn.Parameter(torch.zeros(slots))

    def examination(self, clicks: Tensor) -> Tensor:
        """Return a logit by rank."""
        return self.ranks.expand(clicks.shape)

    def frozen(self) -> ClickModel:
        """Return a ``PBM``."""
        from ..pbm import PBM

        return PBM(self.attractiveness.table(), probabilities(self.ranks))


class UBMNetwork(ExaminedNetwork):
    """The user browsing model."""

    def __init__(self, world: World, slots: int, embedding: int, hidden: int) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.ranks = nn.Parameter(torch.zeros(slots, slots))

    def examination(self, clicks: Tensor) -> Tensor:
        """Return a logit by rank and rank of the latest click."""
        ranks = torch.arange(1, self.slots + 1, device=clicks.device)
        latest = torch.cummax(torch.where(clicks, ranks, 0), dim=1).values
        latest = functional.pad(latest[:, :-1], (1, 0))
        return self.ranks[ranks - 1, latest]

    def frozen(self) -> ClickModel:
        """Return a ``UBM``."""
        from ..ubm import UBM

        return UBM(self.attractiveness.table(), probabilities(self.ranks))


def probabilities(logits: Tensor) -> NDArray[np.float64]:
    """Return the sigmoid of parameters, as an array."""
    return torch.sigmoid(logits.detach().double()).numpy()
