"""The training loop of all networks: mini-batches, validations, learning rate and stopping."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import Generator

from ...common import checks
from ...common.progress import progress
from ...common.runtime import import_extra
from ...data import ClickLog
from .embeddings import Embedding, Hidden
from .network import Network
from .numpy import NumpyTrainer, has_gradients
from .torch_trainer import TorchTrainer

_PAPER_BATCH, _PAPER_RATE = 32, 1e-3
_LARGER = ((64_000, 128), (32_000, 64))  # pages of a log, and of a step
_CHECKED_PAGES = 16_000  # from one validation to the next


class Steps(NamedTuple):
    """Pages in a step of training, its learning rate, and steps from validation to validation."""

    batch_size: int
    learning_rate: float
    check_every: int


@dataclass(frozen=True)
class TrainingSettings:
    """How networks are built and trained: by default as in the robustness paper's released code.

    ``named("text")`` has what the paper's text says instead. Our own are the steps on larger logs
    (see ``fitting``), the clip (the code never passes its own on), that validations halve the rate
    as well, as in the text, and that passes of fewer than 80,000 pages do not each halve it.

    Parameters
    ----------
    batch_size, learning_rate, epochs, clip
        Adam on mini-batches of so many pages, for at most so many passes over the log; gradients
        are clipped to this norm. Embeddings that a batch does not show go on by their momentum.
        None: what fits the log.
    check_every
        Batches from one validation to the next; None for one after 16,000 pages.
    halve_each_epoch
        Whether the learning rate is halved after every pass over the log, or every few passes over
        a log of less than the paper's 80,000 pages.
    halve_after, stop_after
        After so many validations without progress the learning rate is halved, training ends.
    embedding, hidden
        Widths of embeddings (one, or those of queries and of documents) and of hidden layers (one,
        or several). Recurrent units have the first hidden width.
    dropout
        Share of the recurrent states that NCM's last layer does not see in a training step.
    device
        "cpu", or e.g. "cuda" where torch has it.
    log_dir
        Where to write TensorBoard scalars (training and validation loss, learning rate).
    """

    batch_size: int | None = None
    learning_rate: float | None = None
    epochs: int = 20
    clip: float = 40.0
    check_every: int | None = None
    halve_each_epoch: bool = True
    halve_after: int = 2
    stop_after: int = 3
    embedding: Embedding = (32, 64)
    hidden: Hidden = (64, 16)
    dropout: float = 0.2
    device: str = "cpu"
    log_dir: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.name in ("batch_size", "learning_rate", "check_every"):
                continue
            if field.name in ("learning_rate", "clip"):
                if not (isinstance(value, (int, float)) and 0 < value < math.inf):
                    raise ValueError(f"{field.name} must be above 0, not {value!r}")
            elif field.name == "dropout":
                if not (isinstance(value, (int, float)) and 0 <= value < 1):
                    raise ValueError(f"dropout must be in [0, 1), not {value!r}")
            elif field.name in ("embedding", "hidden"):
                self._check_widths(field.name, value)
            elif field.name not in ("device", "log_dir", "halve_each_epoch"):
                checks.positive_integer(value, field.name)

    @staticmethod
    def _check_widths(name: str, value: Embedding | Hidden) -> None:
        widths = value if isinstance(value, tuple) else (value,)
        if not widths or (name == "embedding" and len(widths) > 2):
            raise ValueError(f"{name} must be a width or a tuple of some, not {value!r}")
        for width in widths:
            checks.positive_integer(width, name)

    def fitting(self, pages: int) -> Steps:
        """Return the steps for a log of so many pages, of which those that are set are taken.

        The paper's are 32 pages at a rate of 1e-3. From 32,000 pages on a step takes twice as many,
        from 64,000 on four times, at a rate that grows by the power 1.5: nearly as good, and
        twice as fast. On fewer pages such large steps end in worse states than small ones.
        """
        batch = self.batch_size
        if batch is None:
            batch = next((many for least, many in _LARGER if pages >= least), _PAPER_BATCH)
        rate = self.learning_rate
        if rate is None:
            largest = _LARGER[0][1]
            rate = _PAPER_RATE * (min(max(batch, _PAPER_BATCH), largest) / _PAPER_BATCH) ** 1.5
        return Steps(batch, rate, self.check_every or max(_CHECKED_PAGES // batch, 1))

    @classmethod
    def named(cls, name: str = "released", **changes: Any) -> Self:
        """Return the settings of the paper's released code or of its text, with ``changes``."""
        checks.choice(name, tuple(_NAMED), "training")
        return cls(**{**_NAMED[name], **changes})


