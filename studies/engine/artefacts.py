"""Logs, fitted models and scales of users, made once per setting and kept as files."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ... import clickmodels, data, envs, evaluation, policies
from ...clickmodels import NotExact
from ...clickmodels.fitting import EMBEDDING, parameters_of
from ...clickmodels.registry import registered_class
from ...clickmodels.uncertainty.caution import AUTO
from ...data import ClickLog
from ..constants import TEST_POLICIES
from ..worlds import (
    SPLIT,
    UserParameters,
    WorldSetting,
    logging_of,
    logs_of,
    ranker_of,
    user_of,
    world_of,
)
from .grid import Result, cell_key
from .keeping import keep_file, save_kept
from .plugins import import_modules
from .shapes import Unbounded

FIT_VERSION = "4"


@dataclass(frozen=True)
class LoggedCell:
    """What cells that begin with a log have in common.

    Parameters
    ----------
    logging : a ranker, whose stochastic variant logs.
    seed : draws the log.
    folder : where what is made of it is kept.
    """

    user: str
    logging: str
    seed: int
    folder: str = field(metadata={"key": False})
    world: WorldSetting = field(default_factory=WorldSetting)
    impressions: int = 100_000
    slots: int = 10


@dataclass(frozen=True)
class FitCell(LoggedCell):
    """A click model and the log that it is fitted to; it is written to ``folder``.

    ``modules`` are imported first: they may register models and agents of one's own. ``source`` is
    a hash of the file of such a model. ``prior`` is the fit's, "" for the plain one.
    """

    model: str = field(kw_only=True)
    parameters: str = "table"
    modules: tuple[str, ...] = field(default=(), metadata={"key": False})
    source: str = field(default="", metadata={"key": "given"})
    prior: str = field(default="", metadata={"key": "given"})

    @property
    def path(self) -> Path:
        """Where the fitted model is."""
        return Path(self.folder) / f"{cell_key(self, FIT_VERSION)}.safetensors"


FITTED = {"perplexity": Unbounded}


def fit_cell(cell: FitCell) -> Result:
    """Fit the model and save it; return its perplexity on the log's test part."""
    model, perplexity = fit_model(cell)
    save_kept(cell.path, model.save)
    return {"perplexity": perplexity}


def fit_model(cell: FitCell) -> tuple[clickmodels.ClickModel, float]:
    """Return the fitted model and its perplexity on the log's test part."""
    import_modules(cell.modules)
    setting = (cell.user, cell.logging, cell.world, cell.slots, cell.impressions, cell.seed)
    train, validation, test = logs_of(*setting)
    world = world_of(cell.world)
    informed = informed_prior(cell.prior, logging_of(cell.logging, cell.world, cell.slots))
    own = cell.seed, cell.parameters
    model = fit_parts(cell.model, train, validation, world, *own, **informed)
    return model, evaluation.perplexity(model, test).mean


def informed_prior(prior: str, logging: policies.Policy | None) -> dict[str, Any]:
    """Return the arguments of a fit with this prior, which ``logging`` made the log for.

    "" stands for the plain one, which takes none.
    """
    needs = {"logging": logging} if prior == "score" else {}
    return {"prior": prior, **needs} if prior else {}


def read_pessimism(text: str) -> float | str:
    """Return λ; "auto" stays as it is, and "" is none."""
    if text == AUTO:
        return text
    try:
        value = float(text or 0)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise ValueError(f"pessimism must be a number from 0 on, or {AUTO}, not {text!r}")
    return value


def fit_parts(
    name: str,
    train: data.ClickLog,
    validation: data.ClickLog | None,
    world: data.World,
    seed: int,
    parameters: str,
    training: str = "",
    **informed: Any,
) -> clickmodels.ClickModel:
    """Return a model fitted to a log's parts; embeddings are for models with that choice.

    ``training`` names the settings of networks; "" for the usual ones. ``informed`` are the prior
    of the fit and what it needs, if it is not the plain one.
    """
    kind = parameters_of(name, parameters)
    trained = kind == EMBEDDING or registered_class(name).network is not None
    settings: dict[str, Any] = {"training": training} if training and trained else {}
    return clickmodels.fit(
        name, train, world, seed=seed, validation=validation, parameters=kind,
        **settings, **informed,
    )  # fmt: skip


def fitted_model(cell: FitCell) -> clickmodels.ClickModel:
    """Return the model of a cell: from its file, or fitted now."""
    load = partial(load_model, name=cell.model)
    return keep_file(cell.path, lambda: fit_model(cell)[0], clickmodels.ClickModel.save, load)


def load_model(path: Path, name: str) -> clickmodels.ClickModel:
    """Return the click model of a file; an error if it is not a ``name``."""
    model = clickmodels.ClickModel.load(path)
    if model.name != name:
        raise ValueError(f"{path}: holds a {model.name}, not a {name}")
    return model


