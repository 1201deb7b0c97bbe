"""The neural click model while it is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..networks.gru import GRU
from ..networks.network import Network, PairEncoder, click_loss

if TYPE_CHECKING:
    from ...data import World
    from ..base import ClickModel


class NCMNetwork(Network):
    """A GRU over query, document and previous click."""

    def __init__(self, world: World, embedding: int, hidden: int) -> None:
        super().__init__()
        self.encoder = PairEncoder(world, embedding)
        self.gru = GRU(self.encoder.width + 1, hidden)
        self.out = nn.Linear(hidden, 1)

    def loss(self, query: Tensor, ranking: Tensor, clicks: Tensor) -> Tensor:
        """Return minus the log-likelihood of each page, (n,)."""
        before = functional.pad(clicks[:, :-1].float(), (1, 0))
        gru = self.gru
        pairs = self.encoder.linear(query, ranking, gru.input_weights[:, :-1], gru.input_bias)
        gates = torch.addcmul(pairs, before[..., None], gru.input_weights[:, -1])
        logits = self.out(gru.states(gates))[..., 0]
        return click_loss(functional.logsigmoid(logits), clicks, ranking >= 0)

    def frozen(self) -> ClickModel:
        """Return an ``NCM``."""
        from .model import NCM

        encoder, gru = self.encoder, self.gru
        documents = encoder.document.weight[:-1].reshape(encoder.n_queries, encoder.n_docs, -1)
        return NCM(
            query_embedding=encoder.query.weight.detach().numpy(),
            document_embedding=documents.detach().numpy(),
            input_weights=gru.input_weights.detach().numpy(),
            hidden_weights=gru.hidden_weights.detach().numpy(),
            input_bias=gru.input_bias.detach().numpy(),
            hidden_bias=gru.hidden_bias.detach().numpy(),
            output_weights=self.out.weight[0].detach().numpy(),
            output_bias=float(self.out.bias.detach()),
        )
