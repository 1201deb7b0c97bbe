"""A GRU over the clicks above as the examination that a table fit searches: it imports torch."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor, nn

from ...common.typing import Floats, Integers
from ..networks.network import seeded
from ..networks.prefix_networks import ClickGRU
from .examined_fit import Examination
from .pair_counts import PairCellFold

_HIDDEN = 32


def make_gru_examination(fold: PairCellFold, seed: int) -> GRUExamination:
    """Return a GRU as the examination of the cells of a folded log."""
    with seeded(seed):
        return GRUExamination(fold.slots, _HIDDEN, fold.cells)


class GRUExamination(Examination):
    """The GRU's logits of the cells of a folded log, in the form that ``fit_examined`` takes."""

    def __init__(self, slots: int, hidden: int, cells: Integers) -> None:
        self.network = ClickGRU(slots, hidden).double()
        self.cells = torch.from_numpy(cells)
        self._at: Floats | None = None
        self._logits: Tensor | None = None

    def start(self) -> Floats:
        """Return the initial weights, flat, with examination near 0.73."""
        with torch.no_grad():
            self.network.out.bias.fill_(1.0)
        return nn.utils.parameters_to_vector(self.network.parameters()).detach().numpy()

    def _all(self, theta: Floats) -> Tensor:
        """Return the logits of all prefixes, recorded; the last ones are kept for the gradient."""
        if self._logits is None or self._at is None or not np.array_equal(theta, self._at):
            self._at = theta.copy()
            vector = torch.from_numpy(self._at)
            nn.utils.vector_to_parameters(vector, self.network.parameters())
            self._logits = self.network.by_prefix()
        return self._logits

    def logits(self, theta: Floats) -> Floats:
        """Return the cells' logits, (C,)."""
        return self.all_logits(theta)[self.cells.numpy()]

    def all_logits(self, theta: Floats) -> Floats:
        """Return the logits of all click prefixes, (2^K - 1,)."""
        return self._all(theta).detach().numpy()

    def pull_back(self, theta: Floats, gradient: Floats) -> Floats:
        """Return the gradient by the weights."""
        chosen = self._all(theta)[self.cells]
        self._logits = None  # its record serves one gradient
        parameters = list(self.network.parameters())
        gradients = torch.autograd.grad(chosen, parameters, torch.from_numpy(gradient))
        return torch.cat([part.reshape(-1) for part in gradients]).numpy()

    def arguments(self, theta: Floats) -> dict[str, Floats]:
        """Return the examination of every click prefix."""
        return {"examination": expit(self.all_logits(theta))}

    def curvature(self, information: Floats) -> Floats:
        """Return one number for all weights: the information that all cells have together."""
        size = sum(parameter.numel() for parameter in self.network.parameters())
        return np.full(size, information.sum())
