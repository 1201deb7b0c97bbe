"""Which networks have gradients in NumPy, and the trainer that takes steps with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ....common.typing import Integers
from ....data import ClickLog
from ..embeddings import PairEncoder
from ..network import Network
from .batches import Batch, Pages
from .parameters import Floats, Parameters

if TYPE_CHECKING:
    from ..schedule import TrainingSettings

_VALIDATION_ROWS = 512  # whose states fit the cache


class Gradients(Protocol):
    """The losses of a network's pages and their gradients."""

    def forward(self, batch: Batch, record: bool) -> Floats:
        """Return minus the log-likelihood of each page, (n,); ``record`` for ``backward``."""

    def backward(self) -> None:
        """Write the gradients of the mean loss of the last batch to the parameters."""


MakeGradients = Callable[[Parameters, Any], Gradients]
Maker = TypeVar("Maker", bound=MakeGradients)
_GRADIENTS: dict[type[Network], MakeGradients] = {}


def gradients_of(network: type[Network]) -> Callable[[Maker], Maker]:
    """Register what makes the gradients of a ``network`` from its parameters: a decorator.

    The gradients are those of the class itself: a subclass may have another loss and is trained by
    torch.
    """

    def decorate(make: Maker) -> Maker:
        _GRADIENTS[network] = make
        return make

    return decorate


def has_gradients(network: Network) -> bool:
    """Return whether ``NumpyTrainer`` can train a network."""
    return type(network) in _GRADIENTS


class NumpyTrainer:
    """Trains a network in place by Adam, on the CPU."""

    def __init__(
        self, network: Network, log: ClickLog, validation: ClickLog, settings: TrainingSettings
    ) -> None:
        encoders = [module for module in network.modules() if isinstance(module, PairEncoder)]
        pages = min(settings.fitting(len(log)).batch_size, len(log))
        self.parameters = Parameters(network, pages, log.slots)
        self.gradients = _GRADIENTS[type(network)](self.parameters, network)
        self.pages = Pages(log, encoders[0], network.cells)
        self._validation = Pages(validation, encoders[0], network.cells).batches(_VALIDATION_ROWS)
        self._clip = settings.clip

    def step(self, rows: Integers, learning_rate: float) -> float:
        """Take one step down the mean loss of the chosen pages, and return that loss."""
        batch = self.pages.batch(rows)
        loss = self.gradients.forward(batch, record=True) @ batch.weight
        self.gradients.backward()
        self.parameters.step(learning_rate, self._clip)
        return float(loss)

    def validation_loss(self) -> float:
        """Return the mean loss of the pages held out for validation."""
        self.parameters.catch_up()
        total = sum(batch.total for batch in self._validation)
        losses = [
            float(self.gradients.forward(batch, record=False) @ batch.weight) * batch.total
            for batch in self._validation
        ]
        return sum(losses) / max(total, 1e-12)
