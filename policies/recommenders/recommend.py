"""Recommenders by name: each becomes a policy that shows every user the same list."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.progress import progress
from ...common.typing import Integers
from ...data import Ratings, World
from ..deterministic import Ranker
from ..plackett_luce import PlackettLuce
from .baselines import learn_nothing, learn_popularity
from .estimates import Estimates, Ordering
from .factorisation import learn_factors
from .neighbours import learn_item_neighbours, learn_user_neighbours
from .rating_matrix import Places, RatingMatrix

_CELLS = 1 << 20  # estimates ordered at a time
# How each one learns; what its function takes beside ratings and random numbers are its choices.
_RECOMMENDERS: dict[str, Callable[..., Estimates]] = {
    "random": learn_nothing,
    "popularity": learn_popularity,
    "item-based": learn_item_neighbours,
    "user-based": learn_user_neighbours,
    "mf": learn_factors,
}


def recommender_names() -> tuple[str, ...]:
    """Return the names that ``recommender`` takes."""
    return tuple(_RECOMMENDERS)


def recommender_choices(name: str) -> dict[str, Any]:
    """Return the choices of a recommender and their defaults."""
    checks.choice(name, recommender_names(), "name")
    parameters = list(inspect.signature(_RECOMMENDERS[name]).parameters.values())[2:]
    return {parameter.name: parameter.default for parameter in parameters}


def recommender(
    name: str,
    train: Ratings,
    world: World,
    slots: int = 10,
    seed: int = 0,
    *,
    labels: ArrayLike | None = None,
    rounding: str = "float32",
    ties: str = "random",
    fill: bool = False,
    **choices: Any,
) -> Ranker:
    """Return the lists that recommender ``name``, trained on ratings, shows the users of a world.

    Parameters
    ----------
    name : str
        "random", "popularity" (number of training ratings), "item-based" and "user-based" nearest
        neighbours with Pearson's correlation, "mf" (matrix factorisation).
    train : Ratings
        What it learns from.
    world : World
        For whom, and what may be shown: ``test.world(train)`` leaves out what a user rated in
        training, ``test.world(train, training_items=True)`` does not. Users and items are found
        among the ratings by ``query_ids`` and ``doc_ids``.
    slots : int
        K.
    seed : int
        Of ties, and of what is random in learning.
    labels : (n,) floats, optional
        Learned from in place of the ratings, row by row: clicks, for example.
    rounding : str
        Estimates are compared in "float32", as in Mahout, or without rounding: "none".
    ties : str
        Items of equal estimates are put in a "random" order, or by "index".
    fill : bool
        Neighbours have no estimate for many items and never show these: pages can be short. With
        ``fill`` they are filled up with other candidates, at random.
    choices
        Of the recommender itself, see ``recommender_choices(name)``; defaults are the paper's
        settings and Mahout's ways. "popularity": ``by``. "item-based": ``minimum``, ``common``,
        ``signed``, ``capped``. "user-based": these and ``neighbours``. "mf": ``features``,
        ``iterations``, ``rate``, ``penalty``, ``noise``, ``offset``, ``sweep``, ``shuffled``,
        ``capped``. An unknown one is a ``TypeError``.

    Notes
    -----
    Neighbours and "mf" need the extra ``recsys`` (numba). All work in blocks of users.
    """
    slots = checks.positive_integer(slots, "slots")
    seed = checks.positive_integer(seed, "seed", 0)
    checks.choice(rounding, ("float32", "none"), "rounding")
    checks.choice(ties, ("random", "index"), "ties")
    known = recommender_choices(name)
    unknown = sorted(set(choices) - set(known))
    if unknown:
        has = f"it has: {', '.join(known)}" if known else "it has none"
        raise TypeError(f"the recommender {name} has no choice {', '.join(unknown)}; {has}")
    ratings, places = RatingMatrix.of(train, labels), Places(train, world)
    learning, ordering = np.random.default_rng(seed).spawn(2)
    estimates = _RECOMMENDERS[name](ratings, learning, **choices)
    order = Ordering(rounding, ties, fill)
    ranking = _rank(estimates, order, places, world, slots, ordering)
    return Ranker.from_rankings(ranking, world=world)


def stochastic_recommender(
    name: str,
    train: Ratings,
    world: World,
    slots: int = 10,
    temperature: float = 1.0,
    seed: int = 0,
    **choices: Any,
) -> PlackettLuce:
    """Return a policy that shows about what recommender ``name`` shows: one that can make a log.

    Items are drawn one by one, without replacement, with probability proportional to
    ``(1 / rank) ** (1 / temperature)``: their ranks in the recommender's list of all candidates.
    Candidates that it has no estimate for come last, in a random order.

    Parameters
    ----------
    temperature : float
        Towards 0 the recommender itself, towards infinity uniform.
    choices
        Those of ``recommender``, and its other options.
    """
    whole = recommender(name, train, world, world.n_docs, seed, **{**choices, "fill": True})
    row, place = np.nonzero(whole.rankings >= 0)
    weights = np.zeros((world.n_queries, world.n_docs))
    weights[row, whole.rankings[row, place]] = 1.0 / (1.0 + place)
    policy = PlackettLuce(weights, temperature, slots)
    policy.fingerprint = world.fingerprint
    return policy


def _rank(
    estimates: Estimates, order: Ordering, places: Places, world: World, slots: int,
    rng: np.random.Generator,
) -> Integers:  # fmt: skip
    """Return the list of each query, (Q, slots): estimates in blocks, ordered in smaller ones."""
    width = max(world.n_docs, places.n_items)
    step, small_step = max(estimates.cells // width, 1), max(_CELLS // width, 1)
    parts = []
    # A single block is one long step, and shows its own progress if it has any.
    long = step < world.n_queries
    with progress(world.n_queries, "users") if long else nullcontext() as advance:
        for start in range(0, world.n_queries, step):
            block = places.user[start : start + step]
            values = estimates.of_users(block)
            for row in range(0, len(block), small_step):
                some = values[row : row + small_step]
                first, last = start + row, start + row + len(some)
                items = np.broadcast_to(places.items(first, last), (len(some), world.n_docs))
                of_documents = np.take_along_axis(some, items, axis=1)
                parts.append(order.top(of_documents, world.candidates[first:last], slots, rng))
            if advance is not None:
                advance(len(block))
    return np.concatenate(parts)