LOG_VERSION = "2"
_OUTSIDE = 1_000_000  # seeds of test logs are this far from those of training logs
_SAMPLES = 5_000  # rankings of the logging policy


@dataclass(frozen=True)
class LogCell(LoggedCell):
    """A log to fit models to, and logs of other policies to test them on.

    Parameters
    ----------
    temperature : of the logging policy; None for the paper's.
    tests : rankers, themselves, for ``test_pages`` pages each of documents that the training part
        of the log showed.
    user_parameters, test_parameters : changes to the user's, while logging and while testing.
    """

    test_pages: int = 10_000
    temperature: float | None = None
    tests: tuple[str, ...] = TEST_POLICIES
    user_parameters: UserParameters = field(default=(), metadata={"key": "given"})
    test_parameters: UserParameters = field(default=(), metadata={"key": "given"})

    def user_cell(self) -> UserCell:
        """Return the cell of the user who logs."""
        return UserCell(self.user, self.world, self.slots, self.user_parameters)

    def true_user(self, testing: bool = False) -> clickmodels.ClickModel:
        """Return the user who logs, or the one who tests."""
        parameters = self.test_parameters if testing else self.user_parameters
        return user_of(self.user, self.world, self.slots, parameters)


@dataclass(frozen=True)
class Logs:
    """The parts of a log, and the logs of other policies by their names."""

    train: ClickLog
    validation: ClickLog
    test: ClickLog
    outside: dict[str, ClickLog]


LOGGING_VALUE = {"logging_value": float, "head_query": float, "effective_queries": float}


def log_cell(cell: LogCell) -> Result:
    """Make the logs; return the logging policy's value in clicks per page, and how traffic falls.

    ``head_query`` is the most frequent query's share of it, ``effective_queries`` 1 / Σ p²: so
    many equally frequent queries would make means as uncertain as these do.
    """
    shared_logs(cell)
    world = world_of(cell.world)
    logging = logging_of(cell.logging, cell.world, cell.slots, cell.temperature)
    found = evaluation.value(logging, cell.true_user(), world, _SAMPLES, cell.seed)
    return {
        "logging_value": found.value,
        "head_query": float(world.query_probs.max()),
        "effective_queries": float(1.0 / (world.query_probs**2).sum()),
    }


def shared_logs(cell: LogCell) -> Logs:
    """Return the logs of a cell: from their files, or made now."""
    world = world_of(cell.world)

    def collect_whole() -> ClickLog:
        logging = logging_of(cell.logging, cell.world, cell.slots, cell.temperature)
        return envs.collect(world, cell.true_user(), logging, cell.impressions, cell.seed)

    def collect_outside(name: str) -> ClickLog:
        shown = world.restricted_to(train)
        ranker = ranker_of(name, cell.world, cell.slots, shown)
        user = cell.true_user(testing=True)
        return envs.collect(shown, user, ranker, cell.test_pages, cell.seed + _OUTSIDE)

    def load(path: Path, pages: int) -> ClickLog:
        log = ClickLog.load(path)
        log.check_world(world)
        if len(log) != pages:
            raise ValueError(f"{path}: has {len(log)} pages instead of {pages}")
        return log

    def keep(suffix: str, make: Callable[[], ClickLog], pages: int) -> ClickLog:
        path = Path(cell.folder) / f"{cell_key(cell, LOG_VERSION)}{suffix}.parquet"
        return keep_file(path, make, ClickLog.save, partial(load, pages=pages))

    whole = keep("", collect_whole, cell.impressions)
    train, validation, test = whole.split(SPLIT, cell.seed)
    outside = {
        name: keep(f"-{name}", partial(collect_outside, name), cell.test_pages)
        for name in cell.tests
    }
    return Logs(train, validation, test, outside)


USER_VERSION = "2"


@dataclass(frozen=True)
class UserCell:
    """A true user of a world."""

    user: str
    world: WorldSetting = field(default_factory=WorldSetting)
    slots: int = 10
    parameters: UserParameters = field(default=(), metadata={"key": "given"})


USER_VALUES = {"random_value": float, "best": float | None, "best_is": str}


def user_cell(cell: UserCell) -> Result:
    """Return the best value of any ranking (``best_is`` says how sure) and a random one's.

    Both in clicks per page; the best is None for a user whose expected clicks cannot be computed.
    """
    world = world_of(cell.world)
    user = user_of(cell.user, cell.world, cell.slots, cell.parameters)
    random = evaluation.value(policies.Uniform(world, cell.slots), user, world)
    try:
        best = policies.max_reward(user, world, cell.slots)
    except NotExact:
        return {"random_value": random.value, "best": None, "best_is": "unknown"}
    assert best.found is not None
    value = evaluation.value(best, user, world).value
    known = "exact" if best.found.exact else "lower bound"
    return {"random_value": random.value, "best": value, "best_is": known}
