"""Nearest neighbours: what similar users, or users of similar items, rated, weighted and averaged.

Similar means Pearson's correlation over what both rated. An estimate is the sum of similarity times
rating over the sum of similarities, as in Mahout: without shrinkage, so that two common ratings
are enough for a perfect correlation.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...common import checks
from ...common.progress import progress
from ...common.typing import Floats, Integers
from .compiled import compiled, correlate, estimate_by_items, estimate_by_users, find_nearest
from .estimates import Estimates
from .rating_matrix import RatingMatrix

_SIMILARITIES = 1 << 21  # held at a time
_ITEM_CELLS = 1 << 25  # estimates by items: similarities are found anew for every block of users


def learn_user_neighbours(
    ratings: RatingMatrix,
    rng: np.random.Generator,
    neighbours: int = 50,
    minimum: int = 2,
    common: int = 2,
    signed: bool = True,
    capped: bool = True,
) -> Estimates:
    """Return estimates from the ``neighbours`` most similar users.

    Parameters
    ----------
    neighbours : int
        How many of the most similar users count. They are the same for all items; among equally
        similar ones chance decides.
    minimum : int
        Of these, how many must have rated an item for it to get an estimate.
    common : int
        How many items two users must both have rated to be similar at all. At least 2: one pair of
        ratings has no variance.
    signed : bool
        Whether the sum of similarities has their signs, as in Mahout, or their absolute values.
    capped : bool
        Whether estimates are put back into the range of the ratings.

    Notes
    -----
    Similarities that cancel out exactly (their signed sum is 0) give an infinite estimate, which
    the cap makes the best or the worst one, as division does in Mahout; 0 / 0 gives none.
    Time O(sum over items of their raters squared), memory O(U) per user at work.
    """
    neighbours = checks.positive_integer(neighbours, "neighbours")
    minimum, common = _check_numbers(minimum, common)

    def estimate(users: Integers) -> Floats:
        parts = []
        step = max(_SIMILARITIES // ratings.n_users, 1)
        for start in range(0, len(users), step):
            some = users[start : start + step]
            similarity = compiled(correlate)(some, *ratings.users, *ratings.items, common)
            noise = rng.random(similarity.shape)
            near = compiled(find_nearest)(similarity, noise, neighbours)
            weights = np.take_along_axis(similarity, np.maximum(near, 0), axis=1)
            parts.append(compiled(estimate_by_users)(
                near, weights, *ratings.users, ratings.n_items, minimum, signed
            ))  # fmt: skip
        estimates = np.concatenate(parts)
        return ratings.cap(estimates) if capped else estimates

    return Estimates(estimate)


def learn_item_neighbours(
    ratings: RatingMatrix,
    rng: np.random.Generator,
    minimum: int = 2,
    common: int = 2,
    signed: bool = True,
    capped: bool = True,
) -> Estimates:
    """Return estimates from the items that the user rated, weighted by their similarity.

    Parameters
    ----------
    minimum : int
        How many rated items must be similar to an item for it to get an estimate.
    common, signed, capped
        As of ``learn_user_neighbours``; here two items need ``common`` users who rated both.

    Notes
    -----
    All of a user's rated items count, as in Mahout, and never the item itself. Time O(ratings
    times items), memory 8 bytes per user and item, for as many users at a time as fit into a
    quarter of a gigabyte.
    """
    minimum, common = _check_numbers(minimum, common)
    return Estimates(
        partial(_estimate_by_items, ratings, minimum, common, signed, capped), _ITEM_CELLS
    )


def _estimate_by_items(
    ratings: RatingMatrix, minimum: int, common: int, signed: bool, capped: bool, users: Integers
) -> Floats:
    n_items = ratings.n_items
    estimates = np.empty((len(users), n_items))
    step = max(_SIMILARITIES // n_items, 1)
    with progress(n_items, "items") as advance:
        for first in range(0, n_items, step):
            some = np.arange(first, min(first + step, n_items))
            similarity = compiled(correlate)(some, *ratings.items, *ratings.users, common)
            compiled(estimate_by_items)(
                users, similarity, first, *ratings.users, minimum, signed, estimates
            )
            advance(len(some))
    return ratings.cap(estimates) if capped else estimates


def _check_numbers(minimum: int, common: int) -> tuple[int, int]:
    return checks.positive_integer(minimum, "minimum"), checks.positive_integer(common, "common", 2)
