"""What is done about the curse: how a click model is fitted, and how carefully it is believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ... import clickmodels, policies
from ...clickmodels import ClickModel
from ...data import ClickLog, World
from ...policies import Policy, Ranker


class Cure(NamedTuple):
    """One way to choose a policy inside a click model.

    ``prior`` of the fit, see ``clickmodels.fit``. ``pessimism`` of the choice, see ``max_reward``.
    ``documents``: "all" candidates, or those that the log has "shown".
    """

    prior: str = "plain"
    pessimism: float | str = 0.0
    documents: str = "all"


PLAIN = "none"
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


def fit_priors(
    name: str,
    priors: Iterable[str],
    parts: tuple[ClickLog, ClickLog],
    world: World,
    logging: Policy,
    seed: int,
) -> dict[str, ClickModel]:
    """Return the model fitted to a log's training part with each prior.

    ``parts`` are training and validation part, of which only networks read the second.
    """
    train, validation = parts
    return {
        prior: clickmodels.fit(
            name, train, world, seed=seed, validation=validation, prior=prior,
            logging=logging if prior == "score" else None,
        )
        for prior in priors
    }  # fmt: skip
