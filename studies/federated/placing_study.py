"""The curse of placing: click models that choose where the block of a page stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from ... import clickmodels, data, envs, evaluation, policies
from ...common import checks
from ...data.world import VERTICALS
from ...evaluation.reporting.formats import ledger_markdown
from ...evaluation.reporting.page import ledger_section
from ...policies.placing.best import REWARDS
from ..claims import ledger_lines
from ..engine.grid import Result
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import longest_first, require_generative
from .placing_report import RULES, placing_claims, placing_picture, placing_table

VERSION = "3"
PLACINGS = ("uniform", "three", "top")


@dataclass(frozen=True)
class PlacingCell:
    """One click model, fitted to one log whose policy placed the blocks in one way.

    ``satisfied`` is the share of those who notice a block that want no web result any more.
    """

    user: str
    satisfied: float
    placing: str
    model: str
    seed: int
    n_queries: int = 200
    n_docs: int = 15
    logging: str = "BM25"
    impressions: int = 100_000
    slots: int = 10


_NAMES = ("promised", "deployed", "usual_promised", "usual", "best", "not_shown", "unseen")
VALUES = dict.fromkeys(_NAMES, float)


def placing_cell(cell: PlacingCell) -> Result:
    """Fit the model, let it place each query's block, and deploy that on the true user.

    For each reward: what the model promises for its places and what the user delivers, both for
    leaving the block at the log's usual place, what the user's own best places earn, and pages
    without a block. ``unseen`` is the share of pages whose block stands where the log never has
    one of its type. Rankings are the same everywhere.
    """
    world, user = _world(cell), _user(cell)
    ranker = policies.named_ranker(cell.logging, world, cell.slots)
    logging = policies.Placed(
        policies.logging_policy(cell.logging, world, cell.slots),
        place_shares(cell.placing, cell.slots), world,
    )  # fmt: skip
    log = envs.collect(world, user, logging, cell.impressions, cell.seed)
    model = clickmodels.fit(cell.model, log, world, seed=cell.seed)
    usual = policies.usual_places(log, world)
    left = policies.Placed(ranker, usual, world)
    result: Result = {}
    for reward in REWARDS:
        chosen = policies.best_place(model, world, ranker, reward, usual)
        best = policies.best_place(user, world, ranker, reward)
        asked = {
            "promised": (chosen, model), "deployed": (chosen, user),
            "usual_promised": (left, model), "usual": (left, user), "best": (best, user),
            "not_shown": (ranker, user),
        }  # fmt: skip
        result[reward] = {
            name: evaluation.value(policy, judge, world, reward=reward).value
            for name, (policy, judge) in asked.items()
        } | {"unseen": share_unseen(chosen, log, world)}
    return result


def place_shares(placing: str, slots: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return how a log places blocks: probabilities of "not shown" and places 0 .. K, (K + 2,).

    "uniform": everywhere alike; "three": at the top, in the middle and at the end (on a page of
    one result, the top is the middle); "top".
    """
    three = sorted({0, slots // 2, slots})
    places = {"uniform": range(slots + 1), "three": three, "top": (0,)}[placing]
    shares = np.zeros(slots + 2)
    shares[[place + 1 for place in places]] = 1.0 / len(places)
    return shares


def share_unseen(chosen: policies.Placed, log: data.ClickLog, world: data.World) -> float:
    """Return the share of pages whose block stands where the log never has one of its type.

    To show no block counts as a place.
    """
    assert world.vertical is not None
    assert log.vertical_position is not None
    logged = np.zeros((int(world.vertical.max()) + 1, chosen.slots + 2), dtype=bool)
    types = world.vertical[log.query]
    there = types >= 0
    logged[types[there], log.vertical_position[there] + 1] = True
    unseen = ~logged[world.vertical] & (world.vertical >= 0)[:, None]
    return float(world.query_probs @ (chosen.places * unseen).sum(axis=1))


def _world(cell: PlacingCell) -> data.World:
    return _make_world(cell.n_queries, cell.n_docs, cell.seed)


@lru_cache(maxsize=2)
def _make_world(n_queries: int, n_docs: int, seed: int) -> data.World:
    """Return a synthetic world in which every query has a block, of types in equal shares."""
    types = np.random.default_rng((seed, 20)).integers(0, len(VERTICALS), n_queries)
    return data.synthetic_world(n_queries, n_docs, seed=seed).with_vertical(types)


def _user(cell: PlacingCell) -> clickmodels.ClickModel:
    return clickmodels.true_user(
        cell.user, _world(cell), slots=cell.slots,
        satisfied=np.full(len(VERTICALS), cell.satisfied), blind=False,
    )  # fmt: skip


@register("placing")
@dataclass(frozen=True)
class Placing(Study):
    """Fit click models to pages with blocks, let them place the blocks, and deploy that.

    A row per user, share of satisfied users, way of placing in the log, model and seed has, for
    each reward (``clicks``, ``satisfied``), what the model promises for its places and the user
    delivers (``clicks_promised``, ``clicks_deployed``), the same for the log's usual place
    (``clicks_usual_promised``, ``clicks_usual``), the best places (``clicks_best``), pages without
    a block (``clicks_not_shown``) and the share of pages whose block stands where the log never has
    one, or that lack it where the log never does (``clicks_unseen``).

    Example:
      clickgym federated placing --preset quick --jobs 2
    """

    command: ClassVar[str] = "federated"

    users: tuple[str, ...] = setting(
        ("FCM", "VCM"), "who clicks", flag="user",
        known=partial(clickmodels.user_names, "verticals"), metavar="NAME",
    )
    satisfied: float = setting(
        0.4, "share of those who notice a block that then want no web result; beside users with 0",
        metavar="SHARE",
    )
    placings: tuple[str, ...] = setting(
        PLACINGS, "where the log places blocks", flag="placing", choices=PLACINGS
    )
    models: tuple[str, ...] = setting(("UBM", "FCM", "VCM"), flag="model")
    logging: str = setting("BM25", "ranker; its stochastic variant logs")
    seeds: int = setting(5, "number of worlds, each with logs of its own")
    n_queries: int = setting(200, "queries in a world", flag="queries", metavar="N")
    n_docs: int = setting(15, "candidates of each query", flag="docs", metavar="N", least=2)
    impressions: int = setting(100_000, "logged pages", least=10)
    slots: int = setting(10)

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick" and "full"."""
        quick = cls(users=("FCM",), seeds=4, n_queries=60, n_docs=12, impressions=15_000)
        return {"quick": quick, "full": cls()}

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(
            users=("FCM",), placings=("top",), models=("UBM", "FCM"), seeds=1, n_queries=6,
            n_docs=5, impressions=300, slots=3,
        )  # fmt: skip

    def check(self) -> None:
        """Raise where the study could not run."""
        super().check()
        require_generative(self.models)
        checks.probabilities(self.satisfied, "satisfied", 0)
        if self.slots > self.n_docs:
            raise ValueError(
                f"slots must be at most the {self.n_docs} candidates of a query (docs), not "
                f"{self.slots}"
            )

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the one stage: a cell for every seed, user, way of placing and model."""
        cells = [
            PlacingCell(
                user, share, placing, model, seed, self.n_queries, self.n_docs, self.logging,
                self.impressions, self.slots,
            )
            for seed in range(self.seeds)
            for model in longest_first(self.models)
            for user in self.users
            for share in dict.fromkeys((0.0, self.satisfied))
            for placing in self.placings
        ]  # fmt: skip
        result = dict.fromkeys(REWARDS, VALUES)
        yield Stage("fitting, placing, deploying", placing_cell, cells, VERSION, result)

    def rows(self, results: Results) -> list[Row]:
        """Return a row per cell, in the order of the settings."""
        (pairs,) = results.values()
        rows = [_row(cell, result) for cell, result in pairs]
        return sorted(rows, key=self._order)

    def _order(self, row: Row) -> tuple[Any, ...]:
        return (
            self.users.index(row["user"]), row["satisfied"], self.placings.index(row["placing"]),
            self.models.index(row["model"]), row["seed"],
        )  # fmt: skip

    def report(self, rows: list[Row]) -> Report:
        """Return what models promise for their places and what users deliver."""
        lines = ledger_lines(placing_claims(rows))
        return Report(
            "The curse of placing",
            "Click models choose where the block of each page stands: what they promise for it, "
            "and what the true user delivers.",
            {"Promised and deployed": [placing_table(rows)]},
            {
                "placing.png": (
                    "Promised and deployed: places that models chose, beside leaving blocks where "
                    "the log usually had them; means and 95% intervals over seeds",
                    placing_picture(rows),
                ),
            },
            {"Ledger of claims": ledger_section(lines, RULES)},
            {"ledger.md": ledger_markdown(lines, RULES)},
        )  # fmt: skip


def _row(cell: PlacingCell, result: Result) -> Row:
    row: Row = {
        "user": cell.user, "satisfied": cell.satisfied, "placing": cell.placing,
        "model": cell.model, "seed": cell.seed,
    }  # fmt: skip
    for reward in REWARDS:
        row |= {f"{reward}_{name}": value for name, value in result[reward].items()}
    return row
