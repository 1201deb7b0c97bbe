"""The lists that recommenders show after they learned from one part of the ratings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from ... import data, policies
from ...common.typing import Integers
from ..engine.grid import Result, cell_key
from ..engine.keeping import keep_file

LISTS_VERSION = "1"
SHARE = 0.8  # of the ratings: what recommenders learn from


@dataclass(frozen=True)
class RatingsSetting:
    """Which ratings a study takes.

    ``path`` of a file or folder that ``data.load_movielens`` reads, or "" for embedded ratings of
    ``n_users`` and ``n_items``, drawn by ``seed``. ``contents`` is what the file holds, whatever
    its name: ``from_path`` finds it.
    """

    path: str = field(default="", metadata={"key": False})
    n_users: int = 0
    n_items: int = 0
    seed: int = 0
    contents: str = ""

    @classmethod
    def from_path(cls, path: str) -> RatingsSetting:
        """Return the setting of a file or folder, which is read for it."""
        ratings = data.load_movielens(path)
        digest = hashlib.sha256()
        for name in ("user", "item", "rating", "user_ids", "item_ids"):
            digest.update(getattr(ratings, name).tobytes())
        return cls(path, contents=digest.hexdigest()[:24])


@lru_cache(maxsize=1)
def ratings_of(setting: RatingsSetting) -> data.Ratings:
    """Return the ratings of a setting."""
    if setting.path:
        return data.load_movielens(setting.path)
    return data.synthetic_ratings(setting.n_users, setting.n_items, setting.seed)


@lru_cache(maxsize=1)
def parts_of(setting: RatingsSetting, split: int) -> tuple[data.Ratings, data.Ratings]:
    """Return the training and the test part, split by a permutation of seed ``split``."""
    return ratings_of(setting).split(SHARE, seed=split)


@lru_cache(maxsize=2)
def rated_world(setting: RatingsSetting, split: int, training_items: bool) -> data.World:
    """Return the world of a test part, with or without what a user rated in training."""
    train, test = parts_of(setting, split)
    return test.world(train, training_items)


@dataclass(frozen=True)
class ListsCell:
    """One recommender, trained on one part of the ratings.

    Parameters
    ----------
    system : name of the recommender.
    split : seed of the permutation that splits the ratings, and of the recommender.
    training_items : whether users may be shown what they rated in training.
    folder : where the lists are kept.
    """

    system: str
    split: int
    training_items: bool
    folder: str = field(metadata={"key": False})
    ratings: RatingsSetting = field(default_factory=RatingsSetting)
    slots: int = 10


SHOWN = {"shown": int}


def lists_cell(cell: ListsCell) -> Result:
    """Train, and keep the lists; return how many items they show."""
    return {"shown": int((lists_of(cell) >= 0).sum())}


def lists_of(cell: ListsCell) -> Integers:
    """Return the list of each user, (Q, slots): from its file, or made now."""
    shape = rated_world(cell.ratings, cell.split, cell.training_items).n_queries, cell.slots
    path = Path(cell.folder) / f"{cell_key(cell, LISTS_VERSION)}.npy"
    return keep_file(path, partial(_recommend, cell), _save, partial(_load, shape=shape))


def _recommend(cell: ListsCell) -> Integers:
    train, _ = parts_of(cell.ratings, cell.split)
    world = rated_world(cell.ratings, cell.split, cell.training_items)
    ranker = policies.recommender(cell.system, train, world, cell.slots, seed=cell.split)
    return ranker.greedy(np.arange(world.n_queries))


def _save(lists: Integers, path: Path) -> None:
    np.save(path, lists)


def _load(path: Path, shape: tuple[int, int]) -> Integers:
    lists = np.load(path)
    if lists.shape != shape or lists.dtype.kind != "i":
        raise ValueError(f"{path}: not the lists of {shape[0]} users")
    return np.asarray(lists, dtype=np.int64)
