"""Loops over ratings that numba compiles when they are first called.

Compiled code is kept as long as the process lives, and not on disk: it compiles in a moment, and a
cache would be one more thing that can be out of date.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.runtime import import_extra

Array = NDArray[Any]
_NO_VARIANCE = 1e-12  # of the sum of squares: what is left of it by rounding


@cache
def compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Return one of the loops below as compiled code. Compiling takes less than a second each."""
    numba = import_extra("numba", "recsys", "this recommender needs numba:")
    return numba.njit(nogil=True)(loop)


def correlate(
    rows: Array, starts: Array, columns: Array, values: Array,
    back_starts: Array, back_columns: Array, back_values: Array, common: int,
) -> Array:  # fmt: skip
    """Return Pearson's correlation of some rows with all rows, (b, R).

    Over the columns that both rows have, each row about its mean over these. NaN with fewer than
    ``common`` of them, without variance in one row, and of a row with itself.

    ``starts``, ``columns``, ``values`` are the matrix row by row, ``back_...`` column by column.
    Costs the sum over the columns of a row of the rows that have them.
    """
    n_rows = len(starts) - 1
    result = np.empty((len(rows), n_rows))
    sums = np.zeros((n_rows, 6))
    for place in range(len(rows)):
        row = rows[place]
        sums[:] = 0.0
        for entry in range(starts[row], starts[row + 1]):
            column, x = columns[entry], values[entry]
            for back in range(back_starts[column], back_starts[column + 1]):
                y = back_values[back]
                total = sums[back_columns[back]]
                total[0] += 1.0
                total[1] += x
                total[2] += y
                total[3] += x * x
                total[4] += y * y
                total[5] += x * y
        for other in range(n_rows):
            n, x, y = sums[other, 0], sums[other, 1], sums[other, 2]
            xx, yy, xy = sums[other, 3], sums[other, 4], sums[other, 5]
            # Times n, so that whole ratings give whole numbers and a perfect correlation is 1.
            spread, other_spread = n * xx - x * x, n * yy - y * y
            least, other_least = _NO_VARIANCE * n * xx, _NO_VARIANCE * n * yy
            if n < common or spread <= least or other_spread <= other_least or other == row:
                result[place, other] = np.nan
            else:
                found = (n * xy - x * y) / np.sqrt(spread * other_spread)
                result[place, other] = min(max(found, -1.0), 1.0)
    return result


def find_nearest(similarity: Array, noise: Array, number: int) -> Array:
    """Return the ``number`` most similar rows, (b, number), -1 where there are fewer.

    The most similar first, ties by ``noise``, smallest first; NaN is never among them.
    """
    n_rows, n_others = similarity.shape
    result = np.full((n_rows, number), -1)
    for row in range(n_rows):
        found = 0
        for other in range(n_others):
            value = similarity[row, other]
            if np.isnan(value):
                continue
            place = found
            while place > 0:
                before = result[row, place - 1]
                higher = similarity[row, before]
                if higher > value or (higher == value and noise[row, before] <= noise[row, other]):
                    break
                if place < number:
                    result[row, place] = before
                place -= 1
            if place < number:
                result[row, place] = other
                found = min(found + 1, number)
    return result


def estimate_by_users(
    neighbours: Array, weights: Array, starts: Array, columns: Array, values: Array,
    n_items: int, minimum: int, signed: bool,
) -> Array:  # fmt: skip
    """Return weighted means of what the neighbours rated, (b, I); NaN below ``minimum`` of them.

    ``neighbours`` and their ``weights`` are (b, k), -1 where there is none; the matrix is given
    user by user.
    """
    result = np.empty((len(neighbours), n_items))
    above, below = np.empty(n_items), np.empty(n_items)
    count = np.empty(n_items, dtype=np.int64)
    for row in range(len(neighbours)):
        above[:], below[:], count[:] = 0.0, 0.0, 0
        for place in range(neighbours.shape[1]):
            other, weight = neighbours[row, place], weights[row, place]
            if other < 0:
                break
            for entry in range(starts[other], starts[other + 1]):
                item = columns[entry]
                above[item] += weight * values[entry]
                below[item] += weight if signed else abs(weight)
                count[item] += 1
        for item in range(n_items):
            if count[item] < minimum or (below[item] == 0.0 and above[item] == 0.0):
                result[row, item] = np.nan
            elif below[item] == 0.0:
                result[row, item] = np.inf if above[item] > 0.0 else -np.inf
            else:
                result[row, item] = above[item] / below[item]
    return result


