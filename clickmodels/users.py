"""True users: click models with known parameters, made from a world's grades."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common import checks
from ..data import World
from .base import ClickModel
from .ccm import CCM
from .cm import CM
from .cocm import CoCM
from .dbn import DBN
from .dcm import DCM
from .pbm import PBM
from .sdbn import SDBN
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

    SDBN, DCM, CM and CCM are not in that paper: SDBN and CM have the DBN's parameters as far as
    they have any; DCM's continuation after a click fades with the rank as the PBM's examination
    does, and CCM's is the least where the clicked document is relevant.

    ``params`` change them, by name: ``floor`` (least attractiveness of a candidate, default 0;
    the paper's released code has 0.02) for all; ``attractiveness_scale`` for all but CoCM;
    ``satisfaction_scale`` for DBN and SDBN, ``continuation`` for DBN and CCM (three numbers);
    ``satisfaction``, ``continuation``, ``modes``, ``no_look`` for CoCM and CoCM-mismatch;
    ``decay`` and ``slots`` (the longest page, default 10) for PBM, UBM and DCM. An unknown one is
    a ``TypeError``.
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


def _satisfaction(world: World, scale: float) -> NDArray[np.float64]:
    factor = float(checks.probabilities(scale, "satisfaction_scale", 0))
    return np.asarray(factor * world.gain, dtype=np.float64)


def _fading(decay: float, slots: int) -> NDArray[np.float64]:
    """Return decay^(r - 1) by rank, (slots,)."""
    decay = float(checks.probabilities(decay, "decay", 0))
    ranks = np.arange(checks.positive_integer(slots, "slots"), dtype=np.float64)
    return np.power(decay, ranks)


_OF_COCM = ("floor", "satisfaction", "continuation", "modes", "no_look")
_OF_RANKS = ("floor", "attractiveness_scale", "decay", "slots")
_PARAMETERS = {
    "DBN": ("floor", "attractiveness_scale", "satisfaction_scale", "continuation"),
    "CoCM": _OF_COCM,
    "CoCM-mismatch": _OF_COCM,
    "PBM": _OF_RANKS,
    "UBM": _OF_RANKS,
    "SDBN": ("floor", "attractiveness_scale", "satisfaction_scale"),
    "DCM": _OF_RANKS,
    "CM": ("floor", "attractiveness_scale"),
    "CCM": ("floor", "attractiveness_scale", "continuation"),
}


@_user("DBN")
def _dbn(
    world: World,
    attractiveness_scale: float = 0.95,
    satisfaction_scale: float = 0.9,
    continuation: float = 0.9,
    floor: float = 0.0,
) -> ClickModel:
    values = _attractiveness(world, attractiveness_scale, floor)
    return DBN(values, _satisfaction(world, satisfaction_scale), continuation)


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
    return PBM(_attractiveness(world, attractiveness_scale, floor), _fading(decay, slots))


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


@_user("SDBN")
def _sdbn(
    world: World,
    attractiveness_scale: float = 0.95,
    satisfaction_scale: float = 0.9,
    floor: float = 0.0,
) -> ClickModel:
    values = _attractiveness(world, attractiveness_scale, floor)
    return SDBN(values, _satisfaction(world, satisfaction_scale))


@_user("DCM")
def _dcm(
    world: World,
    attractiveness_scale: float = 0.95,
    decay: float = 0.9,
    slots: int = 10,
    floor: float = 0.0,
) -> ClickModel:
    values = _attractiveness(world, attractiveness_scale, floor)
    return DCM(values, float(checks.probabilities(decay, "decay", 0)) * _fading(decay, slots))


@_user("CM")
def _cm(world: World, attractiveness_scale: float = 0.95, floor: float = 0.0) -> ClickModel:
    return CM(_attractiveness(world, attractiveness_scale, floor))


@_user("CCM")
def _ccm(
    world: World,
    attractiveness_scale: float = 0.95,
    continuation: ArrayLike = (0.9, 0.8, 0.1),
    floor: float = 0.0,
) -> ClickModel:
    return CCM(_attractiveness(world, attractiveness_scale, floor), continuation)
