"""Recommenders that know nothing of a user: at random, and by popularity."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...common import checks
from ...common.typing import Floats, Integers
from .estimates import Estimates
from .rating_matrix import RatingMatrix


def learn_nothing(ratings: RatingMatrix, rng: np.random.Generator) -> Estimates:
    """Return equal estimates for all items: their order is that of ties."""
    return Estimates(partial(_same_for_all, np.zeros(ratings.n_items)))


def learn_popularity(
    ratings: RatingMatrix, rng: np.random.Generator, by: str = "count"
) -> Estimates:
    """Return the popularity of each item, the same for all users.

    ``by`` "count": how many ratings an item has; "sum" or "mean": of these ratings.
    """
    checks.choice(by, ("count", "sum", "mean"), "by")
    count = np.bincount(ratings.item, minlength=ratings.n_items).astype(np.float64)
    total = np.bincount(ratings.item, ratings.rating, ratings.n_items)
    mean = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return Estimates(partial(_same_for_all, {"count": count, "sum": total, "mean": mean}[by]))


def _same_for_all(values: Floats, users: Integers) -> Floats:
    return np.broadcast_to(values, (len(users), len(values)))
