"""Scores of all systems under one split of the ratings, and what they say of each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ... import clickmodels, evaluation, policies
from ...clickmodels import ClickModel
from ...data import World
from ...evaluation import Interval, Prediction, SystemScores
from ...evaluation.recommendation.click_metric import fit_click_metric
from ...evaluation.recommendation.prediction import predict_pairs, predict_rates
from ...evaluation.recommendation.rating_metrics import RatedLists
from ...evaluation.recommendation.system_scores import NDCG, PRECISION
from ..engine.grid import Result
from .recommendation_claims import (
    CLAIMS,
    FORMS,
    RATED,
    SHOWN,
    SYSTEMS,
    USERS,
    bound,
    pairs_and_users,
)
from .system_lists import ListsCell, lists_of, rated_world

SCORES_VERSION = "2"
LEVEL = 0.05
FITTED, FITTED_DISCOUNT = "fitted discount and gain", "fitted discount"
RELEVANT = 4  # the lowest rating that is relevant
Line = tuple[str, str, str, str, float | None, float | None, float | None]
SCORED = {"lines": list[Line]}  # kind, system, metric, rate, value, low, high


@dataclass(frozen=True)
class ScoresCell:
    """All systems and all users, under one split; ``lists`` are the systems' cells."""

    lists: tuple[ListsCell, ...] = field(metadata={"key": False})
    keys: tuple[str, ...]
    users: tuple[str, ...]
    repetitions: int = 25
    resamples: int = 1000

    @property
    def split(self) -> int:
        """The seed of the split."""
        return self.lists[0].split

    @property
    def training_items(self) -> bool:
        """Whether users may be shown what they rated in training."""
        return self.lists[0].training_items


def scores_cell(cell: ScoresCell) -> Result:
    """Score the systems' lists; return lines of kind, system, metric, rate, value, low, high.

    Kinds: "score" (metric, or rate under a user), "simulated" (with the standard error as distance
    of its bounds) and "z" (simulated minus exact over it), "share unrated", "share empty";
    "slope", "intercept", "residual", "excess", "error", "relative", "tau" of a metric and a rate,
    "odds error" where rates are clicked to non-clicked; "claim" of a test (its key stands as the
    rate) and a form of nDCG.
    """
    first = cell.lists[0]
    world = rated_world(first.ratings, first.split, first.training_items)
    systems = {
        one.system: policies.Ranker.from_rankings(lists_of(one), world=world) for one in cell.lists
    }
    users = {name: clickmodels.true_user(name, world, first.slots) for name in cell.users}
    scores = evaluation.score_systems(systems, users, world, RELEVANT)
    scores = _add_measures(scores, systems, users, world)
    lines = [
        *_score_lines(scores, cell),
        *_simulated_lines(scores, systems, users, world, cell),
        *_prediction_lines(scores, cell),
        *_claim_lines(scores, cell),
    ]
    return {"lines": lines}


def _add_measures(
    scores: SystemScores,
    systems: dict[str, policies.Ranker],
    users: dict[str, ClickModel],
    world: World,
) -> SystemScores:
    """Return the scores with other forms of nDCG, fitted metrics, and what was shown."""
    for name, form in FORMS.items():
        if name not in scores.measures:
            rows = [
                evaluation.list_ndcg(policy, world, RELEVANT, **form)
                for policy in systems.values()
            ]
            scores = scores.with_measure(name, np.stack(rows))
    for user_name, user in users.items():
        for kind, relevant in ((FITTED_DISCOUNT, RELEVANT), (FITTED, None)):
            metric = fit_click_metric(user, world, list(systems.values()), relevant)
            rows = [metric.score(policy, world) for policy in systems.values()]
            scores = scores.with_measure(fitted_name(kind, user_name), np.stack(rows))
    lists = [RatedLists.of(policy, world) for policy in systems.values()]
    shown = np.stack([one.shown.sum(axis=1) for one in lists]).astype(np.float64)
    rated = np.stack([(one.rating >= 0).sum(axis=1) for one in lists]).astype(np.float64)
    return scores.with_measure(SHOWN, shown).with_measure(RATED, rated)


def fitted_name(kind: str, user: str) -> str:
    """Return the name of a metric that is fitted to a user."""
    return f"{kind}, {user}"


