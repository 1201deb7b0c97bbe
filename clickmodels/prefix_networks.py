"""Networks of the models whose examination depends on the click prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from .base import all_clicks
from .cells import prefix_cells
from .gru import GRU
from .networks import ExaminedNetwork

if TYPE_CHECKING:
    from ..data import World
    from .base import ClickModel


class ARMNetwork(ExaminedNetwork):
    """The auto-regressive click model."""

    def __init__(self, world: World, slots: int, embedding: int, hidden: int) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.weights = nn.Parameter(torch.zeros(slots))

    def examination(self, clicks: Tensor) -> Tensor:
        """Return w_0 plus the weights of the clicks above."""
        seen = torch.cumsum(clicks[:, :-1] * self.weights[1:], dim=1)
        return self.weights[0] + functional.pad(seen, (1, 0))

    def frozen(self) -> ClickModel:
        """Return an ``ARM``."""
        from .arm import ARM

        return ARM(self.attractiveness.table(), self.weights.detach().double().numpy())


class ARMNCNetwork(ExaminedNetwork):
    """The non-causal auto-regressive click model."""

    def __init__(self, world: World, slots: int, embedding: int, hidden: int) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.weights = nn.Parameter(torch.zeros(slots + 1))

    def examination(self, clicks: Tensor) -> Tensor:
        """Return w_0 plus the weights of the clicks above and of the click itself."""
        return self.weights[0] + torch.cumsum(clicks * self.weights[1:], dim=1)

    def frozen(self) -> ClickModel:
        """Return an ``ARMNC``."""
        from .arm_nc import ARMNC

        return ARMNC(self.attractiveness.table(), self.weights.detach().double().numpy())


class ClickGRU(nn.Module):
    """Examination logits from a GRU over (position, previous click) embeddings."""

    def __init__(self, slots: int, hidden: int) -> None:
        super().__init__()
        self.slots = slots
        self.position = nn.Embedding(slots, 8)
        self.click = nn.Embedding(3, 8)  # skipped, clicked, or nothing before the first slot
        self.gru = GRU(16, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, clicks: Tensor) -> Tensor:
        """Return the logits of every slot, (n, K), from clicks (n, K)."""
        previous = functional.pad(clicks[:, :-1].long(), (1, 0), value=2)
        places = torch.arange(clicks.shape[1], device=clicks.device).expand(clicks.shape)
        inputs = torch.cat([self.position(places), self.click(previous)], dim=2)
        return self.out(self.gru(inputs))[..., 0]

    def by_prefix(self) -> Tensor:
        """Return the logits of all click prefixes, (2^K - 1,), in the order of ``cells``."""
        clicks = np.pad(all_clicks(self.slots - 1), ((0, 0), (0, 1)))
        cells, first = np.unique(prefix_cells(clicks), return_index=True)
        if len(cells) != (1 << self.slots) - 1:
            raise AssertionError("every click prefix must occur")
        return self(torch.from_numpy(clicks)).reshape(-1)[torch.from_numpy(first)]


class CACMMinusNetwork(ExaminedNetwork):
    """CACM⊖ with embeddings."""

    def __init__(self, world: World, slots: int, embedding: int, hidden: int) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.gru = ClickGRU(slots, hidden)

    def examination(self, clicks: Tensor) -> Tensor:
        """Return the GRU's logits."""
        return self.gru(clicks)

    def frozen(self) -> ClickModel:
        """Return a ``CACMMinus``."""
        from .cacm import CACMMinus

        with torch.no_grad():
            examination = torch.sigmoid(self.gru.by_prefix().double()).numpy()
        return CACMMinus(self.attractiveness.table(), examination)


class GRUExamination:
    """The GRU's logits of the cells of a folded log, as ``fit_examined`` wants them."""

    def __init__(self, slots: int, hidden: int, cells: NDArray[np.int64]) -> None:
        self.network = ClickGRU(slots, hidden).double()
        self.cells = torch.from_numpy(cells)

    def start(self) -> NDArray[np.float64]:
        """Return the initial weights, flat."""
        with torch.no_grad():
            self.network.out.bias.fill_(1.0)
        return nn.utils.parameters_to_vector(self.network.parameters()).detach().numpy()

    def _set(self, theta: NDArray[np.float64]) -> None:
        nn.utils.vector_to_parameters(torch.from_numpy(theta.copy()), self.network.parameters())

    def logits(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cells' logits, (C,)."""
        return self.all_logits(theta)[self.cells.numpy()]

    def all_logits(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logits of all click prefixes, (2^K - 1,)."""
        self._set(theta)
        with torch.no_grad():
            return self.network.by_prefix().numpy()

    def pull_back(
        self, theta: NDArray[np.float64], gradient: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the gradient by the weights."""
        self._set(theta)
        self.network.zero_grad()
        self.network.by_prefix()[self.cells].backward(torch.from_numpy(gradient))
        gradients = [parameter.grad for parameter in self.network.parameters()]
        return torch.cat([g.reshape(-1) for g in gradients if g is not None]).numpy()

    def curvature(self, information: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one number for all weights: the information that all cells have together."""
        size = sum(parameter.numel() for parameter in self.network.parameters())
        return np.full(size, information.sum())
