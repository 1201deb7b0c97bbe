"""Embedded ratings: made from a seed, and shaped like MovieLens 1M."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from ..common import checks
from ..common.typing import Floats, Integers
from .ratings import Ratings
from .world import World

Generator = np.random.Generator

SHARES = (0.056, 0.108, 0.261, 0.349, 0.226)  # of 1 to 5 stars, as in MovieLens 1M
DENSITY, FEWEST = 0.0447, 20  # of all pairs; ratings per user
ACTIVITY, POPULARITY = 1.0, 1.5  # spread of the logarithms
DIMENSIONS = 8  # of taste
# What a rating is made of: weights of independent standard normals.
QUALITY, MOOD, TASTE, LUCK = 0.5, 0.4, 0.8, 0.7
CHOICE = 1.0  # how much more often a user rates what suits the user's taste
_BLOCK = 1 << 21  # pairs of user and item that are looked at together


def synthetic_ratings(n_users: int = 6040, n_items: int = 3706, seed: int = 0) -> Ratings:
    """Make ratings with the shape of MovieLens 1M, but none of its data.

    By default there are about a million: 4.5 % of all pairs of a user and an item. Popularity has
    a long tail, taste has few dimensions, and what is missing is not missing at random: users
    rate what is popular and what suits their taste.

    Parameters
    ----------
    n_users, n_items : int
        U and I; at least 2 each.
    seed : int
        Equal arguments and seeds make equal ratings.

    Returns
    -------
    Ratings
        User by user, each user's in random order; ids are "u1" … and "i1" …, and an item's id
        says nothing about its popularity.

    Notes
    -----
    1. An item has a popularity (a normal logarithm), a quality that goes with it, and a place in
       the space of taste; a user has an activity (a normal logarithm, at least 20 ratings where
       there are as many items twice over), a mood, and a direction in the space of taste.
    2. A user draws as many items as the activity says, without putting any back, with weights
       popularity × exp(``CHOICE`` × taste).
    3. Quality, mood, taste and luck add up to a rating, cut so that the shares of 1 to 5 stars
       are those of MovieLens 1M (``SHARES``).

    Costs O(U I): some 2 s at the default size, in blocks of 2 million pairs.
    """
    n_users = checks.positive_integer(n_users, "n_users", 2)
    n_items = checks.positive_integer(n_items, "n_items", 2)
    seed = checks.positive_integer(seed, "seed", 0)
    item_rng, user_rng, draw_rng = np.random.default_rng(seed).spawn(3)

    fame = ndtri((0.5 + item_rng.permutation(n_items)) / n_items)  # normal, without outliers
    quality = 0.5 * fame + np.sqrt(0.75) * item_rng.standard_normal(n_items)
    places = item_rng.standard_normal((DIMENSIONS, n_items))
    directions = user_rng.standard_normal((DIMENSIONS, n_users)) / np.sqrt(DIMENSIONS)
    mood = user_rng.standard_normal(n_users)
    counts = _draw_counts(n_users, n_items, user_rng)

    users, items, scores = [], [], []
    rows = max(_BLOCK // n_items, 1)
    for start in range(0, n_users, rows):
        part = slice(start, start + rows)
        taste = _suit(directions[:, part], places)
        chosen = _choose(POPULARITY * fame + CHOICE * taste, counts[part], draw_rng)
        row = np.repeat(np.arange(len(taste)), counts[part])
        users.append(start + row)
        items.append(chosen)
        scores.append(QUALITY * quality[chosen] + TASTE * taste[row, chosen])
    user, item, score = map(np.concatenate, (users, items, scores))
    score += MOOD * mood[user] + LUCK * draw_rng.standard_normal(len(user))
    cuts = np.quantile(score, np.cumsum(SHARES[:-1]))
    return Ratings(
        user,
        item,
        1 + np.searchsorted(cuts, score, "right"),
        [f"u{number}" for number in range(1, n_users + 1)],
        [f"i{number}" for number in range(1, n_items + 1)],
    )


@lru_cache(maxsize=1)
def embedded_ratings() -> tuple[Ratings, Ratings]:
    """Return training and test part of the ratings of 1,000 users of 200 items, made once."""
    return synthetic_ratings(1000, 200, seed=0).split(0.8, seed=0)


@lru_cache(maxsize=1)
def embedded_ratings_world() -> World:
    """Return the world of ``embedded_ratings``, with features of 8 factors, made once."""
    train, test = embedded_ratings()
    return test.world(train, factors=8)


def _draw_counts(n_users: int, n_items: int, rng: Generator) -> Integers:
    """Return how many items each user rates, (U,)."""
    activity = np.exp(ACTIVITY * rng.standard_normal(n_users))
    fewest = min(FEWEST, n_items // 2)
    wanted = max(DENSITY * n_items - fewest, 0.25 * fewest) * activity / np.exp(ACTIVITY**2 / 2)
    return np.minimum(np.rint(fewest + wanted), max(n_items // 2, 1)).astype(np.int64)


def _suit(directions: Floats, places: Floats) -> Floats:
    """Return how an item suits a user, (users, items): the same bits with any number of threads."""
    total = directions[0][:, None] * places[0]
    for direction, place in zip(directions[1:], places[1:], strict=True):
        total += direction[:, None] * place
    return total


def _choose(weights: Floats, counts: Integers, rng: Generator) -> Integers:
    """Draw ``counts`` items per row without replacement, by the logarithms of their weights.

    Row after row; those of each in the order in which they are drawn.
    """
    keys = rng.standard_exponential(weights.shape)
    np.log(keys, out=keys)
    keys -= weights  # the smallest of Exp(1) / weight are the first arrivals
    order = np.argsort(keys, axis=1)
    return order[np.arange(order.shape[1]) < counts[:, None]]
