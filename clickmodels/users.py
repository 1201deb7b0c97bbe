"""True users: click models with known parameters, made from a world's grades."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Floats
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


def user_names() -> tuple[str, ...]:
    """Return the names that ``true_user`` takes."""
    return tuple(_USERS)


def true_user(name: str, world: World, slots: int = 10, **params: Any) -> ClickModel:
    """Return the user ``name`` of ``world``, with the robustness paper's parameters.

    SDBN, DCM, CM and CCM are not in that paper: SDBN and CM have the DBN's parameters as far as
    they have any; DCM's continuation after a click fades with the rank as the PBM's examination
    does, and CCM's is the least where the clicked document is relevant.

    A user finds documents without a grade as attractive as those of grade 0. A world without any
    grades is refused.

    Parameters
    ----------
    slots : int
        The longest page that is shown. PBM, UBM and DCM have parameters by rank and need it; the
        others read pages of any length, so that it may be given whoever the user is.
    params
        Changes to the parameters, by name: ``floor`` (least attractiveness of a candidate,
        default 0; the paper's released code has 0.02) for all; ``attractiveness_scale`` for all
        but CoCM; ``satisfaction_scale`` for DBN and SDBN, ``continuation`` for DBN and CCM (three
        numbers); ``satisfaction``, ``continuation``, ``modes``, ``no_look`` for CoCM and
        CoCM-mismatch; ``decay`` for PBM, UBM and DCM. An unknown one is a ``TypeError``.
    """
    if name not in _USERS:
        raise ValueError(f"unknown user {name!r}; known: {', '.join(_USERS)}")
    if not isinstance(world, World):
        raise ValueError(f"world must be a clickgym.data.World, not {type(world).__name__}")
    world.require_grades(f"the true user {name} needs")
    make, scale = _USERS[name]
    slots = checks.positive_integer(slots, "slots")
    of_all = {"floor": 0.0} if scale is None else {"floor": 0.0, "attractiveness_scale": scale}
    own = list(inspect.signature(make).parameters)[3:]
    unknown = sorted(set(params) - {*of_all, *own})
    if unknown:
        raise TypeError(
            f"the user {name} has no parameter {', '.join(unknown)}; it has: "
            f"{', '.join([*of_all, *own, 'slots'])}"
        )
    shared = {key: params.pop(key, default) for key, default in of_all.items()}
    model = make(_attractiveness(world, **shared), world, slots, **params)
    model.fingerprint, model.label = world.fingerprint, name
    return model


def _attractiveness(world: World, floor: float, attractiveness_scale: float = 1.0) -> Floats:
    floor = float(checks.probabilities(floor, "floor", 0))
    values = checks.probabilities(attractiveness_scale, "attractiveness_scale", 0) * world.gain
    return np.where(world.candidates, np.maximum(values, floor), 0.0)


def _satisfaction(world: World, scale: float) -> Floats:
    factor = float(checks.probabilities(scale, "satisfaction_scale", 0))
    return np.asarray(factor * world.gain, dtype=np.float64)


def _fading(decay: float, slots: int) -> Floats:
    """Return decay^(r - 1) by rank, (slots,)."""
    decay = float(checks.probabilities(decay, "decay", 0))
    return np.power(decay, np.arange(slots, dtype=np.float64))


# Users are made from attractiveness (Q, N), the world, the slots, and parameters of their own:
# their signatures are the table of names and defaults.


def _dbn(
    values: Floats, world: World, slots: int,
    satisfaction_scale: float = 0.9, continuation: float = 0.9,
) -> ClickModel:  # fmt: skip
    return DBN(values, _satisfaction(world, satisfaction_scale), continuation)


def _cocm(
    values: Floats, world: World, slots: int,
    satisfaction: float = 0.7, continuation: float = 0.9,
    modes: Sequence[float] = (0.6, 0.3, 0.1), no_look: ArrayLike | None = None,
) -> ClickModel:  # fmt: skip
    return CoCM(values, satisfaction, continuation, modes, no_look)


def _pbm(values: Floats, world: World, slots: int, decay: float = 0.9) -> ClickModel:
    return PBM(values, _fading(decay, slots))


def _ubm(values: Floats, world: World, slots: int, decay: float = 0.9) -> ClickModel:
    decay = float(checks.probabilities(decay, "decay", 0))
    # 0-based slot s and latest rank r' give the exponent r - r' - 1 = s - r'; it is never below 0.
    return UBM(values, decay ** np.maximum(np.arange(slots)[:, None] - np.arange(slots), 0))


def _sdbn(
    values: Floats, world: World, slots: int, satisfaction_scale: float = 0.9
) -> ClickModel:
    return SDBN(values, _satisfaction(world, satisfaction_scale))


def _dcm(values: Floats, world: World, slots: int, decay: float = 0.9) -> ClickModel:
    return DCM(values, float(checks.probabilities(decay, "decay", 0)) * _fading(decay, slots))


def _cm(values: Floats, world: World, slots: int) -> ClickModel:
    return CM(values)


def _ccm(
    values: Floats, world: World, slots: int, continuation: ArrayLike = (0.9, 0.8, 0.1)
) -> ClickModel:
    return CCM(values, continuation)


# How each user is made, and its default attractiveness_scale; None: it has no such parameter.
_USERS: dict[str, tuple[Callable[..., ClickModel], float | None]] = {
    "DBN": (_dbn, 0.95),
    "CoCM": (_cocm, None),
    "CoCM-mismatch": (partial(_cocm, modes=MISMATCH_MODES), None),
    "PBM": (_pbm, 0.95),
    "UBM": (_ubm, 0.95),
    "SDBN": (_sdbn, 0.95),
    "DCM": (_dcm, 0.95),
    "CM": (_cm, 0.95),
    "CCM": (_ccm, 0.95),
}
