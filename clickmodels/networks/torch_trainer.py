"""Training steps of any network by torch's autograd."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...common.typing import Integers
from ...data import ClickLog
from ..pages import row_weights
from .embeddings import LazyEmbedding
from .network import Network

if TYPE_CHECKING:
    from .schedule import TrainingSettings

_VALIDATION_ROWS = 4096


class TorchTrainer:
    """Trains a network in place by Adam, on any device."""

    def __init__(
        self, network: Network, log: ClickLog, validation: ClickLog, settings: TrainingSettings
    ) -> None:
        self.network, self.clip = network, settings.clip
        self.device = torch.device(settings.device)
        network.to(self.device)
        self.pages = PageTensors(log, self.device)
        self.validation = PageTensors(validation, self.device)
        self.dense = [p for p in network.parameters() if p.requires_grad]
        self.embeddings = [m for m in network.modules() if isinstance(m, LazyEmbedding)]
        rate = settings.fitting(len(log)).learning_rate
        self.optimiser = torch.optim.Adam(self.dense, lr=rate, fused=True)

    def step(self, rows: Integers, learning_rate: float) -> float:
        """Take one step down the mean loss of the chosen pages, and return that loss."""
        loss = self.pages.batch_loss(self.network, torch.from_numpy(rows).to(self.device))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self._clip_gradients()
        self.optimiser.param_groups[0]["lr"] = learning_rate
        self.optimiser.step()
        for embedding in self.embeddings:
            embedding.step(learning_rate)
        return float(loss.detach())

    def validation_loss(self) -> float:
        """Return the mean loss of the pages held out for validation."""
        for embedding in self.embeddings:
            embedding.catch_up()
        return self.validation.mean_loss(self.network)

    @torch.no_grad()
    def _clip_gradients(self) -> None:
        """Scale all gradients together to the norm ``clip``, those of embeddings included."""
        gradients = [p.grad for p in self.dense if p.grad is not None]
        for embedding in self.embeddings:
            gradients += embedding.gradients()
        norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))
        if not math.isfinite(norm):
            raise FloatingPointError("a gradient became infinite while fitting")
        if norm > self.clip:
            torch._foreach_mul_(gradients, self.clip / norm)


class PageTensors:
    """The pages of a log as tensors."""

    def __init__(self, log: ClickLog, device: torch.device) -> None:
        def tensor(array: NDArray[Any], dtype: Any) -> Tensor:
            return torch.from_numpy(array.astype(dtype)).to(device)

        self.query = tensor(log.query, np.int64)
        self.ranking = tensor(log.ranking, np.int64)
        self.clicks = tensor(log.clicks, np.bool_)
        self.weight = tensor(row_weights(log), np.float32)

    def batch_loss(self, network: Network, rows: Tensor) -> Tensor:
        """Return the mean loss of the chosen pages, recorded for a step."""
        losses = network.loss(self.query[rows], self.ranking[rows], self.clicks[rows])
        weight = self.weight[rows]
        return (losses * weight).sum() / weight.sum().clamp(min=1e-12)

    @torch.no_grad()
    def mean_loss(self, network: Network) -> float:
        """Return the mean loss of all pages."""
        total = 0.0
        for start in range(0, len(self.query), _VALIDATION_ROWS):
            part = slice(start, start + _VALIDATION_ROWS)
            losses = network.loss(self.query[part], self.ranking[part], self.clicks[part])
            total += float((losses * self.weight[part]).sum())
        return total / max(float(self.weight.sum()), 1e-12)
