"""What is done about the curse: how a click model is fitted, and how carefully it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ... import policies
from ...clickmodels import ClickModel
from ...data import World
from ...policies import Ranker


class Cure(NamedTuple):
    """One way to choose a policy inside a click model.

    ``prior`` of the fit, see ``clickmodels.fit``. ``pessimism`` of the choice, see ``max_reward``.
    ``documents``: "all" candidates, or those that the log has "shown".
    """

    prior: str = "plain"
    pessimism: float | str = 0.0
    documents: str = "all"


PLAIN = "none"
CAREFUL = ("exposure, careful", "score, careful")
CURES: dict[str, Cure] = {
    PLAIN: Cure(),
    "logged documents": Cure(documents="shown"),
    "one sd lower": Cure(pessimism=1.0),
    "exposure": Cure("exposure"),
    "exposure, careful": Cure("exposure", "auto"),
    "score": Cure("score"),
    "score, careful": Cure("score", "auto"),
}


def choose_policy(
    cure: Cure,
    models: Mapping[str, ClickModel],
    world: World,
    allowed: World,
    slots: int,
    seed: int,
) -> Ranker:
    """Return the Max-Reward policy of the model that was fitted with the cure's prior.

    ``models`` by prior; ``allowed`` has the documents of the log as candidates.
    """
    chosen = allowed if cure.documents == "shown" else world
    return policies.max_reward(
        models[cure.prior], chosen, slots, seed=seed, pessimism=cure.pessimism
    )


def can_have(model: ClickModel, cure: Cure) -> bool:
    """Return whether a fitted model can have the cure: pessimism needs a posterior.

    Networks that were fitted with the plain prior have none.
    """
    return cure.pessimism == 0 or model.cautious().uncertainty is not None
