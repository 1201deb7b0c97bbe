"""The networks of click models, from batches to losses and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ...ncm.ncm_network import NCMNetwork
from ...tablefit.cells import Cells, latest_cells, prefix_cells, rank_cells
from ..cascade_networks import DBNNetwork
from ..network import ExaminedNetwork, Network, PBMNetwork, UBMNetwork
from ..prefix_networks import ARMNCNetwork, ARMNetwork, CACMMinusNetwork
from .dbn_gradients import DBNByHand
from .examinations import CellTable, ClickWeights, Examination, PrefixGRU
from .layers import (
    Output,
    PairLayer,
    PairScores,
    click_gradient,
    click_loss,
    complement,
    log_sigmoid,
)
from .pages import Batch
from .parameters import Floats, Parameters
from .recurrent import Chains, Recurrent


class NetworkByHand(Protocol):
    """A network whose gradients are written by hand."""

    def forward(self, batch: Batch, record: bool) -> Floats:
        """Return minus the log-likelihood of each page, (n,); ``record`` for ``backward``."""

    def backward(self) -> None:
        """Write the gradients of the mean loss of the last batch."""


class ExaminedByHand:
    """P(click) = attractiveness × examination."""

    def __init__(
        self, parameters: Parameters, network: ExaminedNetwork, examination: Examination
    ) -> None:
        self._scores = PairScores(parameters, network.attractiveness)
        self._examination = examination

    def forward(self, batch: Batch, record: bool) -> Floats:
        """Return minus the log-likelihood of each page, (n,)."""
        self._batch = batch
        self._attractive = log_sigmoid(self._scores.forward(batch, record))
        self._examined = log_sigmoid(self._examination.forward(batch))
        return click_loss(self._attractive + self._examined, batch)

    def backward(self) -> None:
        """Write the gradients of the mean loss."""
        gradient = click_gradient(self._attractive + self._examined, self._batch)
        self._scores.backward(gradient * complement(self._attractive))
        self._examination.backward(gradient * complement(self._examined))


class NCMByHand:
    """A GRU over query, document and previous click."""

    def __init__(self, parameters: Parameters, network: NCMNetwork) -> None:
        of, gru = parameters.of, network.gru
        inputs, _, bias, _ = map(of, gru.all_weights[0])
        pairs = inputs[:, :-1]
        self._layer = PairLayer(parameters, network.encoder, pairs, bias)
        self._click = inputs[:, -1]
        self._recurrent = Recurrent(parameters, gru)
        self._out = Output(of(network.out.weight), of(network.out.bias))

    def forward(self, batch: Batch, record: bool) -> Floats:
        """Return minus the log-likelihood of each page, (n,)."""
        self._batch = batch
        slots, pages = batch.clicks.shape
        ahead = self._layer.forward(batch, record)
        self._clicked = batch.clicks[:-1].ravel().nonzero()[0] + pages  # the slots below clicks
        ahead[self._clicked] += self._click.values
        states = self._recurrent.forward(ahead, Chains(slots, pages))
        self._log_click = log_sigmoid(self._out.forward(states).reshape(slots, pages))
        return click_loss(self._log_click, batch)

    def backward(self) -> None:
        """Write the gradients of the mean loss."""
        gradient = click_gradient(self._log_click, self._batch)
        gradient *= complement(self._log_click)
        by_ahead = self._recurrent.backward(self._out.backward(gradient.ravel()))
        np.sum(by_ahead[self._clicked], axis=0, out=self._click.gradient)
        self._layer.backward(by_ahead)


def _by_cell(parameters: Parameters, network: PBMNetwork | UBMNetwork) -> NetworkByHand:
    return ExaminedByHand(parameters, network, CellTable(parameters.of(network.ranks)))


def _by_clicks(parameters: Parameters, network: ARMNetwork | ARMNCNetwork) -> NetworkByHand:
    return ExaminedByHand(parameters, network, ClickWeights(parameters.of(network.weights)))


def _by_prefix(parameters: Parameters, network: CACMMinusNetwork) -> NetworkByHand:
    return ExaminedByHand(parameters, network, PrefixGRU(parameters, network.gru))


# How a network is made, and the cells of clicks that its examination depends on, if on any
BY_HAND: dict[type[Network], tuple[Callable[[Parameters, Any], NetworkByHand], Cells]] = {
    PBMNetwork: (_by_cell, rank_cells),
    UBMNetwork: (_by_cell, latest_cells),
    ARMNetwork: (_by_clicks, rank_cells),
    ARMNCNetwork: (_by_clicks, rank_cells),
    CACMMinusNetwork: (_by_prefix, prefix_cells),
    DBNNetwork: (DBNByHand, rank_cells),
    NCMNetwork: (NCMByHand, rank_cells),
}
