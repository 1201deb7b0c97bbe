"""The recommendation paper's open question: recommenders that learn from logged clicks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from ... import clickmodels, data, envs, evaluation, policies
from ...common.typing import Floats
from ..engine.grid import Result
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, setting
from ..worlds import require_generative
from .click_labels import ShownPairs, fitted_propensities, slot_propensities
from .click_training_pictures import (
    CLICKS,
    FITTED_WEIGHTS,
    RATINGS,
    TRUE_WEIGHTS,
    UNBIASED,
    cost_table,
    labels_picture,
    labels_tables,
)
from .rating_parts import Parts, three_parts
from .rating_study import RatingStudy
from .system_lists import RatingsSetting

VERSION = "4"
REFERENCE = "no-bias"
POSITION_BASED = "PBM"  # its propensities are what a log alone says


@dataclass(frozen=True)
class ClickCell:
    """One user, whose clicks recommenders learn from, and one split of the ratings."""

    user: str
    seed: int
    systems: tuple[str, ...]
    models: tuple[str, ...]
    logging: str = "popularity"
    source: RatingsSetting = field(default_factory=RatingsSetting)
    docs: int = 300
    pages: int = 30_000
    slots: int = 10


def click_cell(cell: ClickCell) -> Result:
    """Return the click-through rates of all recommenders on this user, by their labels.

    Of every recommender: trained on the ratings that users clicked by, on clicks of a user without
    bias, on clicks of this user, on these weighted by inverse propensities (the user's own, and
    those that a PBM finds in the log), and on the attractiveness of each click model.
    """
    world, deployed = _worlds(cell)
    judge = clickmodels.true_user(cell.user, deployed, slots=cell.slots)
    user = clickmodels.true_user(cell.user, world, slots=cell.slots)
    log, pairs = _log(cell, user)
    labels = {CLICKS: pairs.rates(np.ones(cell.slots))}
    labels[TRUE_WEIGHTS] = pairs.rates(slot_propensities(user, world, cell.slots, cell.seed))
    fitted = {
        name: clickmodels.fit(name, log, world, seed=cell.seed)
        for name in dict.fromkeys((POSITION_BASED, *cell.models))
    }
    by_position = fitted[POSITION_BASED]
    assert isinstance(by_position, clickmodels.PBM)
    labels[FITTED_WEIGHTS] = pairs.rates(fitted_propensities(by_position))
    labels |= {name: pairs.of_model(fitted[name]) for name in cell.models}
    shared = _unbiased_lists(_without_user(cell))
    found = {kind: dict(lists) for kind, lists in shared.items()}
    found |= {kind: _learn(cell, deployed, pairs, label) for kind, label in labels.items()}
    return {
        "rates": {
            kind: {
                system: evaluation.value(ranker, judge, deployed).value / cell.slots
                for system, ranker in lists.items()
            }
            for kind, lists in found.items()
        },
        "clicks": float(log.clicks.mean()),
        "shown": len(pairs.query),
    }


def _without_user(cell: ClickCell) -> ClickCell:
    """Return the cell of the user without bias, whose lists all users share."""
    return ClickCell(
        REFERENCE, cell.seed, cell.systems, (), cell.logging, cell.source, cell.docs, cell.pages,
        cell.slots,
    )  # fmt: skip


@lru_cache(maxsize=1)
def _unbiased_lists(cell: ClickCell) -> dict[str, dict[str, policies.Ranker]]:
    """Return what recommenders show that learn from ratings, and from clicks without bias."""
    parts = _parts(cell)
    world, deployed = _worlds(cell)
    _, pairs = _log(cell, clickmodels.true_user(REFERENCE, world, slots=cell.slots))
    recommend = partial(
        policies.recommender, world=deployed, slots=cell.slots, seed=cell.seed, fill=True
    )
    return {
        RATINGS: {name: recommend(name, parts.feedback) for name in cell.systems},
        UNBIASED: _learn(cell, deployed, pairs, pairs.rates(np.ones(cell.slots))),
    }


def _learn(
    cell: ClickCell, deployed: data.World, pairs: ShownPairs, labels: Floats
) -> dict[str, policies.Ranker]:
    """Return the lists of all recommenders that learned from these labels (m,), 0 to 1.

    Popularity is the sum of an item's labels. The others get them as stars, from 1 to 5.
    """
    return {
        name: policies.recommender(
            name, pairs.ratings, deployed, cell.slots, cell.seed, fill=True,
            **({"labels": labels, "by": "sum"} if name == "popularity"
               else {"labels": 1.0 + 4.0 * labels}),
        )
        for name in cell.systems
    }  # fmt: skip


def _log(cell: ClickCell, user: clickmodels.ClickModel) -> tuple[data.ClickLog, ShownPairs]:
    parts, (world, _) = _parts(cell), _worlds(cell)
    logging = policies.stochastic_recommender(
        cell.logging, parts.history, world, cell.slots, seed=cell.seed
    )
    log = envs.collect(world, user, logging, cell.pages, cell.seed)
    return log, ShownPairs.of(log, world, parts.train)


def _parts(cell: ClickCell) -> Parts:
    return three_parts(cell.source, cell.seed)


def _worlds(cell: ClickCell) -> tuple[data.World, data.World]:
    return worlds_of(cell.source, cell.seed, cell.docs)


@lru_cache(maxsize=1)
def worlds_of(source: RatingsSetting, seed: int, docs: int) -> tuple[data.World, data.World]:
    """Return the world of the log and the world where what was learned is deployed.

    No pair of user and item is a candidate in both, and none that the user rated in the history is
    one in either. Which pairs are candidates where was drawn without a look at the ratings.
    """
    parts = three_parts(source, seed)
    logged = parts.feedback.world(parts.history, n_docs=docs, allowed=parts.logged)
    return logged, parts.test.world(parts.history, n_docs=docs, allowed=~parts.logged)


@register("recommendation-clicks")
@dataclass(frozen=True)
class ClickTraining(RatingStudy):
    """Train recommenders on logged clicks instead of ratings: what each user's bias costs.

    A row per user, seed, labels and system has ``rate``, the click-through rate of the system's
    lists on that user by ratings that nobody has seen before.

    Example:
      clickgym recommend clicks --preset quick --jobs 2
    """

    command: ClassVar[str] = "recommend"

    users: tuple[str, ...] = setting(
        clickmodels.user_names("ratings"), "whose clicks are logged", flag="user",
        known=partial(clickmodels.user_names, "ratings"), metavar="NAME",
    )
    systems: tuple[str, ...] = setting(
        policies.recommender_names(), "recommenders that learn", flag="system",
        known=policies.recommender_names, metavar="NAME",
    )
    models: tuple[str, ...] = setting(
        ("PBM", "UBM", "DBN"), "click models whose attractiveness they learn from", flag="model",
        metavar="NAME",
    )
    logging: str = setting(
        "popularity", "recommender that logs, made stochastic", known=policies.recommender_names,
        metavar="NAME",
    )
    seeds: int = setting(5, "number of splits of the ratings, each with a log of its own")
    n_users: int = setting(600, "users of the embedded ratings", flag="users", least=2, metavar="N")
    n_items: int = setting(400, "items of the embedded ratings", flag="items", metavar="N")
    docs: int = setting(300, "candidates of each user: the most popular", metavar="N")
    pages: int = setting(30_000, "logged pages", metavar="N")
    slots: int = setting(10)

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick" and "full"."""
        quick = cls(seeds=2, n_users=200, n_items=150, docs=100, pages=6_000)
        return {"quick": quick, "full": cls()}

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(
            users=("no-bias", "examination-log"), systems=("random", "popularity"),
            models=("PBM",), seeds=1, n_users=30,
            n_items=20, docs=15, pages=200, slots=3,
        )  # fmt: skip

    def check(self) -> None:
        """Raise where the study could not run."""
        super().check()
        require_generative(self.models)

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the one stage: a cell for every split and user."""
        source = self.source()
        cells = [
            ClickCell(
                user, seed, self.systems, self.models, self.logging, source, self.docs, self.pages,
                self.slots,
            )
            for seed in range(self.seeds)
            for user in self.users
        ]  # fmt: skip
        kinds = (RATINGS, UNBIASED, CLICKS, TRUE_WEIGHTS, FITTED_WEIGHTS, *self.models)
        result = {
            "rates": {kind: dict.fromkeys(self.systems, float) for kind in kinds},
            "clicks": float, "shown": int,
        }  # fmt: skip
        yield Stage("logs and recommenders", click_cell, cells, VERSION, result)

    def rows(self, results: Results) -> list[Row]:
        """Return a row per user, seed, labels and system."""
        (pairs,) = results.values()
        rows = [
            {"user": cell.user, "seed": cell.seed, "labels": kind, "system": system, "rate": rate}
            for cell, result in pairs
            for kind, rates in result["rates"].items()
            for system, rate in rates.items()
        ]
        return sorted(rows, key=lambda row: (self.users.index(row["user"]), row["seed"]))

    def report(self, rows: list[Row]) -> Report:
        """Return what bias costs and what comes back, a table per recommender, and a picture."""
        return Report(
            "Recommenders that learn from clicks",
            "Click-through rates on ratings that nobody has seen before.",
            {"What bias costs": [cost_table(rows)], "By recommender": labels_tables(rows)},
            {"clicks.png": ("What recommenders earn, by their labels", labels_picture(rows))},
        )
