"""Ratings cut into three parts: what was known before, what is logged, what is kept.

The three parts are apart. A recommender that logs learned from the *history*; its users click by
the *feedback* part while the log is made; what learned from the log is judged by the *test* part.

All pairs of user and item, rated or not, are on one of two sides: the log may show those of one
side, and deployed lists those of the other. So a pair that the log never showed is no more likely
to be rated than another candidate, and nothing can be learned from its absence.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ... import data
from ...common.typing import Booleans
from .system_lists import RatingsSetting, ratings_of

HISTORY = 0.2  # of the ratings
LOGGED = 0.75  # of all pairs: the side of the log


class Parts(NamedTuple):
    """Ratings of the same users and items, in parts that share no rating.

    Attributes
    ----------
    history : what the logging recommender learned from.
    feedback : the other ratings of pairs on the log's side.
    test : the other ratings of pairs on the other side.
    logged : (users, items), whether a pair is on the log's side.
    """

    history: data.Ratings
    feedback: data.Ratings
    test: data.Ratings
    logged: Booleans

    @property
    def train(self) -> data.Ratings:
        """What is known when lists are deployed: history and feedback."""
        return join(self.history, self.feedback)


@lru_cache(maxsize=1)
def three_parts(source: RatingsSetting, seed: int) -> Parts:
    """Return the parts of the ratings, drawn by ``seed``."""
    ratings = ratings_of(source)
    history, others = ratings.split(HISTORY, seed)
    rng = np.random.default_rng([seed, 1])
    logged = rng.random((ratings.n_users, ratings.n_items), dtype=np.float32) < LOGGED
    side = logged[others.user, others.item]
    return Parts(history, others[side], others[~side], logged)


def join(first: data.Ratings, second: data.Ratings) -> data.Ratings:
    """Return the ratings of two parts as one."""
    user, item, rating = (
        np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("user", "item", "rating")
    )
    return data.Ratings(user, item, rating, first.user_ids, first.item_ids)
