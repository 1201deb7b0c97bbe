"""The world of test ratings: users are queries, items are documents."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import svds

from ..common.memory import require_memory
from ..common.typing import Integers
from .document_ids import DocumentIds
from .world import World

if TYPE_CHECKING:
    from .ratings import Ratings

_PRIOR = 5  # ratings that draw an item's mean towards the mean of all


def make_rating_world(
    test: Ratings, train: Ratings, training_items: bool, factors: int | None
) -> World:
    """Return the world of ``Ratings.world``, which has the checks and the explanation."""
    asked = np.flatnonzero(np.bincount(test.user))
    row = np.full(test.n_users, -1)  # of each user in the world
    row[asked] = np.arange(len(asked))
    shape = len(asked), test.n_items

    relevance = np.full(shape, -1, dtype=np.int8)
    relevance[row[test.user], test.item] = test.rating
    candidates = np.zeros(shape, dtype=bool)
    candidates[:, np.bincount(train.item, minlength=shape[1]) > 0] = True
    if not training_items:
        own = row[train.user] >= 0
        candidates[row[train.user[own]], train.item[own]] = False
    possible = candidates.any(axis=1)
    if not possible.any():
        raise ValueError("no user has a candidate: the training part has no items for them")
    world = World(
        relevance,
        query_probs=possible / possible.sum(),
        candidates=candidates,
        query_ids=test.user_ids[asked],
        doc_ids=DocumentIds.repeated(test.item_ids, len(asked)),
        max_grade=5,
        name="ratings",
    )
    return world if factors is None else _with_features(world, train, asked, factors)


def _with_features(world: World, train: Ratings, asked: Integers, factors: int) -> World:
    most = min(train.n_users, train.n_items) - 1
    if factors > most:
        raise ValueError(f"factors must be at most {most} for {train!r}, not {factors}")
    # World needs the features once more, standardised, and both while they are made.
    size = 4 * world.n_queries * world.n_docs * (2 + 3 * factors)
    require_memory(3 * size, "the world's features", "take fewer factors or fewer users and items")
    of_user, of_item = decompose(train, factors)
    features = np.empty((world.n_queries, world.n_docs, 2 + 3 * factors), dtype=np.float32)
    counts = np.bincount(train.item, minlength=train.n_items)
    sums = np.bincount(train.item, weights=train.rating, minlength=train.n_items)
    features[:, :, 0] = np.log1p(counts)
    features[:, :, 1] = (sums + _PRIOR * train.rating.mean()) / (counts + _PRIOR)
    features[:, :, 2 : 2 + factors] = of_item
    features[:, :, 2 + factors : 2 + 2 * factors] = of_user[asked, None]
    np.multiply(of_user[asked, None], of_item, out=features[:, :, 2 + 2 * factors :])
    features.flags.writeable = False  # a world shares such an array instead of copying it
    result = World(
        world.relevance, features, world.query_probs, world.candidates, world.query_ids,
        world.doc_ids, world.max_grade, world.name,
    )  # fmt: skip
    recipe = f"clickgym rating factors 1: {factors} {train_digest(train)} {world.fingerprint}"
    return result.with_fingerprint(hashlib.sha256(recipe.encode()).hexdigest())


def decompose(train: Ratings, factors: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return factors of users (U, F) and items (I, F) whose products are near the ratings.

    They come from a truncated singular value decomposition of the ratings, 0 where there is none,
    the strongest dimension first; users and items get the root of the singular values each. The
    sign of a dimension is chosen so that its items sum to more than 0.
    """
    start = np.ones(min(train.n_users, train.n_items))
    left, values, right = svds(train.matrix(np.float64), k=factors, v0=start)
    order = np.argsort(-values)
    signs = np.where(right[order].sum(axis=1) < 0, -1.0, 1.0) * np.sqrt(values[order])
    of_user, of_item = left[:, order] * signs, right[order].T * signs
    return of_user.astype(np.float32), of_item.astype(np.float32)


def train_digest(train: Ratings) -> str:
    """Return what the training ratings are, in whatever order, as 64 hexadecimal digits."""
    keys = train.pair_keys() * 8 + train.rating
    return hashlib.sha256(np.sort(keys).tobytes()).hexdigest()
