"""Ratings that a study takes, cut into parts: what was known before, what is logged, what is kept.

The three parts are apart. A recommender that logs learned from the *history*; its users click by
the *feedback* part while the log is made; what learned from the log is judged by the *test* part.

All pairs of user and item, rated or not, are on one of two sides: the log may show those of one
side, and deployed lists those of the other. So a pair that the log never showed is no more likely
to be rated than another candidate, and nothing can be learned from its absence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from ... import data
from ...common.typing import Booleans
from ..study import Study, setting
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


@dataclass(frozen=True)
class RatingStudy(Study):
    """A study of ratings: of a file, or embedded ones of some size."""

    ratings: str = setting(
        "", "MovieLens file or folder, or CSV of user, item, rating", metavar="PATH",
        absent="embedded ratings",
    )
    n_users: int = setting(6040, "users of the embedded ratings", flag="users", metavar="N")
    n_items: int = setting(3706, "items of the embedded ratings", flag="items", metavar="N")

    @classmethod
    def from_options(cls, preset: str, given: dict[str, Any]) -> tuple[str, Self]:
        """Return the preset and the study; ratings of a file have their own size."""
        sizes = {"n_users": "--users", "n_items": "--items"}
        wrong = [flag for name, flag in sizes.items() if name in given]
        if given.get("ratings") and wrong:
            raise ValueError(f"{', '.join(wrong)}: for embedded ratings, not for --ratings")
        return super().from_options(preset, given)

    def check(self) -> None:
        """Raise where the study could not run; the ratings are loaded for it."""
        super().check()
        ratings_of(self.source())

    def source(self) -> RatingsSetting:
        """Return which ratings these are; a file is read for it."""
        if self.ratings:
            return RatingsSetting.from_path(self.ratings)
        return RatingsSetting("", self.n_users, self.n_items)

    def describe(self) -> dict[str, Any]:
        """Return the settings for people; embedded ratings have a size, files have a name."""
        texts = super().describe()
        if not self.ratings:
            return texts | {"ratings": "embedded"}
        texts = {name: text for name, text in texts.items() if name not in ("users", "items")}
        return texts | {"ratings": Path(self.ratings).name}
