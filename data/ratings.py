"""Ratings of items by users: sparse, checked and frozen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..common import checks
from ..common.typing import Booleans
from .rating_worlds import make_rating_world
from .world import World

LOWEST, HIGHEST = 1, 5
_COLUMNS = ("user", "item", "rating")


class BadRating(ValueError):
    """A rating that cannot be: ``row`` is its place, ``reason`` what is wrong with it.

    Where the user has rated the item before, ``other`` is the row of that rating.
    """

    def __init__(self, row: int, reason: str, other: int | None = None) -> None:
        first = "" if other is None else f" already in row {other}"
        super().__init__(f"row {row}: {reason}{first}")
        self.row, self.reason, self.other = row, reason, other


class Ratings:
    """Who rated what: n ratings of 1 to 5 stars. Sparse, checked, frozen.

    Parameters
    ----------
    user : (n,) integers
        Indices into ``user_ids``.
    item : (n,) integers
        Indices into ``item_ids``.
    rating : (n,) integers
        1 to 5.
    user_ids : (U,)
        The users' names outside, each once; kept as strings. Users without a rating are allowed.
    item_ids : (I,)
        The items' names outside, likewise.

    Raises
    ------
    ValueError
        With the row: an index or a rating outside its range, a second rating of the same item by
        the same user. With the name: an id that is there twice.

    Notes
    -----
    Arrays are copied and made read-only. Checking sorts the pairs of user and item: O(n log n),
    some 0.1 s for a million ratings. Nine bytes per rating are kept.
    """

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    rating: NDArray[np.int8]
    user_ids: NDArray[np.str_]
    item_ids: NDArray[np.str_]

    def __init__(
        self,
        user: ArrayLike,
        item: ArrayLike,
        rating: ArrayLike,
        user_ids: ArrayLike,
        item_ids: ArrayLike,
    ) -> None:
        self._set("user_ids", _check_ids(user_ids, "user_ids"))
        self._set("item_ids", _check_ids(item_ids, "item_ids"))
        given = zip(_COLUMNS, (user, item, rating), strict=True)
        arrays = {name: checks.integers(array, name, 1) for name, array in given}
        for name, array in arrays.items():
            checks.same_shape(array, arrays["user"].shape, name, "user")
        _check_range(arrays["user"], "user", 0, self.n_users - 1)
        _check_range(arrays["item"], "item", 0, self.n_items - 1)
        _check_range(arrays["rating"], "rating", LOWEST, HIGHEST)
        for name, kind in zip(_COLUMNS, (np.int32, np.int32, np.int8), strict=True):
            self._set(name, arrays[name].astype(kind))
        self._check_pairs()

    def _set(self, name: str, array: NDArray[Any]) -> None:
        array.flags.writeable = False
        self.__dict__[name] = array

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Ratings are frozen: {name} cannot be set")

    def __setstate__(self, state: dict[str, NDArray[Any]]) -> None:
        """Make arrays read-only again, which pickling forgets."""
        for name, array in state.items():
            self._set(name, array)

    def _check_pairs(self) -> None:
        keys = self.pair_keys()
        order = np.argsort(keys, kind="stable")
        again = np.flatnonzero(np.diff(keys[order]) == 0)
        if len(again):
            second = again[np.argmin(order[again + 1])]  # the first row that repeats another
            row, other = int(order[second + 1]), int(order[second])
            user, item = self.user_ids[self.user[row]], self.item_ids[self.item[row]]
            raise BadRating(row, f"user {user} rated item {item}", other)

    def __len__(self) -> int:
        """Return the number of ratings n."""
        return len(self.user)

    def __repr__(self) -> str:
        return f"Ratings({len(self)} ratings by {self.n_users} users of {self.n_items} items)"

    def __getitem__(self, rows: Any) -> Ratings:
        """Return the ratings of some rows: a slice, indices or a mask; all ids stay."""
        user, item, rating = self.user[rows], self.item[rows], self.rating[rows]
        return Ratings(user, item, rating, self.user_ids, self.item_ids)

    @property
    def n_users(self) -> int:
        """Number of users U, with ratings or without."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items I, with ratings or without."""
        return len(self.item_ids)

    @property
    def density(self) -> float:
        """The share of all pairs of a user and an item that have a rating."""
        return len(self) / (self.n_users * self.n_items)

    def pair_keys(self) -> NDArray[np.int64]:
        """Return one number per rating, the same for equal pairs of user and item, (n,)."""
        return self.user.astype(np.int64) * self.n_items + self.item

    def matrix(self, dtype: Any = np.float32) -> sparse.csr_array:
        """Return the ratings as a sparse matrix (U, I); what is not stored is not rated."""
        values = self.rating.astype(dtype)
        return sparse.csr_array((values, (self.user, self.item)), (self.n_users, self.n_items))

    def split(self, fraction: float = 0.8, seed: int = 0) -> tuple[Ratings, Ratings]:
        """Split the ratings at random into a training and a test part.

        The training part are the rows of the first ``int(fraction * n)`` entries of
        ``default_rng(seed).permutation(n)``, in that order; the others are the test part. Both
        keep all ids, so that indices mean the same in both. A fraction that leaves no training part
        is an error.
        """
        share = float(checks.probabilities(fraction, "fraction", 0))
        seed = checks.positive_integer(seed, "seed", 0)
        order = np.random.default_rng(seed).permutation(len(self))
        cut = int(share * len(self) + 1e-9)
        if not cut:
            raise ValueError(f"fraction {share} of {len(self)} ratings leaves no training part")
        return self[order[:cut]], self[order[cut:]]

    def world(
        self,
        train: Ratings,
        training_items: bool = False,
        factors: int | None = None,
        n_users: int | None = None,
        n_docs: int | None = None,
        seed: int = 0,
        allowed: Booleans | None = None,
    ) -> World:
        """Return the world in which users click by *these* ratings, the test part's.

        Parameters
        ----------
        train : Ratings
            The training part of the same ratings.
        training_items : bool
            Whether items that a user rated in training may be shown to this user. They have no
            test rating, so they are never clicked.
        factors : int, optional
            Gives the world features, for agents: see Notes. None: no features.
        n_users : int, optional
            Only so many of the users, drawn by ``seed``. None: all.
        n_docs : int, optional
            Only so many candidates per user: those with the most training ratings, in the order of
            their indices. Test ratings of other items are then not in the world. None: all.
        seed : int
            Of the users that are drawn.
        allowed : (users, items) booleans, optional
            Pairs that may be shown: the other items are no candidates of that user. None: all.

        Returns
        -------
        World
            With ``max_grade=5``. Queries are the users with a test rating, in the order of their
            indices, each asked equally often; ``query_ids`` are their ids. Without ``n_docs``,
            document i of every query is item i, N is the number of items, and ``doc_ids`` are
            kept once.
            Candidates are the items with a training rating, but for those that the user rated in
            training. ``relevance`` is the test rating, 1 to 5, and -1 where there is none.

        Raises
        ------
        ValueError
            If the parts have different ids, or a pair of user and item is in both.

        Notes
        -----
        A user without any candidate stays in the world and is never asked. Grades and candidates
        take a byte each per user and item.

        The features of user u and item i, with a truncated singular value decomposition of the
        training ratings (0 where there is none) of ``factors`` dimensions: log(1 + number of
        ratings of i), the mean rating of i (drawn towards the mean of all by five ratings), then
        the factors of i, the factors of u, and their products, dimension by dimension:
        ``2 + 3 * factors`` numbers, four bytes each. They are part of the world by how they are
        made: its fingerprint does not depend on their last bits.
        """
        if not isinstance(train, Ratings):
            raise ValueError(f"train must be data.Ratings, not {type(train).__name__}")
        for name in ("user_ids", "item_ids"):
            if not np.array_equal(getattr(self, name), getattr(train, name)):
                raise ValueError(f"train has other {name} than these ratings")
        if not len(self):
            raise ValueError("there are no test ratings, so nobody to recommend anything to")
        self._check_apart(train)
        if factors is not None:
            factors = checks.positive_integer(factors, "factors")
        for name, number in (("n_users", n_users), ("n_docs", n_docs)):
            if number is not None:
                checks.positive_integer(number, name)
        seed = checks.positive_integer(seed, "seed", 0)
        if allowed is not None:
            allowed = checks.booleans(allowed, "allowed", 2)
            shape = (self.n_users, self.n_items)
            checks.same_shape(allowed, shape, "allowed", "a table of users and items")
        return make_rating_world(
            self, train, training_items, factors, n_users, n_docs, seed, allowed
        )

    def _check_apart(self, train: Ratings) -> None:
        keys, known = self.pair_keys(), np.sort(train.pair_keys())
        places = np.searchsorted(known, keys)
        both = np.append(known, -1)[places] == keys
        if both.any():
            row = int(both.argmax())
            raise BadRating(
                row, f"the rating of item {self.item_ids[self.item[row]]} by user "
                f"{self.user_ids[self.user[row]]} is in the training part, too",
            )  # fmt: skip


def _check_ids(value: ArrayLike, name: str) -> NDArray[np.str_]:
    ids = np.array(value).astype(np.str_)
    if ids.ndim != 1 or not len(ids):
        raise ValueError(f"{name} must be a list of at least one id, not of shape {ids.shape}")
    distinct, first = np.unique(ids, return_index=True)
    if len(distinct) < len(ids):
        row = int(np.setdiff1d(np.arange(len(ids)), first)[0])
        raise ValueError(f"{name}[{row}] is {str(ids[row])!r}, which is there already")
    ids.flags.writeable = False
    return ids


def _check_range(array: NDArray[Any], name: str, lowest: int, highest: int) -> None:
    outside = (array < lowest) | (array > highest)
    if outside.any():
        row = int(outside.argmax())
        raise BadRating(row, f"{name} {array[row]} is outside {lowest}..{highest}")
