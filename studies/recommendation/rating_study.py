"""What studies of ratings share: which ratings they take, and how options choose them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from ..study import Study, setting
from .system_lists import RatingsSetting, ratings_of


@dataclass(frozen=True)
class RatingStudy(Study):
    """A study of ratings: of a file, or embedded ones of some size.

    A file replaces the embedded ratings of a preset and nothing else, so without a preset it gets
    the usual one, like embedded ratings.
    """

    _EMBEDDED: ClassVar[dict[str, str]] = {  # settings of embedded ratings, by their options
        "n_users": "users", "n_items": "items", "ratings_seed": "ratings-seed",
    }  # fmt: skip

    ratings: str = setting(
        "", "MovieLens file or folder, or CSV of user, item, rating; all else is the preset's, "
        "which is quick unless given", metavar="PATH", absent="embedded ratings",
    )  # fmt: skip
    n_users: int = setting(
        6040, "users of the embedded ratings", flag="users", least=2, metavar="N"
    )
    n_items: int = setting(
        3706, "items of the embedded ratings", flag="items", least=2, metavar="N"
    )
    ratings_seed: int = setting(
        0, "seed of the embedded ratings", least=0, metavar="N", later=True
    )

    @classmethod
    def from_options(cls, preset: str, given: dict[str, Any]) -> tuple[str, Self]:
        """Return the preset and the study; ratings of a file have their own size."""
        wrong = [f"--{flag}" for name, flag in cls._EMBEDDED.items() if name in given]
        if given.get("ratings") and wrong:
            raise ValueError(f"{', '.join(wrong)}: for embedded ratings, not for --ratings")
        return super().from_options(preset, given)

    def check(self) -> None:
        """Raise where the study could not run; the ratings are loaded for it."""
        super().check()
        ratings_of(self.source())

    def resolved(self) -> Self:
        """Return the study with the number of users and items that a file has."""
        if not self.ratings:
            return self
        found = ratings_of(self.source())
        return dataclasses.replace(
            self, n_users=found.n_users, n_items=found.n_items, ratings_seed=0
        )

    def source(self) -> RatingsSetting:
        """Return which ratings these are; a file is read for it."""
        if self.ratings:
            return RatingsSetting.from_path(self.ratings)
        return RatingsSetting("", self.n_users, self.n_items, self.ratings_seed)

    def describe(self) -> dict[str, Any]:
        """Return the settings for people; embedded ratings have a size, files have a name."""
        texts = super().describe()
        if not self.ratings:
            return texts | {"ratings": "embedded"}
        unknown = {flag.replace("-", " ") for flag in self._EMBEDDED.values()}
        texts = {name: text for name, text in texts.items() if name not in unknown}
        return texts | {"ratings": Path(self.ratings).name}
