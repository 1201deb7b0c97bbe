"""Fitting any registered click model to a log."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ..data import ClickLog, World
from .base import ClickModel
from .counting import check_log
from .registry import registered, registered_class


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
    settings
        The model's own (see its ``fit``); an unknown one is a ``TypeError``.

    Returns
    -------
    ClickModel
        With ``seen`` (Q, N), the documents that the log showed, and the world's fingerprint.
    """
    if name not in names():
        what = "cannot be fitted" if name in registered() else "is not a click model"
        raise ValueError(f"{name!r} {what}; known: {', '.join(names())}")
    cls = registered_class(name)
    check_log(log, world)
    if log.weight is not None:  # a row without weight shows nothing
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
    model = cls.fit(log, world, seed=seed, **settings)
    seen = np.zeros((world.n_queries, world.n_docs), dtype=bool)
    rows, slots = np.nonzero(log.ranking >= 0)
    seen[log.query[rows], log.ranking[rows, slots]] = True
    model.seen = seen
    model.fingerprint = world.fingerprint
    return model
