"""Click models as networks, for fitting by mini-batches; torch stays inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ...common.typing import Floats
from ..cells import Cells, rank_cells
from .embeddings import Embedding, Hidden, PairLogits
from .support import Support, blend

if TYPE_CHECKING:
    from ...data import World
    from ..base import ClickModel

_MASKS = 7  # tells the generator of masks from others of the same seed


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch for the block, for initial weights, and leave its global state as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


class Network(nn.Module):
    """A click model being trained: knows the loss of pages and what model it becomes.

    A network is made from the world, the number of slots, and the widths of embeddings and hidden
    layers; ``make_network`` gives it the ``model``.

    Attributes
    ----------
    cells : Cells
        What the examination of a slot depends on; the NumPy trainer numbers it ahead of training.
    model : type of ClickModel
        What it becomes once trained.
    most_slots : int or None
        The longest page that it takes; None = any.
    dropout : float
        Share of states that networks with a use for it leave out of a training step.
    """

    cells: Cells = rank_cells
    model: type[ClickModel]
    most_slots: ClassVar[int | None] = None
    dropout: float = 0.0

    def drop(self, dropout: float, seed: int) -> None:
        """Set the dropout, whose masks the seed draws, the same for both trainers."""
        self.dropout = dropout
        self._masks = np.random.default_rng([seed, _MASKS])

    def draw_mask(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Return the factors of states of a training step: 0 where dropped, more than 1 else."""
        kept = self._masks.random(shape, dtype=np.float32) >= self.dropout
        return kept * np.float32(1.0 / (1.0 - self.dropout))

    def loss(self, query: Tensor, ranking: Tensor, clicks: Tensor) -> Tensor:
        """Return minus the log-likelihood of each page, (n,)."""
        raise NotImplementedError(f"{type(self).__name__} does not define loss()")

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments that make the trained model, as arrays.

        Here the probabilities of all logits, by their names: those of pairs and single parameters.
        """
        pairs = {
            name: module.table()
            for name, module in self.named_children()
            if isinstance(module, PairLogits)
        }
        return pairs | {
            name: probabilities(values) for name, values in self.named_parameters(recurse=False)
        }

    def frozen(self) -> ClickModel:
        """Return the trained model, as arrays."""
        return self.model(**self.arguments())

    def informed(self, support: Support) -> ClickModel:
        """Return the trained model, with the table's word on what its log hardly ever showed.

        Here the model's own tables are blended with those of the support.
        """
        arguments = self.arguments()
        for name, table in support.tables.items():
            arguments[name] = blend(arguments[name], table, support.shown)
        model = self.model(**arguments)
        model.uncertainty = support.uncertainty
        return model


def click_loss(log_click: Tensor, clicks: Tensor, shown: Tensor) -> Tensor:
    """Return minus the log-likelihood of pages, (n,), from log P(click) of each slot, (n, K)."""
    log_click = log_click.clamp(max=-1e-7)
    log_skip = torch.log(-torch.expm1(log_click))
    return -torch.where(shown, torch.where(clicks, log_click, log_skip), 0.0).sum(dim=1)


class ExaminedNetwork(Network):
    """P(click) = attractiveness × examination; subclasses say what examination depends on."""

    def __init__(self, world: World, slots: int, embedding: Embedding, hidden: Hidden) -> None:
        super().__init__()
        self.slots = slots
        self.attractiveness = PairLogits(world, embedding, hidden)

    def examination_logits(self, clicks: Tensor) -> Tensor:
        """Return the examination logits of every slot, (n, K), from the clicks (n, K)."""
        raise NotImplementedError(f"{type(self).__name__} does not define examination_logits()")

    def loss(self, query: Tensor, ranking: Tensor, clicks: Tensor) -> Tensor:
        """Return minus the log-likelihood of each page, (n,)."""
        attractive = functional.logsigmoid(self.attractiveness(query, ranking))
        examined = functional.logsigmoid(self.examination_logits(clicks))
        return click_loss(attractive + examined, clicks, ranking >= 0)


class CellNetwork(ExaminedNetwork):
    """The network of a model that has one examination logit for each of its ``cells``.

    It serves any model that declares ``table_fit = ExaminedFit(cells)`` (PBM, UBM): nobody writes
    a network for them.
    """

    def __init__(
        self, world: World, slots: int, embedding: Embedding, hidden: Hidden, cells: Cells
    ) -> None:
        super().__init__(world, slots, embedding, hidden)
        self.cells = cells
        self.examination = nn.Parameter(torch.zeros(cells.shape(slots)))

    def examination_logits(self, clicks: Tensor) -> Tensor:
        """Return the logits of the slots' cells."""
        none = torch.zeros(len(clicks), dtype=torch.long, device=clicks.device)
        walk: Any = self.cells(clicks)  # type: ignore[arg-type]
        numbers = [first + (none if local is None else local) for first, _, local in walk]
        return self.examination.reshape(-1)[torch.stack(numbers, dim=1)]


def probabilities(logits: Tensor) -> Floats:
    """Return the sigmoid of parameters, as an array."""
    return torch.sigmoid(logits.detach().double()).numpy()
