"""The curse in recommendation: click models of one recommender's log, asked about other lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import gymnasium as gym

from ... import agents, clickmodels, data, envs, evaluation, policies
from ..constants import FOUR_MODELS, ORACLE
from ..curse.curse_study import CURSE_VALUES
from ..engine.grid import Result
from ..engine.rows import Row
from ..engine.shapes import Unbounded
from ..registry import register
from ..study import Report, Results, Stage, setting
from ..worlds import SPLIT, longest_first, require_generative
from .rating_study import RatingStudy
from .recommendation_curse_pictures import (
    asked_picture,
    asked_tables,
    deployed_picture,
    deployed_table,
)
from .system_lists import RatingsSetting, parts_of

VERSION = "2"
FACTORS = 8  # of users and items, in the features that agents see
_SAMPLES = 5_000  # lists of the logging policy; the other policies are exact


@dataclass(frozen=True)
class RatedWorld:
    """Which users and candidates a cell has: those of a part of the ratings, drawn by ``seed``."""

    source: RatingsSetting
    seed: int
    asked: int = 500
    docs: int = 300


@dataclass(frozen=True)
class RecommendationCell:
    """One click model, fitted to one log; "oracle" is the user itself instead of a model.

    ``agent_pages`` 0: no agent is trained inside it.
    """

    user: str
    logging: str
    model: str
    parameters: str
    world: RatedWorld
    systems: tuple[str, ...]
    impressions: int = 200_000
    slots: int = 10
    agent: str = "PolicyGradient"
    agent_pages: int = 50_000


_AGENT = {"promised": float, "deployed": float}


def recommendation_cell(cell: RecommendationCell) -> Result:
    """Fit the model, ask it about all recommenders, optimise and train an agent inside it.

    Values are clicks per page, under the model ("promised") and on the user.
    """
    world, user = sampled_world(cell.world), _user(cell)
    logging = _logging(cell)
    log = envs.collect(world, user, logging, cell.impressions, cell.world.seed)
    train, validation, test = log.split(SPLIT, cell.world.seed)
    model = user
    if cell.model != ORACLE:
        model = clickmodels.fit(
            cell.model, train, world, seed=cell.world.seed, validation=validation,
            parameters=cell.parameters,
        )  # fmt: skip
    shown = {name: _lists(cell.world, name, cell.slots) for name in cell.systems}
    optimised = policies.max_reward(model, world, cell.slots, seed=cell.world.seed)
    report = evaluation.curse(
        optimised, model, user, world, logging, samples=_SAMPLES, seed=cell.world.seed
    )
    numbers = report.numbers()
    result = {
        "perplexity": evaluation.perplexity(model, test).mean,
        "systems": {
            name: {
                "promised": evaluation.value(ranker, model, world).value,
                "deployed": evaluation.value(ranker, user, world).value,
            }
            for name, ranker in shown.items()
        },
        "max_reward": {name: numbers[name].value for name in CURSE_VALUES if name in numbers},
    }
    if cell.agent_pages:
        result["agent"] = _train_agent(cell, model, user, world)
    return result


def _train_agent(
    cell: RecommendationCell, model: clickmodels.ClickModel, user: clickmodels.ClickModel,
    world: data.World,
) -> dict[str, float]:  # fmt: skip
    if cell.model == ORACLE:
        env = gym.make(
            "clickgym/Recommendation-v0", world=world, user=cell.user, slots=cell.slots
        )
    else:
        env = gym.make(
            "clickgym/Learned-v0", world=world, click_model=model, slots=cell.slots
        )
    choices = agents.agent_class(cell.agent).variants.get("features", {})
    policy = agents.train(cell.agent, env, cell.agent_pages, cell.world.seed, **choices)
    found = evaluation.deploy(policy, model, user, world, _SAMPLES, cell.world.seed)
    return {"promised": found.promised.value, "deployed": found.deployed.value}


@lru_cache(maxsize=2)
def sampled_world(world: RatedWorld) -> data.World:
    """Return some users of the test part, with their most popular candidates and features."""
    train, test = parts_of(world.source, world.seed)
    most = min(FACTORS, min(train.n_users, train.n_items) - 1)
    return test.world(
        train, factors=most, n_users=world.asked, n_docs=world.docs, seed=world.seed
    )


@lru_cache(maxsize=8)
def _lists(world: RatedWorld, system: str, slots: int) -> policies.Ranker:
    """Return what a recommender shows, filled up at random, so that all show as much."""
    train, _ = parts_of(world.source, world.seed)
    return policies.recommender(
        system, train, sampled_world(world), slots, seed=world.seed, fill=True
    )


def _user(cell: RecommendationCell) -> clickmodels.ClickModel:
    return user_of(cell.user, cell.world, cell.slots)


@lru_cache(maxsize=8)
def user_of(name: str, world: RatedWorld, slots: int) -> clickmodels.ClickModel:
    """Return a true user; the same object each time, so that its best lists are found once."""
    return clickmodels.true_user(name, sampled_world(world), slots=slots)


def _logging(cell: RecommendationCell) -> policies.Policy:
    train, _ = parts_of(cell.world.source, cell.world.seed)
    return policies.stochastic_recommender(
        cell.logging, train, sampled_world(cell.world), cell.slots, seed=cell.world.seed
    )


@register("recommendation-curse")
@dataclass(frozen=True)
class RecommendationCurse(RatingStudy):
    """Fit click models to one recommender's log; ask them about others, and deploy their lists.

    A row per user, model, parameters and seed has ``perplexity``, what the model promises and the
    user delivers in clicks per page for each recommender (``popularity_promised``,
    ``popularity_deployed``), the numbers of the curse report on its Max-Reward lists
    (``max_reward_gap``), and ``agent_promised`` and ``agent_deployed`` of an agent trained inside.

    Example:
      clickgym recommend curse --preset quick --jobs 2
    """

    command: ClassVar[str] = "recommend"

    users: tuple[str, ...] = setting(
        ("cascade-high", "browsing-log"), "who clicks", flag="user",
        known=partial(clickmodels.user_names, "ratings"), metavar="NAME",
    )
    logging: str = setting(
        "popularity", "recommender that logs, made stochastic", known=policies.recommender_names,
        metavar="NAME",
    )
    systems: tuple[str, ...] = setting(
        policies.recommender_names(), "recommenders that models are asked about", flag="system",
        known=policies.recommender_names, metavar="NAME",
    )
    models: tuple[str, ...] = setting(FOUR_MODELS, flag="model")
    parameters: tuple[str, ...] = setting(
        ("table", "embedding"), "how models with a choice are fitted",
        choices=("table", "embedding"),
    )
    seeds: int = setting(3, "number of splits of the ratings, each with a log of its own")
    asked: int = setting(500, "users in the world", metavar="N")
    docs: int = setting(300, "candidates of each user: the most popular", metavar="N")
    impressions: int = setting(200_000, "logged pages", least=10)
    slots: int = setting(10)
    agent: str = setting("PolicyGradient", "trained inside each model")
    agent_pages: int = setting(
        50_000, "pages that the agent sees, 0 for no agent", least=0, metavar="N"
    )

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick" and "full"."""
        quick = cls(
            users=("cascade-high",), seeds=1, n_users=600, n_items=300, asked=100, docs=60,
            impressions=20_000, agent_pages=10_000,
        )  # fmt: skip
        return {"quick": quick, "full": cls()}

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(
            users=("cascade-high",), systems=("random", "popularity"), models=("PBM", "UBM"),
            parameters=("table",), seeds=1, n_users=30, n_items=20, asked=6, docs=6,
            impressions=200, slots=3, agent_pages=200,
        )  # fmt: skip

    def check(self) -> None:
        """Raise where the study could not run."""
        super().check()
        require_generative(self.models)

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the one stage: a cell for every seed, user, model and way to fit it."""
        source = self.source()
        cells = [
            RecommendationCell(
                user, self.logging, model, parameters,
                RatedWorld(source, seed, self.asked, self.docs), self.systems, self.impressions,
                self.slots, self.agent, self.agent_pages,
            )
            for seed in range(self.seeds)
            for model in (*longest_first(self.models), ORACLE)
            for parameters in self._parameters(model)
            for user in self.users
        ]  # fmt: skip
        both = {"promised": float, "deployed": float}
        result: dict[str, Any] = {
            "perplexity": Unbounded, "max_reward": CURSE_VALUES,
            "systems": dict.fromkeys(self.systems, both),
        }  # fmt: skip
        if self.agent_pages:
            result["agent"] = _AGENT
        yield Stage("fitting, asking, deploying", recommendation_cell, cells, VERSION, result)

    def _parameters(self, model: str) -> tuple[str, ...]:
        """Return how a model is fitted; "table" of one without a choice."""
        chosen = model != ORACLE and clickmodels.fitting.takes_parameters(model)
        return self.parameters if chosen else ("table",)

    def rows(self, results: Results) -> list[Row]:
        """Return a row per cell, models in the order of the settings, the oracle last."""
        (pairs,) = results.values()
        order = (*self.models, ORACLE)
        rows = [_row(cell, result) for cell, result in pairs]
        return sorted(rows, key=lambda row: (order.index(row["model"]), row["parameters"]))

    def report(self, rows: list[Row]) -> Report:
        """Return what models say about recommenders, what their own lists earn, and pictures."""
        asked, deployed = [], []
        for user in self.users:
            asked += asked_tables(rows, user, self.systems)
            deployed.append(deployed_table(rows, user))
        return Report(
            "The curse in recommendation",
            "Click models of one recommender's log: what they promise, and what users deliver.",
            {"Asked about recommenders": asked, "Deployed": deployed},
            {
                "asked.png": (
                    "Asked about recommenders: click-through rates that models promise, and true "
                    "ones", asked_picture(rows, self.systems),
                ),
                "deployed.png": (
                    "Deployed: lists that were chosen inside models", deployed_picture(rows),
                ),
            },
        )  # fmt: skip


def _row(cell: RecommendationCell, result: Result) -> Row:
    row: Row = {
        "user": cell.user, "model": cell.model, "parameters": cell.parameters,
        "label": _label(cell), "seed": cell.world.seed, "slots": cell.slots,
        "perplexity": result["perplexity"],
    }  # fmt: skip
    for name, numbers in result["systems"].items():
        row |= {f"{name}_{side}": value for side, value in numbers.items()}
    for part in ("max_reward", "agent"):
        row |= {f"{part}_{name}": value for name, value in result.get(part, {}).items()}
    return row


def _label(cell: RecommendationCell) -> str:
    if cell.model == ORACLE or not clickmodels.fitting.takes_parameters(cell.model):
        return cell.model
    return f"{cell.model} {cell.parameters}"