_HALVED_PAGES = 80_000  # a pass over the paper's logs: halved more often, training ends too early
_NAMED: dict[str, dict[str, Any]] = {
    "released": {},
    "text": {
        "batch_size": _PAPER_BATCH, "learning_rate": _PAPER_RATE, "halve_each_epoch": False,
        "embedding": 64, "hidden": 64, "dropout": 0.0,
    },
}


def train(
    network: Network,
    log: ClickLog,
    seed: int,
    validation: ClickLog | None,
    settings: TrainingSettings,
) -> None:
    """Train ``network`` on ``log`` in place, and leave it in its best state.

    The best state is the one with the lowest loss on ``validation`` (without it, on a tenth of
    ``log``; a log of fewer than 20 rows is its own validation). The same seed gives the same
    result. Networks with gradients in NumPy are trained with them on the CPU, others by torch.
    """
    if validation is None:
        log, validation = (log, log) if len(log) < 20 else log.split((0.9, 0.1), seed)
    by_numpy = settings.device == "cpu" and has_gradients(network)
    trainer_class: type[NumpyTrainer | TorchTrainer] = NumpyTrainer if by_numpy else TorchTrainer
    chosen = settings.fitting(len(log))
    trainer = trainer_class(network, log, validation, settings)
    schedule = _Schedule(network, settings, chosen.learning_rate)
    schedule.note_validation(trainer.validation_loss())
    rng = np.random.default_rng(seed)
    epoch = math.ceil(len(log) / chosen.batch_size)  # in steps
    steps = settings.epochs * epoch
    passes = math.ceil(_HALVED_PAGES / len(log)) if settings.halve_each_epoch else settings.epochs
    recent: list[float] = []  # training losses since the last validation
    with (
        _scalar_writer(settings.log_dir) as write,
        progress(steps, f"fitting {type(network).__name__}") as advance,
    ):
        batches = _batches(rng, len(log), chosen.batch_size, settings.epochs)
        for step, rows in enumerate(batches, start=1):
            recent.append(trainer.step(rows, schedule.learning_rate))
            advance(1)
            if step % (passes * epoch) == 0:
                schedule.learning_rate *= 0.5
            if step % chosen.check_every and step != steps:
                continue
            loss = trainer.validation_loss()
            write("training loss", sum(recent) / len(recent), step)
            write("validation loss", loss, step)
            write("learning rate", schedule.learning_rate, step)
            recent.clear()
            if schedule.note_validation(loss):
                break
    schedule.restore_best()


def _batches(rng: Generator, pages: int, size: int, epochs: int) -> Iterator[np.ndarray]:
    """Yield the rows of each mini-batch, all passes one after the other."""
    for _ in range(epochs):
        order = rng.permutation(pages)
        for start in range(0, pages, size):
            yield order[start : start + size]


class _Schedule:
    """Decides by validations on the learning rate, the best state and the end of training."""

    def __init__(
        self, network: Network, settings: TrainingSettings, learning_rate: float
    ) -> None:
        self.network, self.settings = network, settings
        self.learning_rate = learning_rate
        self.best, self.best_state = math.inf, copy.deepcopy(network.state_dict())
        self.without_progress = 0

    def note_validation(self, loss: float) -> bool:
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

    def restore_best(self) -> None:
        """Bring the best state back."""
        self.network.load_state_dict(self.best_state)
        self.network.to("cpu")


@contextmanager
def _scalar_writer(
    log_dir: str | os.PathLike[str] | None,
) -> Iterator[Callable[[str, float, int], None]]:
    """Give a function that writes a TensorBoard scalar, or does nothing without a folder."""
    if log_dir is None:
        yield lambda tag, value, step: None
        return
    tensorboard = import_extra("torch.utils.tensorboard", "agents", "log_dir needs")
    with tensorboard.SummaryWriter(str(log_dir)) as writer:
        yield lambda tag, value, step: writer.add_scalar(f"fit/{tag}", value, step)
