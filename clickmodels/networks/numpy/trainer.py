"""Steps and validations of a network with hand-written gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ....data import ClickLog
from ..embeddings import PairEncoder
from ..network import Network
from .gradients import BY_HAND
from .pages import Pages
from .parameters import Parameters

if TYPE_CHECKING:
    from ..training import TrainingSettings

_VALIDATION_ROWS = 512  # whose states fit the cache


def can_train(network: Network, device: str) -> bool:
    """Return whether ``ByHand`` does."""
    return type(network) in BY_HAND and device == "cpu"


class ByHand:
    """Trains a network in place, on the CPU."""

    def __init__(
        self, network: Network, log: ClickLog, validation: ClickLog, settings: TrainingSettings
    ) -> None:
        encoders = [module for module in network.modules() if isinstance(module, PairEncoder)]
        pages = min(settings.batch_size, len(log))
        self._parameters = Parameters(network, len(encoders) * pages * (1 + log.slots))
        make, cells = BY_HAND[type(network)]
        self._network = make(self._parameters, network)
        self._pages = Pages(log, encoders[0], cells)
        self._checks = Pages(validation, encoders[0], cells).batches(_VALIDATION_ROWS)
        self._clip = settings.clip

    def step(self, rows: NDArray[np.int64], learning_rate: float) -> float:
        """Take a step down the mean loss of the chosen pages, and return it."""
        batch = self._pages.batch(rows)
        loss = self._network.forward(batch, record=True) @ batch.weight
        self._network.backward()
        self._parameters.move(learning_rate, self._clip)
        return float(loss)

    def validation_loss(self) -> float:
        """Return the mean loss of all pages for validation."""
        total = sum(batch.total for batch in self._checks)
        means = [
            float(self._network.forward(batch, record=False) @ batch.weight) * batch.total
            for batch in self._checks
        ]
        return sum(means) / max(total, 1e-12)
