"""Small tables of ratings that the tests of recommenders share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clickgym import data


def small_ratings(
    n_users: int = 30, n_items: int = 20, share: float = 0.5, seed: int = 0
) -> data.Ratings:
    """Ratings of a share of all pairs: a taste of one dimension, and noise."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(n_users * n_items)[: int(share * n_users * n_items)]
    user, item = pairs // n_items, pairs % n_items
    taste = rng.normal(size=n_users)[user] * rng.normal(size=n_items)[item]
    rating = np.clip(np.round(3.3 + taste + rng.normal(size=len(pairs))), 1, 5).astype(int)
    users = [f"user {number}" for number in range(n_users)]
    items = [f"item {number}" for number in range(n_items)]
    return data.Ratings(user, item, rating, users, items)


def small_parts(**settings: object) -> tuple[data.Ratings, data.World]:
    """The training part of small ratings and the world of their test part."""
    train, test = small_ratings(**settings).split(0.8, seed=0)
    return train, test.world(train)


def dense(ratings: data.Ratings) -> np.ndarray:
    """The ratings as (U, I) floats, NaN where there is none."""
    matrix = np.full((ratings.n_users, ratings.n_items), np.nan)
    matrix[ratings.user, ratings.item] = ratings.rating
    return matrix


def surprise_set(ratings: data.Ratings, less: float = 0.0) -> tuple[Any, Any]:
    """The library scikit-surprise, and the ratings (less a number) in its form; skips without it.

    Users and items are called by their indices.
    """
    surprise = pytest.importorskip("surprise", reason="scikit-surprise is not installed")
    rows = zip(ratings.user, ratings.item, ratings.rating, strict=True)
    raw = [(str(user), str(item), float(rating) - less, None) for user, item, rating in rows]
    dataset = surprise.Dataset(surprise.Reader(rating_scale=(1 - less, 5 - less)))
    return surprise, dataset.construct_trainset(raw)
