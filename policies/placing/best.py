"""Max-Reward over the places of a block, for given rankings or together with them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...clickmodels import ClickModel
from ...common import checks
from ...common.typing import Floats, Integers
from ...data import ClickLog, World
from ..base import Policy
from ..deterministic import Found, Ranker
from ..optimise.max_reward import max_reward
from ..places import page_lengths
from .pages import block_types
from .placed import Placed, read_places

REWARDS = ("clicks", "satisfied")
_CHUNK = 8192  # pages scored at a time
_TIE = 1e-9  # rewards that differ by less are the same


def best_place(
    model: ClickModel,
    world: World,
    ranker: Policy,
    reward: str = "clicks",
    usual: ArrayLike | None = None,
) -> Placed:
    """Return the rankings of ``ranker`` with the block where ``model`` expects the most of it.

    Parameters
    ----------
    model : ClickModel
        One that knows no verticals is indifferent: all places are ties.
    ranker : Policy
        Shows a query one ranking.
    reward : {"clicks", "satisfied"}
        Expected clicks, or P(a click, or satisfied without one).
    usual : int or (Q,) integers, optional
        The place that wins ties, such as ``usual_places(log, world)``; where it is not among the
        best, or none is given, "not shown" wins them (-1), then the highest place on the page.

    Notes
    -----
    Scores K + 2 pages per query that has a block.
    """
    model.check_world(world)
    model.require("generative")
    if not isinstance(ranker, Policy):
        raise ValueError(
            f"ranker must be a Policy, not {type(ranker).__name__}: "
            "Ranker.from_rankings makes one of rankings"
        )
    ranker.check_world(world)
    checks.choice(reward, REWARDS, "reward")
    if not ranker.deterministic:
        raise ValueError(f"{ranker!r} draws its rankings; best_place needs one ranking per query")
    rankings = ranker.greedy(np.arange(world.n_queries))
    values = place_values(model, world, rankings, reward)
    ties = values >= values.max(axis=1, keepdims=True) - _TIE
    if usual is not None:
        wanted = read_places(usual, world.n_queries, ranker.slots) * ties
        found = wanted.any(axis=1)
        ties[found] = wanted[found] > 0
    return Placed(ranker, ties.argmax(axis=1) - 1, world)


def place_values(
    model: ClickModel, world: World, rankings: Integers, reward: str = "clicks"
) -> Floats:
    """Return what ``model`` expects of each query's page by place, (Q, K + 2).

    ``rankings`` is (Q, K). Columns are "not shown" and 0 .. K; -inf where the block would stand
    beyond the page, and at all places of queries without one.
    """
    n_queries, slots = rankings.shape
    types = block_types(world, np.arange(n_queries), np.zeros(n_queries, dtype=np.int64))
    place = np.arange(-1, slots + 1)
    possible = (place <= page_lengths(rankings)[:, None]) & (types >= 0)[:, None]
    possible[:, 0] = True
    values = np.full((n_queries, slots + 2), -np.inf)
    query, column = np.nonzero(possible)
    ask = model.expected_clicks if reward == "clicks" else model.satisfied_probs
    for start in range(0, len(query), _CHUNK):
        rows = slice(start, start + _CHUNK)
        asked, where = query[rows], column[rows]
        kind = np.where(where > 0, types[asked], -1)
        blocks = model.vertical_arguments(kind, place[where])
        values[asked, where] = ask(asked, rankings[asked], **blocks)
    return values


def best_pages(
    model: ClickModel, world: World, slots: int = 10, method: str = "auto", seed: int = 0
) -> Placed:
    """Return the rankings and places with the most expected clicks under ``model``.

    ``max_reward`` for each of the K + 2 places, of which every query takes the best; ``found`` of
    the result says whether all of these searches were exact. It costs as much as all of them: one
    to two minutes for 1,000 queries of 30 documents and ten slots.
    """
    model.require_verticals()
    best: Ranker | None = None
    position = np.full(world.n_queries, -1)
    values, exact, scored = np.full(world.n_queries, -np.inf), True, 0
    for place in range(-1, slots + 1):
        ranker = max_reward(_WithBlocks(model, world, place), world, slots, method, seed)
        assert ranker.found is not None
        better = ranker.found.values > values + _TIE
        rankings = ranker.rankings if best is None else best.rankings
        rankings = np.where(better[:, None], ranker.rankings, rankings)
        best = Ranker.from_rankings(rankings, world=world)
        position[better], values = place, np.where(better, ranker.found.values, values)
        exact, scored = exact and ranker.found.exact, scored + ranker.found.scored
        method_found = ranker.found.method
    assert best is not None
    placed = Placed(best, position, world)
    placed.found = Found(f"{method_found}, each place", exact, scored, values)
    return placed


def usual_places(log: ClickLog, world: World) -> Integers:
    """Return where the log most often shows each query's block, (Q,); -1 = not shown.

    Pages without a block do not count where some have one. Queries that the log never shows a block
    for have the usual place of their type.
    """
    log.check_world(world)
    usual = np.full(world.n_queries, -1)
    if log.vertical is None or log.vertical_position is None or world.vertical is None:
        return usual
    shown = np.flatnonzero(log.vertical >= 0)
    counts = np.zeros((world.n_queries, log.slots + 1))
    np.add.at(counts, (log.query[shown], log.vertical_position[shown]), log.counts[shown])
    for kind in np.unique(world.vertical[world.vertical >= 0]).tolist():
        same = world.vertical == kind
        total = counts[same].sum(axis=0)
        if total.any():
            usual[same] = total.argmax()
    seen = counts.any(axis=1) & (world.vertical >= 0)
    usual[seen] = counts[seen].argmax(axis=1)
    return usual


class _WithBlocks(ClickModel):
    """A model of pages whose blocks all stand at one place, as ``max_reward`` asks for it."""

    def __init__(self, model: ClickModel, world: World, place: int) -> None:
        self.model, self.world, self.place = model, world, place
        self.fingerprint = model.fingerprint
        self.__dict__["capabilities"] = model.capabilities

    @property
    def max_slots(self) -> int | None:
        """The model's."""
        return self.model.max_slots

    @property
    def cheap_scores(self) -> bool:
        """The model's."""
        return self.model.cheap_scores

    def relevance(self) -> Floats:
        """Return the model's relevance, (Q, N)."""
        return self.model.relevance()

    def score_columns(self, query: Integers, columns: Integers) -> Floats:
        """Return the expected clicks of pages (K, n) with the block at its place."""
        there = np.count_nonzero(columns >= 0, axis=0) >= self.place
        position = np.where(there, self.place, -1)
        blocks = block_types(self.world, query, position), position
        return self.model.score_columns(query, columns, **self.model.vertical_arguments(*blocks))

    def rough_columns(self, query: Integers, columns: Integers) -> Floats | None:
        """Return the model's rough scores, which know no block."""
        return self.model.rough_columns(query, columns)
