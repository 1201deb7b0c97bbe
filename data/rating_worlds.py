"""The world of test ratings: users are queries, items are documents."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common.memory import require_memory
from ..common.typing import Booleans, Integers
from .document_ids import DocumentIds
from .world import World

if TYPE_CHECKING:
    from .ratings import Ratings

_PRIOR = 5  # ratings that draw an item's mean towards the mean of all


def make_rating_world(
    test: Ratings,
    train: Ratings,
    training_items: bool,
    factors: int | None,
    n_users: int | None,
    n_docs: int | None,
    seed: int,
    allowed: Booleans | None = None,
) -> World:
    """Return the world of ``Ratings.world``, which has the checks and the explanation."""
    asked = np.flatnonzero(np.bincount(test.user))
    if n_users is not None:
        asked = np.sort(np.random.default_rng(seed).permutation(asked)[:n_users])
    relevance = _spread(test, asked, test.rating, -1)
    counts = np.bincount(train.item, minlength=train.n_items)
    candidates = np.tile(counts > 0, (len(asked), 1))
    if not training_items:
        candidates &= _spread(train, asked, 0, 1).view(bool)
    if allowed is not None:
        candidates &= allowed[asked]
    items = None
    doc_ids = DocumentIds.repeated(test.item_ids, len(asked))
    if n_docs is not None and n_docs < test.n_items:
        items, doc_ids = _choose_popular(candidates, counts, n_docs, test.item_ids)
        relevance = np.where(items >= 0, np.take_along_axis(relevance, items, axis=1), -1)
        candidates = items >= 0
    possible = candidates.any(axis=1)
    if not possible.any():
        raise ValueError("no user has a candidate: the training part has no items for them")
    world = World(
        relevance,
        query_probs=possible / possible.sum(),
        candidates=candidates,
        query_ids=test.user_ids[asked],
        doc_ids=doc_ids,
        max_grade=5,
        name="ratings",
    )
    return world if factors is None else _with_features(world, train, asked, items, factors)


def _spread(ratings: Ratings, asked: Integers, value: ArrayLike, other: int) -> NDArray[np.int8]:
    """Return ``value`` where one of the users has a rating, else ``other``, (users, items)."""
    row = np.full(ratings.n_users, -1)
    row[asked] = np.arange(len(asked))
    there = row[ratings.user] >= 0
    table = np.full((len(asked), ratings.n_items), other, dtype=np.int8)
    values = np.broadcast_to(value, there.shape)
    table[row[ratings.user[there]], ratings.item[there]] = values[there]
    return table


def _choose_popular(
    candidates: Booleans, counts: Integers, n_docs: int, item_ids: NDArray[np.str_]
) -> tuple[Integers, DocumentIds]:
    """Return each user's most popular candidates, in the order of items, (Q, n_docs).

    -1 closes the lists of users who have fewer.
    """
    order = np.argsort(-counts, kind="stable")
    popular = candidates[:, order]
    popular &= np.cumsum(popular, axis=1, dtype=np.int32) <= n_docs
    row, place = np.nonzero(popular)
    item = order[place]
    by_item = np.lexsort((item, row))
    row, item = row[by_item], item[by_item]
    lengths = np.bincount(row, minlength=len(candidates))
    place = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    items = np.full((len(candidates), n_docs), -1)
    items[row, place] = item
    return items, DocumentIds.from_pairs(item_ids, row, place, item, (len(items), n_docs))


def _with_features(
    world: World, train: Ratings, asked: Integers, items: Integers | None, factors: int
) -> World:
    """Return the world with features; ``items`` (Q, N) are its documents, or None for all."""
    most = min(train.n_users, train.n_items) - 1
    if factors > most:
        raise ValueError(f"factors must be at most {most} for {train!r}, not {factors}")
    # World needs the features once more, standardised, and both while they are made.
    size = 4 * world.n_queries * world.n_docs * (2 + 3 * factors)
    require_memory(3 * size, "the world's features", "take fewer factors, users or items")
    of_user, of_item = decompose(train, factors)
    counts = np.bincount(train.item, minlength=train.n_items)
    sums = np.bincount(train.item, weights=train.rating, minlength=train.n_items)
    means = (sums + _PRIOR * train.rating.mean()) / (counts + _PRIOR)
    by_item = np.column_stack([np.log1p(counts), means, of_item]).astype(np.float32)
    features = np.empty((world.n_queries, world.n_docs, 2 + 3 * factors), dtype=np.float32)
    shown = by_item if items is None else by_item[items]
    features[:, :, : 2 + factors] = shown
    features[:, :, 2 + factors : 2 + 2 * factors] = of_user[asked, None]
    np.multiply(of_user[asked, None], shown[..., 2:], out=features[:, :, 2 + 2 * factors :])
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
    from scipy.sparse.linalg import svds

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
