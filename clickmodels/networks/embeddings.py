"""Embeddings of query and document whose training costs what a batch shows, not the world."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class LazyEmbedding(nn.Module):
    """A table of embeddings of which only the rows of a batch take part in a step.

    While gradients are recorded, a look-up hands out copies of the rows that the batch needs and
    remembers them; ``step`` then moves just these rows by Adam, with moments of their own. Rows
    that a batch does not show stand still, as with torch's ``SparseAdam``, at a fraction of its
    overhead.
    """

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randn(rows, width))
        self.register_buffer("mean", torch.zeros(rows, width), persistent=False)
        self.register_buffer("square", torch.zeros(rows, width), persistent=False)
        self.weight: Tensor
        self.mean: Tensor
        self.square: Tensor
        self._steps = 0
        self._looked_up: list[tuple[Tensor, Tensor]] = []

    def look_up(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return the embeddings that ``index`` (...) names, (rows, width), and its places there."""
        if not torch.is_grad_enabled():
            place = torch.arange(index.numel(), device=index.device).view(index.shape)
            return self.weight.index_select(0, index.reshape(-1)), place
        rows, place = torch.unique(index, return_inverse=True)
        values = self.weight.index_select(0, rows).requires_grad_()
        self._looked_up.append((rows, values))
        return values, place

    def forward(self, index: Tensor) -> Tensor:
        """Return the embeddings of ``index`` (...), (..., width)."""
        values, place = self.look_up(index)
        return nn.functional.embedding(place, values)

    def gradients(self) -> list[Tensor]:
        """Return the gradients of the rows that were looked up, to be scaled in place."""
        return [values.grad for _, values in self._looked_up if values.grad is not None]

    @torch.no_grad()
    def step(
        self, learning_rate: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        """Move the rows that were looked up since the last step."""
        self._steps += 1
        bias = (1.0 - betas[1] ** self._steps) ** 0.5
        size = learning_rate * bias / (1.0 - betas[0] ** self._steps)
        for rows, values in self._looked_up:
            if values.grad is None:
                continue
            mean = self.mean.index_select(0, rows).lerp_(values.grad, 1.0 - betas[0])
            square = self.square.index_select(0, rows).mul_(betas[1])
            square.addcmul_(values.grad, values.grad, value=1.0 - betas[1])
            self.mean.index_copy_(0, rows, mean)
            self.square.index_copy_(0, rows, square)
            moved = values.detach().addcdiv_(mean, square.sqrt_().add_(eps * bias), value=-size)
            self.weight.index_copy_(0, rows, moved)
        self._looked_up.clear()


class PairLinear(torch.autograd.Function):
    """Return W [q; d] + b for every slot of pages, (n, K, H), as one recorded operation.

    The query's half is worked out once a query and the document's once a document, of which the
    batch has ``queries`` (q, E) and ``documents`` (d, E); ``query_place`` (n,) and
    ``document_place`` (n, K) say which stands where. ``weights`` are (H, 2 E), ``bias`` is (H,).
    """

    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        query_place: Tensor,
        documents: Tensor,
        document_place: Tensor,
        weights: Tensor,
        bias: Tensor,
    ) -> Tensor:
        """Return the layer's outputs."""
        width = queries.shape[1]
        by_query = torch.addmm(bias, queries, weights[:, :width].t())
        by_document = documents @ weights[:, width:].t()
        result = by_document.index_select(0, document_place.view(-1))
        result = result.view(*document_place.shape, -1)
        result += by_query.index_select(0, query_place)[:, None]
        ctx.save_for_backward(queries, query_place, documents, document_place, weights)
        return result

    @staticmethod
    def backward(
        ctx: Any, *gradients: Tensor
    ) -> tuple[Tensor, None, Tensor, None, Tensor, Tensor]:
        """Return the gradients by embeddings, weights and bias."""
        queries, query_place, documents, document_place, weights = ctx.saved_tensors
        (slots,), width = gradients, queries.shape[1]
        flat = slots.reshape(-1, slots.shape[-1])
        by_query = slots.new_zeros(len(queries), slots.shape[-1])
        by_query.index_add_(0, query_place, slots.sum(dim=1))
        by_document = slots.new_zeros(len(documents), slots.shape[-1])
        by_document.index_add_(0, document_place.view(-1), flat)
        by_weights = torch.cat([by_query.t() @ queries, by_document.t() @ documents], dim=1)
        return (
            by_query @ weights[:, :width], None, by_document @ weights[:, width:], None,
            by_weights, by_query.sum(dim=0),
        )  # fmt: skip
