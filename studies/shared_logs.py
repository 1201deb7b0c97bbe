"""Logs made once for a world, user, policy and seed, kept as files and shared by all models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from .. import envs, evaluation
from ..data import ClickLog
from .grid import Result, cell_key
from .setting import SPLIT, WorldSetting, logging_of, ranker_of, user_of, world_of

VERSION = "1"
TEST_POLICIES = ("oracle", "LambdaMART", "BM25", "random")
_OUTSIDE = 1_000_000  # seeds of test logs are this far from those of training logs
_SAMPLES = 5_000  # rankings of the logging policy


@dataclass(frozen=True)
class LogCell:
    """A log to fit models to, and logs of other policies to test them on.

    Parameters
    ----------
    logging : a ranker, whose stochastic variant logs.
    seed : draws all the logs.
    folder : where they are kept.
    temperature : of the logging policy; None for the paper's.
    tests : rankers, themselves, for ``test_pages`` pages each of documents that the training part
        of the log showed.
    """

    user: str
    logging: str
    seed: int
    folder: str = field(metadata={"key": False})
    world: WorldSetting = field(default_factory=WorldSetting)
    impressions: int = 100_000
    slots: int = 10
    test_pages: int = 10_000
    temperature: float | None = None
    tests: tuple[str, ...] = TEST_POLICIES


@dataclass(frozen=True)
class Logs:
    """The parts of a log, and the logs of other policies by their names."""

    train: ClickLog
    validation: ClickLog
    test: ClickLog
    outside: dict[str, ClickLog]


def log_cell(cell: LogCell) -> Result:
    """Make the logs; return the logging policy's value in clicks a page."""
    shared_logs(cell)
    logging = logging_of(cell.logging, cell.world, cell.slots, cell.temperature)
    user = user_of(cell.user, cell.world)
    found = evaluation.value(logging, user, world_of(cell.world), _SAMPLES, cell.seed)
    return {"logging_value": found.value}


def shared_logs(cell: LogCell) -> Logs:
    """Return the logs of a cell: from their files, or made now."""
    world, user = world_of(cell.world), user_of(cell.user, cell.world)

    def whole() -> ClickLog:
        logging = logging_of(cell.logging, cell.world, cell.slots, cell.temperature)
        return envs.collect(world, user, logging, cell.impressions, cell.seed)

    train, validation, test = _kept(cell, "", whole).split(SPLIT, cell.seed)

    def outside(name: str) -> ClickLog:
        shown = world.restricted_to(train)
        ranker = ranker_of(name, cell.world, cell.slots, shown)
        return envs.collect(shown, user, ranker, cell.test_pages, cell.seed + _OUTSIDE)

    others = {name: _kept(cell, f"-{name}", partial(outside, name)) for name in cell.tests}
    return Logs(train, validation, test, others)


def _kept(cell: LogCell, suffix: str, make: Callable[[], ClickLog]) -> ClickLog:
    """Return the log of a file, made if there is none; two processes write the same contents."""
    path = Path(cell.folder) / f"{cell_key(cell, VERSION)}{suffix}.parquet"
    if not path.exists():
        make().save(path)
    return ClickLog.load(path)
