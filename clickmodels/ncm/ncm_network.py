"""The neural click model while it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..networks.embeddings import PairEncoder
from ..networks.network import Network, click_loss
from ..registry import network_of, registered_class

if TYPE_CHECKING:
    from ...data import World
    from ..base import ClickModel

_GRU_NAMES = ("input_weights", "hidden_weights", "input_bias", "hidden_bias")  # in torch's order


@network_of("NCM")
class NCMNetwork(Network):
    """A GRU over query, document and previous click."""

    def __init__(self, world: World, embedding: int, hidden: int) -> None:
        super().__init__()
        self.encoder = PairEncoder(world, embedding)
        self.gru = nn.GRU(self.encoder.width + 1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def loss(self, query: Tensor, ranking: Tensor, clicks: Tensor) -> Tensor:
        """Return minus the log-likelihood of each page, (n,)."""
        before = functional.pad(clicks[:, :-1].float(), (1, 0))[..., None]
        states, _ = self.gru(torch.cat([self.encoder(query, ranking), before], dim=2))
        logits = self.out(states)[..., 0]
        return click_loss(functional.logsigmoid(logits), clicks, ranking >= 0)

    @torch.no_grad()
    def frozen(self) -> ClickModel:
        """Return an ``NCM``."""
        model: Any = registered_class("NCM")
        encoder = self.encoder
        documents = encoder.document.weight[:-1].reshape(encoder.n_queries, encoder.n_docs, -1)
        weights = {
            name: parameter.numpy()
            for name, parameter in zip(_GRU_NAMES, self.gru.all_weights[0], strict=True)
        }
        return model(
            query_embedding=encoder.query.weight.numpy(),
            document_embedding=documents.numpy(),
            output_weights=self.out.weight[0].numpy(),
            output_bias=float(self.out.bias),
            **weights,
        )
