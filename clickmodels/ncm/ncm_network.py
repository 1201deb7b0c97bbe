"""The neural click model as it is trained: the network, and its gradients in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ..networks.embeddings import Embedding, Hidden, PairEncoder, all_widths
from ..networks.network import Network, click_loss
from ..networks.numpy import gradients_of, layers
from ..networks.numpy.batches import Batch
from ..networks.numpy.parameters import Floats, Parameters
from ..networks.numpy.recurrent import Chains, Recurrent
from ..networks.support import Support
from .informed import inform

if TYPE_CHECKING:
    from ...data import World
    from .model import NCM

_GRU_NAMES = ("input_weights", "hidden_weights", "input_bias", "hidden_bias")  # in torch's order


class NCMNetwork(Network):
    """A GRU over query, document and previous click."""

    def __init__(self, world: World, slots: int, embedding: Embedding, hidden: Hidden) -> None:
        super().__init__()
        self.encoder = PairEncoder(world, embedding)
        width = all_widths(hidden)[0]
        self.gru = nn.GRU(self.encoder.width + 1, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def loss(self, query: Tensor, ranking: Tensor, clicks: Tensor) -> Tensor:
        """Return minus the log-likelihood of each page, (n,)."""
        before = functional.pad(clicks[:, :-1].float(), (1, 0))[..., None]
        states, _ = self.gru(torch.cat([self.encoder(query, ranking), before], dim=2))
        if torch.is_grad_enabled() and self.dropout:
            pages, slots, width = states.shape
            mask = torch.from_numpy(self.draw_mask((slots, pages, width)))
            states = states * mask.transpose(0, 1).to(states.device)
        logits = self.out(states)[..., 0]
        return click_loss(functional.logsigmoid(logits), clicks, ranking >= 0)

    @torch.no_grad()
    def arguments(self) -> dict[str, Any]:
        """Return embeddings and weights."""
        encoder = self.encoder
        if encoder.shared is None:
            table = encoder.document.weight[:-1].reshape(encoder.n_queries, encoder.n_docs, -1)
            documents = {"document_embedding": table.numpy()}
        else:
            table, rows = encoder.document.weight, encoder.shared
            documents = {"document_embedding": table.numpy(), "document_rows": rows.numpy()}
        weights = zip(_GRU_NAMES, self.gru.all_weights[0], strict=True)
        return {
            "query_embedding": encoder.query.weight.numpy(),
            **documents,
            "output_weights": self.out.weight[0].numpy(),
            "output_bias": float(self.out.bias),
            **{name: parameter.numpy() for name, parameter in weights},
        }

    def informed(self, support: Support) -> NCM:
        """Return the trained model with typical documents for those that its log never showed."""
        return inform(cast("NCM", self.frozen()), support)


@gradients_of(NCMNetwork)
class NCMGradients:
    """The losses and gradients of ``NCMNetwork``."""

    def __init__(self, parameters: Parameters, network: NCMNetwork) -> None:
        self._recurrent = recurrent = Recurrent(parameters, network.gru)
        pairs, self._click = recurrent.input_weights[:, :-1], recurrent.input_weights[:, -1]
        self._layer = layers.PairLayer(parameters, network.encoder, pairs, recurrent.input_bias)
        self._out = layers.Output(parameters, network.out)
        self._network = network

    def forward(self, batch: Batch, record: bool) -> Floats:
        """Return minus the log-likelihood of each page, (n,)."""
        self._batch = batch
        slots, pages = batch.clicks.shape
        ahead = self._layer.forward(batch, record)
        self._clicked = batch.clicks[:-1].ravel().nonzero()[0] + pages  # the slots below clicks
        ahead[self._clicked] += self._click.values
        states = self._recurrent.forward(ahead, Chains(slots, pages))
        self._mask = None
        if record and self._network.dropout:
            mask = self._network.draw_mask((slots, pages, states.shape[-1]))
            self._mask = mask.reshape(states.shape)
            states = states * self._mask
        self._log_click = layers.log_sigmoid(self._out.forward(states).reshape(slots, pages))
        return layers.click_loss(self._log_click, batch)

    def backward(self) -> None:
        """Write the gradients of the mean loss."""
        gradient = layers.click_gradient(self._log_click, self._batch)
        gradient *= layers.complement(self._log_click)
        by_states = self._out.backward(gradient.ravel())
        if self._mask is not None:
            by_states = by_states * self._mask
        by_ahead = self._recurrent.backward(by_states)
        np.sum(by_ahead[self._clicked], axis=0, out=self._click.gradient)
        self._layer.backward(by_ahead)
