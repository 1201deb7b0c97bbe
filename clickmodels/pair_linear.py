"""A linear layer over embeddings of query and document, at the cost of what differs in a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


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
