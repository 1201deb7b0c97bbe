"""Fitting any registered click model to a log."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from ..common import checks
from ..data import ClickLog, World
from .base import ClickModel
from .ensemble import Ensemble
from .registry import registered, registered_class
from .tablefit.counting import check_log

_POISSON = poisson.cdf(np.arange(20), 1.0)  # beyond, a double has no room


def names() -> tuple[str, ...]:
    """Return everything that ``fit`` takes: registered models that define how they are fitted."""
    return tuple(name for name in registered() if _can_be_fitted(registered_class(name)))


def _can_be_fitted(cls: type[ClickModel]) -> bool:
    return cls.fit.__func__ is not ClickModel.fit.__func__  # type: ignore[attr-defined]


def takes_parameters(name: str) -> bool:
    """Return whether the model has a choice of ``parameters``."""
    return "parameters" in inspect.signature(registered_class(name).fit).parameters


def is_random(name: str, parameters: str = "table") -> bool:
    """Return whether fitting the model uses its seed."""
    return parameters not in registered_class(name).deterministic


def fit(
    name: str,
    log: ClickLog,
    world: World,
    seed: int = 0,
    validation: ClickLog | None = None,
    parameters: str = "table",
    members: int | None = None,
    bootstrap: bool = True,
    **settings: Any,
) -> ClickModel:
    """Return the click model ``name`` fitted to ``log``.

    Parameters
    ----------
    log : ClickLog
        Of ``world``; its weights are honoured.
    seed : int
        Of everything random in the fit; closed forms and full-batch fits do not use it.
    validation : ClickLog, optional
        For models trained by mini-batches: when to stop. Without it, a tenth of ``log``.
    parameters : {"table", "embedding"}
        For models with a choice: a logit for every pair with a learned prior, or the robustness
        paper's embeddings.
    members : int, optional
        Fit so many models and return their ``Ensemble``. Each has a seed of its own and is fitted
        to its own bootstrap of the log: every impression counts as often as a Poisson draw of
        mean one says (see ``bootstrap_weights``). Table fits share the folding of the log, and
        begin where the fit to the whole log ends, so ten cost far less than ten fits.
    bootstrap : bool
        False: members differ by their seed alone; those of a deterministic fit are then equal.
    settings
        The model's own (see its ``fit``); an unknown one is a ``TypeError``.

    Returns
    -------
    ClickModel
        With ``seen`` (Q, N), the documents that the log showed, and the world's fingerprint;
        members of an ensemble have what their bootstrap showed.
    """
    if name not in names():
        what = "cannot be fitted" if name in registered() else "is not a click model"
        raise ValueError(f"{name!r} {what}; known: {', '.join(names())}")
    cls = registered_class(name)
    check_log(log, world)
    if log.weight is not None and not log.weight.all():  # a row without weight shows nothing
        log = log[log.weight > 0]
    if validation is not None:
        validation.check_world(world)
        if validation.slots != log.slots:
            raise ValueError(f"validation has {validation.slots} slots, log {log.slots}")
        if not validation.impressions > 0:
            raise ValueError("validation has no impressions")
        settings["validation"] = validation
    accepted = inspect.signature(cls.fit).parameters
    if "validation" not in accepted:  # closed forms have no use for it
        settings.pop("validation", None)
    if takes_parameters(name):
        settings["parameters"] = parameters
    elif parameters != "table":
        raise ValueError(f"{name} has no parameters={parameters!r}")
    if members is None:
        model = cls.fit(log, world, seed=seed, **settings)
        return _belonging(model, log, world)
    members = checks.positive_integer(members, "members")
    seeds = [member_seed(seed, number) for number in range(members)]
    if not bootstrap:
        if not is_random(name, parameters):
            one = _belonging(cls.fit(log, world, seed=seed, **settings), log, world)
            return _belonging(Ensemble([one] * members), log, world)
        models = [cls.fit(log, world, seed=one, **settings) for one in seeds]
        return _belonging(
            Ensemble([_belonging(model, log, world) for model in models]), log, world
        )
    weights = np.stack([bootstrap_weights(log, one) for one in seeds], axis=1)
    models = _members(cls)(log, world, weights, seeds, **settings)
    for model, weight in zip(models, weights.T, strict=True):
        _belonging(model, log, world, weight)
    return _belonging(Ensemble(models), log, world)


def _members(cls: type[ClickModel]) -> Callable[..., list[ClickModel]]:
    """Return how members of a class are fitted; a ``fit`` of its own has the last word."""
    owners = [
        next(number for number, base in enumerate(cls.__mro__) if name in vars(base))
        for name in ("fit", "fit_members")
    ]
    if owners[0] < owners[1]:
        return partial(ClickModel.fit_members.__func__, cls)  # type: ignore[attr-defined]
    return cls.fit_members


def member_seed(seed: int, number: int) -> int:
    """Return the seed of an ensemble's member: of its bootstrap and of its fit."""
    checks.positive_integer(seed, "seed", 0)
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def bootstrap_weights(log: ClickLog, seed: int) -> NDArray[np.float64]:
    """Return how often each row counts in a bootstrap of the log, (n,): Poisson draws.

    A row that stands for w impressions has mean w, as if each impression was drawn.
    """
    rng = np.random.default_rng([seed, 1])
    for _ in range(1000):  # a log of a few rows may have no impression left
        if log.weight is None:  # by inversion, which is faster for one mean
            weights = np.searchsorted(_POISSON, rng.random(len(log)), "right").astype(np.float64)
        else:
            weights = rng.poisson(log.weight).astype(np.float64)
        if (log.ranking[weights > 0, 0] >= 0).any():
            return weights
    raise ValueError("the log's weights are so small that a bootstrap has no impressions")


def _belonging(
    model: ClickModel, log: ClickLog, world: World, weight: NDArray[np.float64] | None = None
) -> ClickModel:
    """Return the model with what it was fitted to noted on it: the log's rows with weight."""
    model.fingerprint = world.fingerprint
    if model.seen is not None:  # the counts told it
        return model
    query, ranking = log.query, log.ranking
    if weight is not None:
        query, ranking = query[weight > 0], ranking[weight > 0]
    # Empty slots mark the place before a query's first document, which is cut off.
    seen = np.zeros((world.n_queries, world.n_docs + 1), dtype=bool)
    pairs = ranking + (query.astype(np.int64) * (world.n_docs + 1) + 1)[:, None]
    seen.reshape(-1)[pairs] = True
    model.seen = np.ascontiguousarray(seen[:, 1:])
    return model
