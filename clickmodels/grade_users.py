"""True users of worlds with grades: the robustness paper's parameters, and some like them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

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


def _gain(world: World, floor: float = 0.0) -> Floats:
    return scaled_gain(world, floor, 1.0)


def scaled_gain(world: World, floor: float = 0.0, attractiveness_scale: float = 0.95) -> Floats:
    """Return attractiveness by grade, (Q, N): the scaled gain of candidates, at least ``floor``."""
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


# How each user is made, and its attractiveness, whose parameters are the user's, too.
GRADE_USERS: dict[str, tuple[Callable[..., ClickModel], Callable[..., Floats]]] = {
    "DBN": (_dbn, scaled_gain),
    "CoCM": (_cocm, _gain),
    "CoCM-mismatch": (partial(_cocm, modes=MISMATCH_MODES), _gain),
    "PBM": (_pbm, scaled_gain),
    "UBM": (_ubm, scaled_gain),
    "SDBN": (_sdbn, scaled_gain),
    "DCM": (_dcm, scaled_gain),
    "CM": (_cm, scaled_gain),
    "CCM": (_ccm, scaled_gain),
}
