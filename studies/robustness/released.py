"""What the robustness paper's released code does otherwise than its text: switches."""

from __future__ import annotations

from collections.abc import Collection

from ... import clickmodels
from ...clickmodels import ClickModel
from ...clickmodels.arm_nc import ARMNC
from ...clickmodels.dctr import DCTR
from ..worlds import UserParameters

FLOOR, SIGMA, UNSMOOTHED, CAUSAL, SAMPLED = (
    "floor", "sigma", "unsmoothed-dCTR", "causal-ARM-NC", "sampled-max-reward",
)  # fmt: skip
SWITCHES = {
    FLOOR: "no document is less attractive than 0.02",
    SIGMA: "a DBN user is satisfied by 0.5 of the gain while training, 0.9 while testing",
    UNSMOOTHED: "dCTR predicts test policies' clicks without smoothing",
    CAUSAL: "ARM-NC's weights are read as a causal ARM's on test policies' pages",
    SAMPLED: "Max-Reward is the best of 8! sampled orders of the ten most relevant documents",
}
_FLOOR, _TRAINING_SCALE = 0.02, 0.5
_SCALE = "satisfaction_scale"  # of users who have it


def user_parameters(user: str, switches: Collection[str], testing: bool) -> UserParameters:
    """Return the changes to a user's parameters, while training or while testing."""
    known = clickmodels.user_parameters(user)
    changes = {}
    if FLOOR in switches and "floor" in known:
        changes["floor"] = _FLOOR
    if SIGMA in switches and _SCALE in known and not testing:
        changes[_SCALE] = _TRAINING_SCALE  # 0.9 is the text's
    return tuple(changes.items())


def read_outside(model: ClickModel, switches: Collection[str]) -> ClickModel:
    """Return the model as test policies' pages are predicted with it."""
    if UNSMOOTHED in switches and isinstance(model, DCTR):
        return model.unsmoothed()
    if CAUSAL in switches and isinstance(model, ARMNC):
        return model.read_as_causal()
    return model


def search_method(switches: Collection[str]) -> str:
    """Return the method of ``policies.max_reward``."""
    return "paper" if SAMPLED in switches else "auto"
