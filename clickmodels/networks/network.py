"""Click models as networks, for fitting by mini-batches; torch stays inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from .embeddings import PairLogits

if TYPE_CHECKING:
    from ...data import World
    from ..base import ClickModel


class Network(nn.Module):
    """A click model being trained: knows the loss of pages and what model it becomes."""

    def loss(self, query: Tensor, ranking: Tensor, clicks: Tensor) -> Tensor:
        """Return minus the log-likelihood of each page, (n,)."""
        raise NotImplementedError(f"{type(self).__name__} does not define loss()")

    def frozen(self) -> ClickModel:
        """Return the trained model, as arrays."""
        raise NotImplementedError(f"{type(self).__name__} does not define frozen()")


def click_loss(log_click: Tensor, clicks: Tensor, shown: Tensor) -> Tensor:
    """Return minus the log-likelihood of pages, (n,), from log P(click) of each slot, (n, K)."""
    log_click = log_click.clamp(max=-1e-7)
    log_skip = torch.log(-torch.expm1(log_click))
    return -torch.where(shown, torch.where(clicks, log_click, log_skip), 0.0).sum(dim=1)


class ExaminedNetwork(Network):
    """P(click) = attractiveness × examination; subclasses say what examination depends on."""

    def __init__(self, world: World, slots: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.slots = slots
        self.attractiveness = PairLogits(world, embedding, hidden)

    def examination(self, clicks: Tensor) -> Tensor:
        """Return the examination logits of every slot, (n, K), from the clicks (n, K)."""
        raise NotImplementedError(f"{type(self).__name__} does not define examination()")

    def loss(self, query: Tensor, ranking: Tensor, clicks: Tensor) -> Tensor:
        """Return minus the log-likelihood of each page, (n,)."""
        attractive = functional.logsigmoid(self.attractiveness(query, ranking))
        examined = functional.logsigmoid(self.examination(clicks))
        return click_loss(attractive + examined, clicks, ranking >= 0)


class PBMNetwork(ExaminedNetwork):
    """The position-based model."""

    def __init__(self, world: World, slots: int, embedding: int, hidden: int) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.ranks = nn.Parameter(torch.zeros(slots))

    def examination(self, clicks: Tensor) -> Tensor:
        """Return a logit by rank."""
        return self.ranks.expand(clicks.shape)

    def frozen(self) -> ClickModel:
        """Return a ``PBM``."""
        from ..pbm import PBM

        return PBM(self.attractiveness.table(), probabilities(self.ranks))


class UBMNetwork(ExaminedNetwork):
    """The user browsing model."""

    def __init__(self, world: World, slots: int, embedding: int, hidden: int) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.ranks = nn.Parameter(torch.zeros(slots, slots))

    def examination(self, clicks: Tensor) -> Tensor:
        """Return a logit by rank and rank of the latest click."""
        ranks = torch.arange(1, self.slots + 1, device=clicks.device)
        latest = torch.cummax(torch.where(clicks, ranks, 0), dim=1).values
        latest = functional.pad(latest[:, :-1], (1, 0))
        return self.ranks[ranks - 1, latest]

    def frozen(self) -> ClickModel:
        """Return a ``UBM``."""
        from ..ubm import UBM

        return UBM(self.attractiveness.table(), probabilities(self.ranks))


def probabilities(logits: Tensor) -> NDArray[np.float64]:
    """Return the sigmoid of parameters, as an array."""
    return torch.sigmoid(logits.detach().double()).numpy()
