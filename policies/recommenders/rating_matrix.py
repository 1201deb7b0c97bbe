"""Training ratings by user and by item, and where a world's users and items are among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common import checks
from ...common.typing import Floats, Integers
from ...data import Ratings, World

Indices = NDArray[np.int32]


class Rows(NamedTuple):
    """A sparse matrix, row after row.

    Attributes
    ----------
    starts : (R + 1,)
        Where each row begins.
    columns : (n,), values : (n,)
        The columns ascend within a row.
    """

    starts: Integers
    columns: Indices
    values: Floats


@dataclass(frozen=True, eq=False)
class RatingMatrix:
    """Ratings in the three orders that recommenders read them in.

    Attributes
    ----------
    user, item : (n,)
        As they came.
    rating : (n,)
    n_users, n_items : int
        U and I.
    """

    user: Indices
    item: Indices
    rating: Floats
    n_users: int
    n_items: int

    @classmethod
    def of(cls, train: Ratings, labels: ArrayLike | None = None) -> RatingMatrix:
        """Return the matrix of ``train``, with other numbers than its ratings if given, (n,)."""
        if not isinstance(train, Ratings):
            raise ValueError(f"train must be data.Ratings, not {type(train).__name__}")
        if not len(train):
            raise ValueError("train has no ratings to learn from")
        values = train.rating if labels is None else checks.finite(labels, "labels", 1)
        checks.same_shape(values, train.user.shape, "labels", "train")
        rating = np.asarray(values, dtype=np.float64)
        # Copies: a read-only array would be another type for compiled code.
        return cls(train.user.copy(), train.item.copy(), rating, train.n_users, train.n_items)

    @cached_property
    def users(self) -> Rows:
        """For each user the items that the user rated."""
        return _rows(self.user, self.item, self.rating, self.n_users)

    @cached_property
    def items(self) -> Rows:
        """For each item the users who rated it."""
        return _rows(self.item, self.user, self.rating, self.n_items)

    def cap(self, estimates: Floats) -> Floats:
        """Put estimates back into the range of the ratings, in place; NaN stays."""
        return np.clip(estimates, self.rating.min(), self.rating.max(), out=estimates)


def _rows(row: Indices, column: Indices, values: Floats, n_rows: int) -> Rows:
    order = np.lexsort((column, row))
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=n_rows), out=starts[1:])
    return Rows(starts, column[order].astype(np.int32), values[order])


class Places:
    """Where a world's queries and documents are among the users and items of the ratings.

    They are found by their ids, so that a world may have other users and items, or another choice
    of items for each user.

    Attributes
    ----------
    user : (Q,)
    n_items : int
        Of the ratings.
    """

    user: Integers
    n_items: int

    def __init__(self, train: Ratings, world: World) -> None:
        if world.query_ids is None or world.doc_ids is None:
            raise ValueError(
                "this world has no query_ids and doc_ids, by which recommenders find its users "
                "and items among the ratings; Ratings.world makes one that has"
            )
        self.user = find_names(world.query_ids, train.user_ids, "user")
        self.n_items = train.n_items
        self._ids = world.doc_ids
        self._item = find_names(self._ids.names.astype(self._ids.dtype), train.item_ids, "item")

    def items(self, start: int, end: int) -> Integers:
        """Return the items of the documents of some queries: (1, N) or (end - start, N).

        One row stands for all where all queries have the same documents. A place beyond a query's
        last document has item 0, and is no candidate.
        """
        ids = self._ids
        if ids.repeats:
            start, end = 0, 1
        lengths = np.diff(ids.starts[start : end + 1])
        result = np.zeros((end - start, ids.shape[1]), dtype=np.int64)
        there = np.arange(ids.shape[1]) < lengths[:, None]
        result[there] = self._item[ids.codes[ids.starts[start] : ids.starts[end]]]
        return result


def find_names(names: NDArray[Any], known: NDArray[np.str_], what: str) -> Integers:
    """Return the index in ``known`` of each name; one that is not there is an error."""
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, names, sorter=order), len(known) - 1)
    index = order[place]
    missing = known[index] != names
    if missing.any():
        raise ValueError(f"the world's {what} {names[missing.argmax()]} is not among the ratings")
    return np.asarray(index, dtype=np.int64)
