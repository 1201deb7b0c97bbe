"""Embeddings of queries and documents, and the logits of pairs that are made from them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ...common.typing import Floats, Integers
from .drift import BETAS, EPSILON, Drift

if TYPE_CHECKING:
    from ...data import World

_TABLE_PAIRS = 1 << 16  # worked out at a time

Embedding = int | tuple[int, int]  # widths of the embeddings of queries and documents
Hidden = int | tuple[int, ...]  # widths of hidden layers, the first next to the embeddings


def all_widths(hidden: Hidden) -> tuple[int, ...]:
    """Return the widths of all hidden layers; a recurrent unit has the first of them."""
    return (hidden,) if isinstance(hidden, int) else tuple(hidden)


class LazyEmbedding(nn.Module):
    """A table of embeddings of which only the rows that a batch shows take part in a step.

    It moves as ``torch.optim.Adam`` moves a whole table: rows that no batch shows go on by their
    momentum, which they catch up with when they are next looked up (``Drift``). While gradients
    are recorded, a look-up hands out copies of the rows that the batch needs and remembers them;
    ``step`` then moves just these. Whoever reads ``weight`` itself, or looks up without gradients
    (as a validation does), calls ``catch_up`` before.
    """

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randn(rows, width))
        self.register_buffer("mean", torch.zeros(rows, width), persistent=False)
        self.register_buffer("square", torch.zeros(rows, width), persistent=False)
        self.register_buffer("last", torch.zeros(rows, dtype=torch.long), persistent=False)
        self.weight: Tensor
        self.mean: Tensor
        self.square: Tensor
        self.last: Tensor  # the step that each row has been brought to
        self._drift = Drift()
        self._looked_up: list[tuple[Tensor, Tensor]] = []

    def look_up(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows that ``index`` (...) names, (r, width), and where each stands, (...)."""
        if not torch.is_grad_enabled():
            place = torch.arange(index.numel(), device=index.device).view(index.shape)
            return self.weight.index_select(0, index.reshape(-1)), place
        rows, place = torch.unique(index, return_inverse=True)
        self._bring_up(rows)
        values = self.weight.index_select(0, rows).requires_grad_()
        self._looked_up.append((rows, values))
        return values, place

    def forward(self, index: Tensor) -> Tensor:
        """Return the embeddings of ``index`` (...), (..., width)."""
        values, place = self.look_up(index)
        return functional.embedding(place, values)

    def gradients(self) -> list[Tensor]:
        """Return the gradients of the rows that were looked up, to be scaled in place."""
        return [values.grad for _, values in self._looked_up if values.grad is not None]

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Move the rows that were looked up since the last step."""
        size, epsilon = self._drift.take_step(learning_rate)
        for rows, values in self._looked_up:
            if values.grad is None:
                continue
            mean = self.mean.index_select(0, rows).lerp_(values.grad, 1.0 - BETAS[0])
            square = self.square.index_select(0, rows).mul_(BETAS[1])
            square.addcmul_(values.grad, values.grad, value=1.0 - BETAS[1])
            self.mean.index_copy_(0, rows, mean)
            self.square.index_copy_(0, rows, square)
            moved = values.detach().addcdiv_(mean, square.sqrt_().add_(epsilon), value=-size)
            self.weight.index_copy_(0, rows, moved)
            self.last[rows] = self._drift.steps
        self._looked_up.clear()

    def catch_up(self) -> None:
        """Bring all rows to the present step."""
        self._bring_up(torch.nonzero((self.last > 0) & (self.last < self._drift.steps))[:, 0])

    @torch.no_grad()
    def _bring_up(self, rows: Tensor) -> None:
        """Bring distinct ``rows`` to the present step."""
        since = self._drift.since(self.last[rows].cpu().numpy())
        gone, of_mean, of_square = torch.from_numpy(since).to(self.weight.device)
        mean, square = self.mean[rows], self.square[rows]
        self.weight[rows] -= gone * mean / (square.sqrt() + EPSILON)
        self.mean[rows] = mean * of_mean
        self.square[rows] = square * of_square
        self.last[rows] = self._drift.steps


class PairEncoder(nn.Module):
    """An embedding of each query, and of each document within its query or of each item.

    In a world of ratings that names its documents (``doc_ids``) the same item is a candidate of
    many users: it has one embedding for all of them. Otherwise a document of another query is
    another document, whatever its name. Empty slots share one more embedding, the last.

    Attributes
    ----------
    shared : (Q, N), (1, N) or None
        The row of each document in the table of embeddings, where queries share it; one row stands
        for all queries.
    """

    shared: Tensor | None

    def __init__(self, world: World, embedding: Embedding) -> None:
        super().__init__()
        self.n_queries, self.n_docs = world.n_queries, world.n_docs
        widths = (embedding, embedding) if isinstance(embedding, int) else embedding
        self.query_width, document_width = widths
        self.query = LazyEmbedding(self.n_queries, self.query_width)
        rows = shared_rows(world)
        self.empty = self.n_queries * self.n_docs if rows is None else int(rows.max()) + 1
        if rows is not None:
            rows = np.where(rows >= 0, rows, self.empty)
        shared = None if rows is None else torch.from_numpy(rows)
        self.register_buffer("shared", shared, persistent=False)
        self.document = LazyEmbedding(self.empty + 1, document_width)
        self.width = self.query_width + document_width

    def document_rows(self, query: Tensor, ranking: Tensor) -> Tensor:
        """Return the row of each slot's document in the table of embeddings, (n, K)."""
        if self.shared is None:
            return torch.where(ranking >= 0, query[:, None] * self.n_docs + ranking, self.empty)
        of_query = query[:, None] if len(self.shared) > 1 else torch.zeros_like(query)[:, None]
        return torch.where(ranking >= 0, self.shared[of_query, ranking.clamp(min=0)], self.empty)

    def forward(self, query: Tensor, ranking: Tensor) -> Tensor:
        """Return the embeddings of query and document side by side, (n, K, width)."""
        documents = self.document(self.document_rows(query, ranking))
        queries = self.query(query)[:, None].expand(-1, ranking.shape[1], -1)
        return torch.cat([queries, documents], dim=2)

    def linear(self, query: Tensor, ranking: Tensor, layer: nn.Linear) -> Tensor:
        """Return ``layer(self(query, ranking))``, (n, K, H).

        The layer's part for the query is worked out once for each query of the batch, and its
        part for the document once for each document.
        """
        queries, query_place = self.query.look_up(query)
        documents, document_place = self.document.look_up(self.document_rows(query, ranking))
        width = self.query_width
        by_query = functional.linear(queries, layer.weight[:, :width], layer.bias)
        by_document = functional.linear(documents, layer.weight[:, width:])
        slots = functional.embedding(document_place, by_document)
        return slots + functional.embedding(query_place, by_query)[:, None]