def estimate_by_items(
    users: Array, similarity: Array, first: int, starts: Array, columns: Array, values: Array,
    minimum: int, signed: bool, result: Array,
) -> None:  # fmt: skip
    """Write weighted means of what each user rated into ``result`` (b, I); NaN below ``minimum``.

    ``similarity`` (m, I) is that of the items ``first, first + 1, …`` with all, NaN where there
    is none; the matrix is given user by user. Costs m times the ratings of the users.
    """
    weights, known = np.empty(similarity.shape[1]), np.empty(similarity.shape[1])
    for place in range(len(similarity)):
        for other in range(similarity.shape[1]):
            value = similarity[place, other]
            known[other] = 0.0 if np.isnan(value) else 1.0
            weights[other] = 0.0 if np.isnan(value) else value
        for row in range(len(users)):
            above, below, count = 0.0, 0.0, 0.0
            for entry in range(starts[users[row]], starts[users[row] + 1]):
                item = columns[entry]
                weight = weights[item]
                above += weight * values[entry]
                below += weight if signed else abs(weight)
                count += known[item]
            if count < minimum or (below == 0.0 and above == 0.0):
                result[row, first + place] = np.nan
            elif below == 0.0:
                result[row, first + place] = np.inf if above > 0.0 else -np.inf
            else:
                result[row, first + place] = above / below


def sweep_features(
    user: Array, item: Array, error: Array, of_user: Array, of_item: Array,
    rate: float, penalty: float,
) -> None:  # fmt: skip
    """Go through all ratings once for each feature, in place; then ``error`` (n,) is up to date.

    ``of_user`` is (F, U), ``of_item`` (F, I). While one feature changes, what the others say of a
    rating stays, so it is kept, and a step costs O(1) instead of O(F).
    """
    begin_user, begin_item = np.empty(of_user.shape[1]), np.empty(of_item.shape[1])
    end_user, end_item = np.zeros(of_user.shape[1]), np.zeros(of_item.shape[1])
    for feature in range(len(of_user)):
        p, q = of_user[feature], of_item[feature]
        begin_user[:], begin_item[:] = p, q
        for row in range(len(user)):
            u, i = user[row], item[row]
            # From the error without the last feature to the error without this one.
            rest = error[row] - end_user[u] * end_item[i] + begin_user[u] * begin_item[i]
            error[row] = rest
            mine, its = p[u], q[i]
            left = rest - mine * its
            mine += rate * (left * its - penalty * mine)
            p[u] = mine
            q[i] = its + rate * (left * mine - penalty * its)
        end_user[:], end_item[:] = p, q
    for row in range(len(user)):
        error[row] -= end_user[user[row]] * end_item[item[row]]


def sweep_ratings(
    user: Array, item: Array, goal: Array, of_user: Array, of_item: Array,
    rate: float, penalty: float,
) -> None:  # fmt: skip
    """Go through all ratings once, all features of a rating at a time, in place.

    ``goal`` (n,) is what the product of the factors should be. Both sides of a step are from
    before it.
    """
    for row in range(len(user)):
        u, i = user[row], item[row]
        left = goal[row]
        for feature in range(len(of_user)):
            left -= of_user[feature, u] * of_item[feature, i]
        for feature in range(len(of_user)):
            p, q = of_user[feature, u], of_item[feature, i]
            of_user[feature, u] += rate * (left * q - penalty * p)
            of_item[feature, i] += rate * (left * p - penalty * q)
