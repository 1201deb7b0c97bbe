"""True users: click models with known parameters, made from a world's grades."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import World, checks
from .base import ClickModel
from .cocm import CoCM
from .dbn import DBN
from .pbm import PBM
from .ubm import UBM

MISMATCH_MODES = (0.2, 0.7, 0.1)

_USERS: dict[str, Callable[..., ClickModel]] = {}


def _user(name: str) -> Callable[[Callable[..., ClickModel]], Callable[..., ClickModel]]:
    def decorate(make: Callable[..., ClickModel]) -> Callable[..., ClickModel]:
        _USERS[name] = make
        return make

    return decorate


def user_names() -> tuple[str, ...]:
    """Return the names that ``true_user`` takes."""
    return tuple(_USERS)


def true_user(name: str, world: World, **params: Any) -> ClickModel:
    """Return the user ``name`` of ``world``, with the robustness paper's parameters.

    ``params`` change them, by name: ``floor`` (least attractiveness of a candidate, default 0;
    the paper's released code has 0.02) for all; ``attractiveness_scale`` for all but CoCM;
    ``satisfaction_scale`` and ``continuation`` for DBN; ``satisfaction``, ``continuation``,
    ``modes``, ``no_look`` for CoCM and CoCM-mismatch; ``decay`` and ``slots`` (the longest page,
    default 10) for PBM and UBM. An unknown one is a ``TypeError``.
    """
    if name not in _USERS:
        raise ValueError(f"unknown user {name!r}; known: {', '.join(_USERS)}")
    if not isinstance(world, World):
        raise ValueError(f"world must be a clickgym.data.World, not {type(world).__name__}")
    unknown = set(params) - set(_PARAMETERS[name])
    if unknown:
        raise TypeError(
            f"the user {name} has no parameter {', '.join(sorted(unknown))}; it has: "
            f"{', '.join(_PARAMETERS[name])}"
        )
    model = _USERS[name](world, **params)
    model.fingerprint, model.label = world.fingerprint, name
    return model


def _attractiveness(world: World, scale: float, floor: float) -> NDArray[np.float64]:
    floor = float(checks.probabilities(floor, "floor", 0))
    values = checks.probabilities(scale, "attractiveness_scale", 0) * world.gain
    return np.where(world.candidates, np.maximum(values, floor), 0.0)


_OF_COCM = ("floor", "satisfaction", "continuation", "modes", "no_look")
_OF_RANKS = ("floor", "attractiveness_scale", "decay", "slots")
_PARAMETERS = {
    "DBN": ("floor", "attractiveness_scale", "satisfaction_scale", "continuation"),
    "CoCM": _OF_COCM,
    "CoCM-mismatch": _OF_COCM,
    "PBM": _OF_RANKS,
    "UBM": _OF_RANKS,
}


@_user("DBN")
def _dbn(
    world: World,
    attractiveness_scale: float = 0.95,
    satisfaction_scale: float = 0.9,
    continuation: float = 0.9,
    floor: float = 0.0,
) -> ClickModel:
    scale = checks.probabilities(satisfaction_scale, "satisfaction_scale", 0)
    values = _attractiveness(world, attractiveness_scale, floor)
    return DBN(values, scale * world.gain, continuation)


@_user("CoCM")
def _cocm(world: World, floor: float = 0.0, **params: Any) -> ClickModel:
    return CoCM(_attractiveness(world, 1.0, floor), **params)


@_user("CoCM-mismatch")
def _cocm_mismatch(world: World, floor: float = 0.0, **params: Any) -> ClickModel:
    return CoCM(_attractiveness(world, 1.0, floor), **{"modes": MISMATCH_MODES, **params})


@_user("PBM")
def _pbm(
    world: World,
    attractiveness_scale: float = 0.95,
    decay: float = 0.9,
    slots: int = 10,
    floor: float = 0.0,
) -> ClickModel:
    decay = float(checks.probabilities(decay, "decay", 0))
    examination = decay ** np.arange(checks.positive_integer(slots, "slots"))
    return PBM(_attractiveness(world, attractiveness_scale, floor), examination)


@_user("UBM")
def _ubm(
    world: World,
    attractiveness_scale: float = 0.95,
    decay: float = 0.9,
    slots: int = 10,
    floor: float = 0.0,
) -> ClickModel:
    decay = float(checks.probabilities(decay, "decay", 0))
    slots = checks.positive_integer(slots, "slots")
    # 0-based slot s and latest rank r' give the exponent r - r' - 1 = s - r'; it is never below 0.
    distance = np.maximum(np.arange(slots)[:, None] - np.arange(slots), 0)
    return UBM(_attractiveness(world, attractiveness_scale, floor), decay**distance)
