"""Folding equal rows of integers into one weighted row each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHUNK = 1 << 14  # rows packed at a time: they stay in the cache
_EXACT, _EXACT_SINGLE = 2**53, 2**24  # integers up to here are exact as floats
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))  # odd, without structure

Words = list[NDArray[np.uint64]]


def fold_rows(
    columns: Sequence[NDArray[Any]],
    weight: NDArray[np.float64] | None = None,
    words: Sequence[NDArray[np.uint64]] = (),
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the distinct rows of the joined ``columns``, each (n, c) integers, and ``words`` (n,).

    Costs a sort of n words of 64 bits (see ``_sorted_groups``). ``words`` are compared but not
    sorted by: fit for what is nearly always equal where the columns are.

    Returns
    -------
    first : (m,) int64
        A row for each distinct one, the first in which it stands, in order of appearance.
    weight : (m,) float64
        The sum of the weights of the equal rows (their number without ``weight``).
    """
    order, starts = _sorted_groups(columns, words)
    n = len(order)
    if weight is None:
        total = np.diff(starts, append=n).astype(np.float64)
    else:
        total = np.add.reduceat(weight[order], starts) if n else np.zeros(0)
    first = order[starts]
    by_row, present = np.zeros(n), np.zeros(n, dtype=bool)
    by_row[first], present[first] = total, True
    first = np.flatnonzero(present)
    return first, by_row[first]


def group_rows(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find which rows of the joined ``columns``, each (n, c) integers, are equal.

    Returns
    -------
    first : (m,) int64
        A row for each distinct one, the first in which it stands, in no order.
    group : (n,) int64
        Which of them each row is equal to.
    """
    order, starts = _sorted_groups(columns)
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    return order[starts], group


def _sorted_groups(
    columns: Sequence[NDArray[Any]], more: Sequence[NDArray[np.uint64]] = ()
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return an order (n,) in which equal rows stand together, earliest first, and their starts.

    Rows are packed exactly into as few words as their values need. What is sorted is one word a
    row: the top bits are a hash of the packed words, the bits below the row's number, so that no
    index has to be carried along. Neighbours are then compared by their packed words, and the few
    rows whose hashes collide are put right by sorting them exactly.
    """
    words, code = _packed(columns)
    words.extend(more)
    n = len(code)
    if n == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    bits = np.uint64(max((n - 1).bit_length(), 1))
    below = (np.uint64(1) << bits) - np.uint64(1)
    code &= ~below
    code |= np.arange(n, dtype=np.uint64)
    code.sort()
    order = (code & below).astype(np.int64)
    code >>= bits
    same_hash = code[1:] == code[:-1]
    differs = ~same_hash
    for word in words:
        ordered = word[order]
        differs |= ordered[1:] != ordered[:-1]
    if (differs & same_hash).any():
        _mend(order, differs, same_hash, words)
    return order, np.flatnonzero(np.append(True, differs))


def _mend(
    order: NDArray[np.int64],
    differs: NDArray[np.bool_],
    same_hash: NDArray[np.bool_],
    words: Words,
) -> None:
    """Sort, in place, the rows of every hash that different rows share."""
    number = np.concatenate([[0], np.cumsum(~same_hash)])  # of the hash, place by place
    wrong = np.zeros(number[-1] + 1, dtype=bool)
    wrong[number[1:][differs & same_hash]] = True
    places = np.flatnonzero(wrong[number])
    rows = order[places]
    keys = [word[rows] for word in words]
    order[places] = rows[np.lexsort([rows, *keys, number[places]])]
    rows = order[places]
    before = order[np.maximum(places - 1, 0)]
    changed = np.zeros(len(places), dtype=bool)
    for word in words:
        changed |= word[rows] != word[before]
    inside = places > 0
    differs[places[inside] - 1] = changed[inside]


def _packed(columns: Sequence[NDArray[Any]]) -> tuple[Words, NDArray[np.uint64]]:
    """Return the rows as exact words, (n,) each, and a hash of them (n,).

    Columns are joined by mixed radix, as many as a double holds exactly, as products of chunks of
    rows with the radices.
    """
    n = len(columns[0])
    pieces = _pieces(columns)
    words = [np.empty(n, dtype=np.uint64) for _ in range(pieces[-1].word + 1)]
    code = np.empty(n, dtype=np.uint64)
    for start in range(0, n, _CHUNK):
        part = slice(start, start + _CHUNK)
        joined = [np.zeros(len(code[part])) for _ in words]
        for piece in pieces:
            joined[piece.word] += piece.of(columns[piece.block][part])
        mixed = np.zeros(len(code[part]), dtype=np.uint64)
        for word, values in zip(words, joined, strict=True):
            word[part] = values
            mixed ^= word[part]
            mixed *= _MIX[0]
            mixed ^= mixed >> np.uint64(32)
            mixed *= _MIX[1]
        code[part] = mixed
    return words, code


@dataclass(frozen=True)
class _Piece:
    """Columns of a block that go into the same word."""

    block: int
    columns: slice
    word: int
    low: int  # the block's least value
    radix: NDArray[Any]  # (c,)

    def of(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return what these columns of ``rows`` (n, ...) add to the word, (n,)."""
        values = rows[:, self.columns]
        if self.low:
            values = values.astype(np.int64) - self.low
        return values.astype(self.radix.dtype) @ self.radix


def _pieces(columns: Sequence[NDArray[Any]]) -> list[_Piece]:
    """Lay the columns out in words of at most 53 bits."""
    pieces = []
    word, used = 0, 1
    for number, block in enumerate(columns):
        low = int(block.min()) if block.size else 0
        span = int(block.max()) - low + 1 if block.size else 1
        if span > _EXACT:
            raise ValueError(f"rows hold values {span:,} apart, at most 2^53 can be folded")
        first = 0
        factors: list[int] = []
        for column in range(block.shape[1]):
            if used * span > _EXACT:
                if factors:
                    pieces.append(_piece(number, first, factors, word, low, span))
                word, used, first, factors = word + 1, 1, column, []
            factors.append(used)
            used *= span
        pieces.append(_piece(number, first, factors, word, low, span))
    return pieces


def _piece(
    block: int, first: int, factors: list[int], word: int, low: int, span: int
) -> _Piece:
    # Single precision is twice as fast, and exact for small numbers: clicks, mostly.
    dtype = np.float32 if factors[-1] * span <= _EXACT_SINGLE else np.float64
    return _Piece(block, slice(first, first + len(factors)), word, low, np.array(factors, dtype))
