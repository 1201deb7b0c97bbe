"""Policies of all sorts that somebody might deploy after a log, drawn by a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from ... import clickmodels, policies
from ...clickmodels import ClickModel
from ...clickmodels.registry import registered_class
from ...common.typing import Floats
from ...data import ClickLog, World
from ..worlds import shown_in

KINDS = ("PBM", "UBM", "DBN", "SDBN", "DCM", "dCTR")  # of models that policies are found inside
PRIORS = ("plain", "plain", "exposure", "score")  # plain ones are cursed more: half of them
PESSIMISM = (0.0, 0.0, 0.5, 1.0, 2.0)
TEMPERATURES = (0.02, 0.05, 0.1, 0.2, 0.5)
RANKERS = ("BM25", "epsilon-oracle", "tree-title", "lasso-body", "reversed", "random")


@dataclass
class Drawing:
    """What policies are made from: a log, who made it, and models that are fitted to it."""

    world: World
    log: ClickLog
    logging: policies.PlackettLuce
    ranker: Callable[[str], policies.Policy]
    rng: Generator
    fitted: dict[tuple[str, str], ClickModel] = field(default_factory=dict)

    @property
    def slots(self) -> int:
        """Documents on a page."""
        return self.logging.slots

    def model(self, kind: str = "", prior: str = "") -> tuple[str, ClickModel]:
        """Return a model, drawn where it is not named, and what it is called."""
        kind = kind or str(self.rng.choice(KINDS))
        prior = prior or str(self.rng.choice(PRIORS))
        if registered_class(kind).table_fit is None:
            prior = "plain"
        if (kind, prior) not in self.fitted:
            logging = self.logging if prior == "score" else None
            self.fitted[kind, prior] = clickmodels.fit(
                kind, self.log, self.world, prior=prior, logging=logging
            )
        return f"{kind} {prior}", self.fitted[kind, prior]


Drawn = tuple[str, policies.Policy]


def draw_policy(family: str, drawing: Drawing) -> Drawn:
    """Return a policy of a family and what it is."""
    return _FAMILIES[family](drawing)


def family_names() -> tuple[str, ...]:
    """Return the families of policies."""
    return tuple(_FAMILIES)


def _max_reward(of: Drawing) -> Drawn:
    name, model = of.model()
    amount = float(of.rng.choice(PESSIMISM)) if model.uncertainty is not None else 0.0
    found = policies.max_reward(model, of.world, of.slots, restarts=0, pessimism=amount)
    return f"Max-Reward {name} λ={amount:g}", found


def _shown_only(of: Drawing) -> Drawn:
    name, model = of.model()
    shown = shown_in(of.log, of.world)
    found = policies.max_reward(model, shown, of.slots, restarts=0)
    return f"shown only {name}", policies.Ranker.from_rankings(found.rankings, world=of.world)


def _top_down(of: Drawing) -> Drawn:
    name, model = of.model()
    return f"Top-Down {name}", policies.top_down(model, of.world, of.slots)


def _sampled(of: Drawing) -> Drawn:
    name, model = of.model()
    degree = float(of.rng.choice(TEMPERATURES))
    policy = policies.stochastic(model.relevance(), degree, of.slots, world=of.world)
    return f"sampled {name} T={degree:g}", policy


def _mixed(of: Drawing) -> Drawn:
    name, policy = _sampled(of)
    share = float(of.rng.choice((0.1, 0.3, 0.5)))
    return f"{share:g} of {name}", policies.Mixture([of.logging, policy], [1.0 - share, share])


def _other_ranker(of: Drawing) -> Drawn:
    name = str(of.rng.choice(RANKERS))
    return f"ranker {name}", of.ranker(name)


def _perturbed(of: Drawing) -> Drawn:
    """Rank by the logging policy's scores with noise on them."""
    amount = float(of.rng.choice((0.1, 0.3, 1.0, 3.0)))
    scores = of.logging.log_weights
    noise = of.rng.normal(0.0, amount, scores.shape)
    policy = policies.Ranker(_spread(scores) + noise, of.slots, world=of.world)
    return f"perturbed {amount:g}", policy


def _reheated(of: Drawing) -> Drawn:
    """Show what the logging policy does, at another temperature."""
    factor = float(of.rng.choice((0.3, 0.6, 1.0, 1.5, 3.0)))
    weights = np.exp(of.logging.log_weights)
    policy = policies.PlackettLuce(weights, factor * of.logging.temperature, of.slots)
    policy.fingerprint = of.world.fingerprint
    return f"logging T×{factor:g}", policy


def _blended(of: Drawing) -> Drawn:
    """Rank by the logging policy's scores with a model's, as a careful team would."""
    name, model = of.model()
    share = float(of.rng.choice((0.2, 0.5, 0.8)))
    scores = (1.0 - share) * _spread(of.logging.log_weights) + share * _spread(model.relevance())
    return f"blended {share:g} {name}", policies.Ranker(scores, of.slots, world=of.world)


def _spread(scores: Floats) -> Floats:
    """Return scores (Q, N) with mean 0 and standard deviation 1 in each query."""
    known = np.isfinite(scores)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    filled = np.where(known, scores, 0.0)
    centred = filled - filled.sum(axis=1, keepdims=True) / count
    deviation = np.sqrt(np.where(known, centred**2, 0.0).sum(axis=1, keepdims=True) / count)
    return np.where(known, centred / np.maximum(deviation, 1e-9), -np.inf)


_FAMILIES: dict[str, Callable[[Drawing], Drawn]] = {
    "Max-Reward": _max_reward, "shown only": _shown_only, "Top-Down": _top_down,
    "sampled": _sampled, "mixed": _mixed, "ranker": _other_ranker, "perturbed": _perturbed,
    "reheated": _reheated, "blended": _blended,
}  # fmt: skip
