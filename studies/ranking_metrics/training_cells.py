"""Rankers that learn from pairs of one banner's traffic, deployed on queries they did not see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import evaluation, policies
from ...common.typing import Booleans, Floats
from ...data import World
from ...evaluation import DrawnPairs
from ..engine.grid import Result
from .measurements import BEST, CHOOSING, ORDERING, PRODUCTION
from .setting import Scene, TrafficSetting, scene_of

VERSION = "1"
LEARNERS: dict[str, Callable[..., Any]] = {
    "linear": policies.fit_linear_pairs, "LightGBM": policies.fit_tree_pairs,
}


@dataclass(frozen=True)
class TrainingCell:
    """All rankers of one banner and seed that one learner makes."""

    traffic: TrafficSetting
    learner: str


# By deployment and by the pairs that were learned from, clicks per page.
RESULT: dict[str, Any] = {"deployed": dict[str, dict[str, float]]}


def training_cell(cell: TrainingCell) -> Result:
    """Learn from pairs of every other query, and return what the rankers earn on the rest.

    Naive and counterfactual pairs, and those of whole pages (section 5.1), come from the pages
    that production ordered; "shuffled" ones are naive pairs of the small shuffled share. A ranker
    is deployed in two ways: it orders the products that production would show, or it chooses from
    all candidates.
    """
    scene = scene_of(cell.traffic)
    trained = np.arange(scene.world.n_queries) % 2 == 0
    test = _restrict(scene.world, ~trained)
    learn = LEARNERS[cell.learner]
    scores = {
        name: learn(pairs.preferences(), scene.world, cell.traffic.slots).scores(scene.world)
        for name, pairs in _every_pairs(scene, trained).items()
    }
    scores |= {PRODUCTION: scene.production.scores, BEST: scene.user.relevance()}
    return {
        "deployed": {
            ORDERING: {name: _value(scene, test, one, True) for name, one in scores.items()},
            CHOOSING: {name: _value(scene, test, one, False) for name, one in scores.items()},
        }
    }


def _every_pairs(scene: Scene, trained: Booleans) -> dict[str, DrawnPairs]:
    """Return the pairs to learn from, of the queries that are ``trained`` on."""
    traffic = scene.traffic
    log, shuffled = (
        one[np.flatnonzero(trained[one.query])] for one in (traffic.log, traffic.shuffled)
    )
    return {
        "naive": evaluation.naive_pairs(log),
        "counterfactual": evaluation.counterfactual_pairs(log, traffic.policy),
        "whole-page": evaluation.counterfactual_pairs(log, traffic.policy, resample="page"),
        "shuffled": evaluation.naive_pairs(shuffled),
    }


def _restrict(world: World, asked: Booleans) -> World:
    """Return the world in which only some queries are asked."""
    probs = np.where(asked, world.query_probs, 0.0)
    return world.with_candidates(world.candidates, probs / probs.sum())


def _value(scene: Scene, test: World, scores: Floats, reorder: bool) -> float:
    """Return the clicks per page of ranking by ``scores`` on the queries of ``test``."""
    if reorder:
        page = scene.traffic.policy.greedy(np.arange(scene.world.n_queries))
        chosen = np.zeros((scene.world.n_queries, scene.world.n_docs + 1), dtype=bool)
        np.put_along_axis(chosen, page, True, axis=1)  # -1 lands in the last column
        scores = np.where(chosen[:, :-1], scores, -np.inf)
    ranker = policies.Ranker(scores, scene.setting.slots, world=scene.world)
    return float(evaluation.value(ranker, scene.user, test))
