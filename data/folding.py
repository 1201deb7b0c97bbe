"""Folding equal rows of integers into one weighted row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fold_rows(
    columns: Sequence[NDArray[Any]], weight: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the distinct rows of the joined ``columns``, each (n, c) integers.

    A row is packed exactly (mixed radix, no hashing) into as few 64-bit words as its values need,
    so rows are compared as one or two integers.

    Returns
    -------
    first : (m,) int64
        A row for each distinct one, the first in which it stands, in order of appearance.
    weight : (m,) float64
        The sum of the weights of the equal rows (their number without ``weight``).
    """
    words = _packed(columns)
    n = len(words[0])
    order = np.argsort(words[0], kind="stable") if len(words) == 1 else np.lexsort(words)
    new = np.zeros(n, dtype=bool)
    new[:1] = True
    for word in words:
        ordered = word[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(new)
    if weight is None:
        total = np.diff(starts, append=n).astype(np.float64)
    else:
        total = np.add.reduceat(weight[order], starts) if n else np.zeros(0)
    first = order[starts]  # both sorts are stable, so the first of a group is the earliest
    appearance = np.argsort(first)
    return first[appearance], total[appearance]


def _packed(columns: Sequence[NDArray[Any]]) -> list[NDArray[np.uint64]]:
    words: list[NDArray[np.uint64]] = []
    room = 0
    for block in columns:
        for column in block.T:
            low = int(column.min()) if column.size else 0
            span = int(column.max()) - low + 1 if column.size else 1
            if span == 1 and words:
                continue
            if span > room:
                words.append(np.zeros(len(column), dtype=np.uint64))
                room = 2**64
            words[-1] *= np.uint64(span)
            words[-1] += (column.astype(np.int64) - low).astype(np.uint64)
            room //= span
    return words