def shared_rows(world: World) -> Integers | None:
    """Return the number of each document's item, (Q, N) or (1, N), where users share items.

    None where they do not: in worlds of grades, and without an id for every candidate.
    """
    ids = world.doc_ids
    if not world.has_ratings or ids is None:
        return None
    numbers = ids.numbers()
    named = (numbers >= 0) & (ids.names != "")[numbers]
    return None if (world.candidates & ~named).any() else numbers


class PairLogits(nn.Module):
    """A logit for each pair of query and document, from embeddings through a small network."""

    def __init__(self, world: World, embedding: Embedding, hidden: Hidden) -> None:
        super().__init__()
        widths = all_widths(hidden)
        self.encoder = PairEncoder(world, embedding)
        self.layer = nn.Linear(self.encoder.width, widths[0])
        self.more = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self.out = nn.Linear(widths[-1], 1)

    def forward(self, query: Tensor, ranking: Tensor) -> Tensor:
        """Return the logits, (n, K)."""
        values = self.encoder.linear(query, ranking, self.layer).relu()
        for layer in self.more:
            values = layer(values).relu()
        return self.out(values)[..., 0]

    @torch.no_grad()
    def table(self) -> Floats:
        """Return the probabilities of all pairs, (Q, N)."""
        n_queries, n_docs = self.encoder.n_queries, self.encoder.n_docs
        documents = torch.arange(n_docs)
        rows = max(_TABLE_PAIRS // n_docs, 1)
        parts = []
        for start in range(0, n_queries, rows):
            query = torch.arange(start, min(start + rows, n_queries))
            logits = self(query, documents.expand(len(query), -1))
            parts.append(torch.sigmoid(logits.double()).numpy())
        return np.concatenate(parts)
