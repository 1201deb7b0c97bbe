"""Pages with their blocks: what a policy places in a world, and with which probability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Floats, Integers
from ...data import ClickLog, World
from ..base import Policy
from ..places import check_drawn, cut_to_pages, never_shown, not_shown, page_lengths


def may_place(policy: Policy, world: World | None) -> bool:
    """Whether ``policy`` may show a block in ``world``, if that is known: some query has one."""
    if world is None:
        return policy.places_blocks
    return policy.places_blocks and world.vertical is not None and bool((world.vertical >= 0).any())


def block_types(world: World, query: Integers, position: Integers) -> Integers:
    """Return the type of each page's block, (n,); -1 where none is shown."""
    if world.vertical is None:
        return np.full(len(query), -1, dtype=np.int64)
    return np.where(position >= 0, world.vertical[query], -1)


def draw_positions(
    policy: Policy,
    world: World | None,
    query: Integers,
    ranking: Integers,
    rng: np.random.Generator,
) -> Integers:
    """Draw where ``policy`` places the blocks of pages, (n,); -1 = not shown.

    Queries without a block in ``world`` have none, and a block beyond the end of a page is not
    shown. Takes nothing from ``rng`` where no block can be shown.
    """
    return _draw(policy, world, query, ranking, rng)[0]


def draw_places(
    policy: Policy,
    world: World | None,
    query: Integers,
    ranking: Integers,
    rng: np.random.Generator,
) -> tuple[Integers, Floats]:
    """Return ``draw_positions`` and their log-probabilities, (n,) each."""
    position, log_prob, hidden = _draw(policy, world, query, ranking, rng)
    if len(hidden):
        table = policy.place_log_probs(query[hidden], ranking[hidden])
        log_prob[hidden] = cut_to_pages(table, page_lengths(ranking[hidden]))[:, 0]
    return position, log_prob


def _draw(
    policy: Policy,
    world: World | None,
    query: Integers,
    ranking: Integers,
    rng: np.random.Generator,
) -> tuple[Integers, Floats, Integers]:
    """Draw positions and log-probabilities; return also which of those say too little.

    They are of blocks that are not shown on short pages, where some would stand beyond the end.
    """
    if not may_place(policy, world):
        return *not_shown(len(query)), np.zeros(0, dtype=np.int64)
    drawn = policy.place(query, ranking, rng)
    slots = ranking.shape[1]
    position, log_prob = check_drawn(type(policy).__name__, drawn, len(query), slots)
    typed, lengths = np.ones(len(query), dtype=bool), page_lengths(ranking)
    if world is not None and world.vertical is not None:
        typed = world.vertical[query] >= 0
    position = np.where(typed & (position <= lengths), position, -1)
    hidden = np.flatnonzero(typed & (lengths < slots) & (position < 0))
    return position, np.where(typed, log_prob, 0.0), hidden


def place_log_probs(
    policy: Policy, query: Integers, ranking: Integers, world: World | None = None
) -> Floats:
    """Return log P(place | query, ranking), (n, K + 2): not shown, then the places 0 .. K.

    With ``world``, queries without a block in it have none.
    """
    if not may_place(policy, world):
        return never_shown(*ranking.shape)
    result = cut_to_pages(policy.place_log_probs(query, ranking), page_lengths(ranking))
    if world is not None and world.vertical is not None:
        untyped = world.vertical[query] < 0
        result = np.where(untyped[:, None], never_shown(1, ranking.shape[1]), result)
    return result


def page_log_prob(
    policy: Policy,
    query: ArrayLike,
    ranking: ArrayLike,
    position: ArrayLike | None = None,
    world: World | None = None,
) -> Floats:
    """Return log P(ranking, place of the block | query), (n,).

    Parameters
    ----------
    position : (n,) integers, optional
        -1 = no block, which is the default.
    world : World, optional
        Queries without a block in it have none; without a world the policy decides.
    """
    result = policy.log_prob(query, ranking)
    if position is None and not policy.places_blocks:
        return result
    query, ranking = policy.check_pages(query, ranking)
    places = np.full(len(query), -1)
    if position is not None:
        places = checks.integers(position, "position", 1)
        checks.same_shape(places, query.shape, "position", "query")
    if not policy.places_blocks:
        return np.where(places < 0, result, -np.inf)
    table = place_log_probs(policy, query, ranking, world)
    return result + table[np.arange(len(query)), places + 1]


def logged_log_prob(policy: Policy, log: ClickLog, world: World | None = None) -> Floats:
    """Return log P(page | query) of a log's pages, (n,), with the places of their blocks."""
    return page_log_prob(policy, log.query, log.ranking, log.vertical_position, world)


def without_blocks(log: ClickLog) -> ClickLog:
    """Return the log without its columns of vertical blocks."""
    if log.vertical is None:
        return log
    return replace(log, vertical=None, vertical_position=None)
