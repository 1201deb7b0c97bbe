"""Ratings that a study takes, cut into parts: what was known before, what is logged, what is kept.

The three parts are apart. A recommender that logs learned from the *history*; its users click by
the *feedback* part while the log is made; what learned from the log is judged by the *test* part.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ... import data

TRAINING, HISTORY = 0.8, 0.25  # of all ratings; of the training part


@dataclass(frozen=True)
class RatingsSource:
    """Which ratings a study takes.

    ``path`` of what ``data.load_movielens`` reads, or "" for embedded ratings of so many ``raters``
    and ``items``. ``contents`` is what the file holds, whatever its name.
    """

    path: str = field(default="", metadata={"key": False})
    raters: int = 0
    items: int = 0
    contents: str = ""

    @classmethod
    def of(cls, path: str, raters: int, items: int) -> RatingsSource:
        """Return the source of a file, which is read for it, or of embedded ratings."""
        if not path:
            return cls(raters=raters, items=items)
        ratings = data.load_movielens(path)
        digest = hashlib.sha256()
        for name in ("user", "item", "rating", "user_ids", "item_ids"):
            digest.update(getattr(ratings, name).tobytes())
        return cls(path, contents=digest.hexdigest()[:24])


class Parts(NamedTuple):
    """Ratings of the same users and items, in parts that share no rating.

    Attributes
    ----------
    train, test : the split of the recommendation paper.
    history, feedback : the two parts of ``train``.
    """

    train: data.Ratings
    test: data.Ratings
    history: data.Ratings
    feedback: data.Ratings


@lru_cache(maxsize=1)
def ratings_of(source: RatingsSource) -> data.Ratings:
    """Return the ratings of a source."""
    if source.path:
        return data.load_movielens(source.path)
    return data.synthetic_ratings(source.raters, source.items, seed=0)


@lru_cache(maxsize=1)
def parts_of(source: RatingsSource, seed: int) -> Parts:
    """Return the parts of the ratings, drawn by ``seed``."""
    train, test = ratings_of(source).split(TRAINING, seed)
    history, feedback = train.split(HISTORY, seed)
    return Parts(train, test, history, feedback)


def join(first: data.Ratings, second: data.Ratings) -> data.Ratings:
    """Return the ratings of two parts as one."""
    user, item, rating = (
        np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("user", "item", "rating")
    )
    return data.Ratings(user, item, rating, first.user_ids, first.item_ids)
