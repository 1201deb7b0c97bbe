"""The one training loop of all models fitted by mini-batches."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...common import checks
from ...common.progress import progress
from ...data import ClickLog
from .embeddings import LazyEmbedding
from .network import Network
from .numpy import ByHand, can_train

_VALIDATION_ROWS = 4096


@dataclass(frozen=True)
class TrainingSettings:
    """The robustness paper's schedule; everything is counted in validations.

    Parameters
    ----------
    batch_size, learning_rate, epochs, clip
        Mini-batches of Adam, at most so many passes, gradients clipped to this norm. Embeddings
        are updated only where a batch shows them (see ``LazyEmbedding``).
    check_every
        Batches from one validation to the next.
    halve_after, stop_after
        Validations without progress after which the learning rate is halved, training ended.
    embedding, hidden
        Width of embeddings and of hidden layers.
    device
        "cpu", or e.g. "cuda" where torch has it.
    log_dir
        Where to write TensorBoard scalars (training and validation loss, learning rate).
    """

    batch_size: int = 32
    learning_rate: float = 1e-3
    epochs: int = 20
    clip: float = 40.0
    check_every: int = 500
    halve_after: int = 2
    stop_after: int = 3
    embedding: int = 64
    hidden: int = 64
    device: str = "cpu"
    log_dir: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("learning_rate", "clip"):
                if not (isinstance(value, (int, float)) and 0 < value < math.inf):
                    raise ValueError(f"{field.name} must be above 0, not {value!r}")
            elif field.name not in ("device", "log_dir"):
                checks.positive_integer(value, field.name)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch for the block, for initial weights, and leave its global state as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def train(
    network: Network,
    log: ClickLog,
    seed: int,
    validation: ClickLog | None,
    settings: TrainingSettings,
) -> None:
    """Train ``network`` on ``log`` in place, and leave it in its best state.

    The best state is the one with the lowest loss on ``validation`` (without it, on a tenth of
    ``log``; a log of a few rows is its own validation). The same seed gives the same result.
    """
    if validation is None:
        log, validation = _held_out(log, seed)
    by_hand = can_train(network, settings.device)
    kind: type[ByHand] | type[_ByTorch] = ByHand if by_hand else _ByTorch
    trainer = kind(network, log, validation, settings)
    schedule = _Schedule(network, settings)
    rng = np.random.default_rng(seed)
    batches = math.ceil(len(log) / settings.batch_size)
    with _writer(settings.log_dir) as write, progress(
        batches * settings.epochs, f"fitting {type(network).__name__}"
    ) as advance:
        step = 0
        recent: list[float] = []  # training losses since the last validation
        schedule.validated(trainer.validation_loss())
        for _ in range(settings.epochs):
            order = rng.permutation(len(log))
            for start in range(0, len(log), settings.batch_size):
                rows = order[start : start + settings.batch_size]
                recent.append(trainer.step(rows, schedule.learning_rate))
                step += 1
                advance(1)
                if step % settings.check_every == 0 or step == batches * settings.epochs:
                    loss = trainer.validation_loss()
                    write("training loss", sum(recent) / len(recent), step)
                    write("validation loss", loss, step)
                    write("learning rate", schedule.learning_rate, step)
                    recent.clear()
                    if schedule.validated(loss):
                        schedule.restore()
                        return
        schedule.restore()


class _Pages:
    """A log as tensors."""

    def __init__(self, log: ClickLog, device: torch.device) -> None:
        def tensor(array: NDArray[Any], dtype: Any) -> Tensor:
            return torch.from_numpy(array.astype(dtype)).to(device)

        self.query = tensor(log.query, np.int64)
        self.ranking = tensor(log.ranking, np.int64)
        self.clicks = tensor(log.clicks, np.bool_)
        weight = np.ones(len(log)) if log.weight is None else log.weight
        self.weight = tensor(weight, np.float32)

    def batch_loss(self, network: Network, rows: Tensor) -> Tensor:
        """Return the mean loss of the chosen pages."""
        losses = network.loss(self.query[rows], self.ranking[rows], self.clicks[rows])
        weight = self.weight[rows]
        return (losses * weight).sum() / weight.sum().clamp(min=1e-12)

    @torch.no_grad()
    def loss(self, network: Network) -> float:
        """Return the mean loss of all pages."""
        total = 0.0
        for start in range(0, len(self.query), _VALIDATION_ROWS):
            part = slice(start, start + _VALIDATION_ROWS)
            losses = network.loss(self.query[part], self.ranking[part], self.clicks[part])
            total += float((losses * self.weight[part]).sum())
        return total / max(float(self.weight.sum()), 1e-12)


class _ByTorch:
    """Steps of Adam by autograd."""

    def __init__(
        self, network: Network, log: ClickLog, validation: ClickLog, settings: TrainingSettings
    ) -> None:
        self.network, self.clip = network, settings.clip
        self.device = torch.device(settings.device)
        network.to(self.device)
        self.pages, self.checks = _Pages(log, self.device), _Pages(validation, self.device)
        self.dense = [p for p in network.parameters() if p.requires_grad]
        self.embeddings = [m for m in network.modules() if isinstance(m, LazyEmbedding)]
        self.optimiser = torch.optim.Adam(self.dense, lr=settings.learning_rate, fused=True)

    def step(self, rows: NDArray[np.int64], learning_rate: float) -> float:
        """Take one step down the mean loss of the chosen pages, and return it."""
        loss = self.pages.batch_loss(self.network, torch.from_numpy(rows).to(self.device))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self._clip()
        self.optimiser.param_groups[0]["lr"] = learning_rate
        self.optimiser.step()
        for embedding in self.embeddings:
            embedding.step(learning_rate)
        return float(loss.detach())

    def validation_loss(self) -> float:
        """Return the mean loss of all pages for validation."""
        return self.checks.loss(self.network)

    @torch.no_grad()
    def _clip(self) -> None:
        """Scale all gradients together to the norm ``clip``, those of embeddings included."""
        gradients = [p.grad for p in self.dense if p.grad is not None]
        for embedding in self.embeddings:
            gradients += embedding.gradients()
        norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))
        if not math.isfinite(norm):
            raise FloatingPointError("a gradient became infinite while fitting")
        if norm > self.clip:
            torch._foreach_mul_(gradients, self.clip / norm)


class _Schedule:
    """The learning rate, the best state and the end, decided by validations."""

    def __init__(self, network: Network, settings: TrainingSettings) -> None:
        self.network, self.settings = network, settings
        self.learning_rate = settings.learning_rate
        self.best, self.best_state = math.inf, copy.deepcopy(network.state_dict())
        self.without_progress = 0

    def validated(self, loss: float) -> bool:
        """Take note of a validation loss; return whether training ends here."""
        if not math.isfinite(loss):
            raise FloatingPointError("the validation loss became infinite while fitting")
        if loss < self.best:
            self.best, self.without_progress = loss, 0
            for name, value in self.network.state_dict().items():
                self.best_state[name].copy_(value)
            return False
        self.without_progress += 1
        if self.without_progress % self.settings.halve_after == 0:
            self.learning_rate *= 0.5
        return self.without_progress >= self.settings.stop_after

    def restore(self) -> None:
        """Bring the best state back."""
        self.network.load_state_dict(self.best_state)
        self.network.to("cpu")


def _held_out(log: ClickLog, seed: int) -> tuple[ClickLog, ClickLog]:
    if len(log) < 20:
        return log, log
    training, validation = log.split((0.9, 0.1), seed)
    return training, validation


class _writer:
    """TensorBoard scalars, or nothing without a folder."""

    def __init__(self, log_dir: str | os.PathLike[str] | None) -> None:
        self._writer: Any = None
        if log_dir is not None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise ImportError("log_dir needs pip install 'clickgym[agents]'") from error
            self._writer = SummaryWriter(str(log_dir))

    def __enter__(self) -> Any:
        return self._write

    def _write(self, tag: str, value: float, step: int) -> None:
        if self._writer is not None:
            self._writer.add_scalar(f"fit/{tag}", value, step)

    def __exit__(self, *error: Any) -> None:
        if self._writer is not None:
            self._writer.close()