def _score_lines(scores: SystemScores, cell: ScoresCell) -> Iterator[Line]:
    intervals = scores.intervals(cell.resamples, cell.split, 1.0 - LEVEL)
    slots = cell.lists[0].slots
    for system, row in intervals.items():
        for measure in (*FORMS, PRECISION, *cell.users):
            yield _line("score", row[measure], system, measure)
        shown, rated = row[SHOWN].mean, row[RATED].mean
        share = 1.0 - rated / shown if shown else np.nan
        yield _number("share unrated", share, system)
        yield _number("share empty", 1.0 - shown / slots, system)


def _simulated_lines(
    scores: SystemScores,
    systems: dict[str, policies.Ranker],
    users: dict[str, ClickModel],
    world: World,
    cell: ScoresCell,
) -> Iterator[Line]:
    share = scores.weight / scores.weight.sum()
    seeds = np.random.SeedSequence((cell.split, cell.training_items))
    for system, policy in systems.items():
        for name, user in users.items():
            seed = int(seeds.spawn(1)[0].generate_state(1)[0])
            drawn = evaluation.simulate_click_rates(policy, user, world, cell.repetitions, seed)
            rates = drawn @ share
            mean = rates.mean()
            error = rates.std(ddof=1) / np.sqrt(len(rates)) if len(rates) > 1 else np.nan
            exact = scores.means()[scores.systems.index(system), scores.place(name)]
            yield "simulated", system, "", name, *_finite(mean, mean - error, mean + error)
            if error > 0:
                yield _number("z", (mean - exact) / error, system, "", name)


def _prediction_lines(scores: SystemScores, cell: ScoresCell) -> Iterator[Line]:
    common = (cell.resamples, cell.split, 1.0 - LEVEL)
    pairs = {(name, user): (name, user) for user in cell.users for name in (*FORMS, PRECISION)}
    pairs |= {
        (kind, user): (fitted_name(kind, user), user)
        for user in cell.users
        for kind in (FITTED_DISCOUNT, FITTED)
    }
    found = predict_pairs(scores, list(pairs.values()), *common)
    for (metric, user), one in zip(pairs, found, strict=True):
        yield from _one_prediction(metric, user, one)
    odds = predict_rates(scores, (NDCG, PRECISION), cell.users, *common, form="odds")
    for one in odds:
        yield _line("odds error", one.error, "", one.metric, one.rate)


def _one_prediction(metric: str, user: str, one: Prediction) -> Iterator[Line]:
    yield _number("slope", float(one.line.slope), "", metric, user)
    yield _number("intercept", float(one.line.intercept), "", metric, user)
    for system, residual, excess in zip(one.systems, one.line.residuals, one.excess, strict=True):
        yield _number("residual", residual, system, metric, user)
        yield _number("excess", excess, system, metric, user)
    for kind in ("error", "relative", "tau"):
        yield _line(kind, getattr(one, kind), "", metric, user)


def _claim_lines(scores: SystemScores, cell: ScoresCell) -> Iterator[Line]:
    """Give the numbers of all claims; none where a system or a user of the paper is missing."""
    if not (set(SYSTEMS) <= set(scores.systems) and set(USERS) <= set(cell.users)):
        return
    drawn = scores.resample(cell.resamples, cell.split)
    pairs = pairs_and_users(scores.systems)
    for claim in CLAIMS:
        for key, test in claim.tests.items():
            for form in FORMS if test.forms else (NDCG,):
                found = bound(test, form, scores, drawn, LEVEL)
                label = ""
                if test.some:
                    one, other, user = pairs[found.condition]
                    label = f"{one} and {other} under {user}"
                yield "claim", label, form, key, *_finite(found.value, found.low, found.high)


def _line(kind: str, found: Interval, system: str, metric: str, rate: str = "") -> Line:
    return kind, system, metric, rate, *_finite(found.mean, found.low, found.high)


def _number(kind: str, value: float, system: str, metric: str = "", rate: str = "") -> Line:
    return kind, system, metric, rate, *_finite(value, np.nan, np.nan)


def _finite(*values: float) -> tuple[float | None, float | None, float | None]:
    one, two, three = (float(value) if np.isfinite(value) else None for value in values)
    return one, two, three


def make_rows(pairs: Sequence[tuple[ScoresCell, Result]]) -> list[dict[str, object]]:
    """Return a row for each line of each cell."""
    names = ("kind", "system", "metric", "rate", "value", "low", "high")
    return [
        {"split": cell.split, "training_items": cell.training_items}
        | dict(zip(names, line, strict=True))
        for cell, result in pairs
        for line in result["lines"]
    ]
