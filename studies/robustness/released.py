"""What the robustness paper's released code does otherwise than its text: switches."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ... import clickmodels, policies
from ...clickmodels import ClickModel
from ...clickmodels.arm_nc import ARMNC
from ...clickmodels.dbn import DBN
from ...clickmodels.dctr import DCTR
from ...clickmodels.pbm import PBM
from ...data import World
from ..worlds import UserParameters

FLOOR, SIGMA, UNSMOOTHED, CAUSAL, SAMPLED = (
    "floor", "sigma", "unsmoothed-dCTR", "causal-ARM-NC", "sampled-max-reward",
)  # fmt: skip
SWITCHES = {
    FLOOR: "no document is less attractive than 0.02",
    SIGMA: "a DBN user is satisfied by 0.5 of the gain while training, 0.9 while testing",
    UNSMOOTHED: "dCTR predicts test policies' clicks without smoothing",
    CAUSAL: "ARM-NC's weights are read as a causal ARM's on test policies' pages",
    SAMPLED: "Max-Reward is the best of 4,032 orders of the ten most relevant documents, of PBM "
    "and DBN Top-Down",
}
_FLOOR, _TRAINING_SCALE = 0.02, 0.5
# Without a bound a click on what was never clicked before makes the perplexity infinite. The
# released code's is not, and rises by as much as with this bound (.109 and .047 in an outside run).
_LEAST_RATE = 1e-6
_ORDERS = 4_032  # of ten documents; the text has 8!
_SCALE = "satisfaction_scale"  # of users who have it


_CONCERNS = {UNSMOOTHED: (DCTR.name,), CAUSAL: (ARMNC.name,), FLOOR: (), SIGMA: ()}


def switches_of(model: str, switches: Collection[str]) -> tuple[str, ...]:
    """Return those of ``switches`` that change what is made of a fit of the model."""
    given = [one for one in SWITCHES if one in switches]
    return tuple(one for one in given if model in _CONCERNS.get(one, (model,)))


def user_parameters(user: str, switches: Collection[str], testing: bool) -> UserParameters:
    """Return the changes to a user's parameters, while training or while testing."""
    known = clickmodels.user_parameters(user)
    changes = {}
    if FLOOR in switches and "floor" in known:
        changes["floor"] = _FLOOR
    if SIGMA in switches and _SCALE in known and not testing:
        changes[_SCALE] = _TRAINING_SCALE  # 0.9 is the text's
    return tuple(changes.items())


def read_outside(model: ClickModel, switches: Collection[str], slots: int) -> ClickModel:
    """Return the model as test policies' pages, of up to ``slots``, are predicted with it."""
    if UNSMOOTHED in switches and isinstance(model, DCTR):
        rates = DCTR(model.clicks, model.impressions, smoothing=0.0).relevance()
        return PBM(np.clip(rates, _LEAST_RATE, 1.0 - _LEAST_RATE), np.ones(slots))
    if CAUSAL in switches and isinstance(model, ARMNC):
        return model.read_as_causal()
    return model


def max_reward(
    model: ClickModel, world: World, slots: int, seed: int, switches: Collection[str]
) -> policies.Ranker:
    """Return the Max-Reward policy: as ``policies.max_reward``, or as the switch has it."""
    if SAMPLED not in switches:
        return policies.max_reward(model, world, slots, seed=seed)
    if model.name in (PBM.name, DBN.name):
        return policies.top_down(model, world, slots)
    return policies.max_reward(model, world, slots, "paper", seed, orders=_ORDERS)
