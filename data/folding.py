"""Folding equal rows of integers into one weighted row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cores import cores

_CHUNK = 1 << 15  # rows packed at a time: they stay in the cache
_MANY = 1 << 17  # the fewest rows that are worth threads
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
    code.sort()
    bits = _row_bits(n)
    below = (np.uint64(1) << bits) - np.uint64(1)
    order = np.empty(n, dtype=np.int64)
    same_hash, differs = np.empty(n - 1, dtype=bool), np.empty(n - 1, dtype=bool)

    def compare(part: slice) -> None:
        """Compare the places of ``part`` with those before them."""
        start = max(part.start - 1, 0)
        here, places = slice(start, part.stop - 1), code[start : part.stop]
        rows = (places & below).astype(np.int64)
        order[start : part.stop] = rows
        hashes = places >> bits
        np.equal(hashes[1:], hashes[:-1], out=same_hash[here])
        changed = ~same_hash[here]
        for word in words:
            ordered = word.take(rows)
            changed |= ordered[1:] != ordered[:-1]
        differs[here] = changed

    _in_chunks(compare, n)
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
    """Return the rows as exact words, (n,) each, and what to sort, (n,): hash and row number.

    Columns are joined by mixed radix, as many as a double holds exactly, as products of chunks of
    rows with the radices.
    """
    n = len(columns[0])
    pieces = _pieces(columns)
    words = [np.empty(n, dtype=np.uint64) for _ in range(pieces[-1].word + 1)]
    code = np.empty(n, dtype=np.uint64)
    above = ~((np.uint64(1) << _row_bits(n)) - np.uint64(1))

    def pack(rows: slice) -> None:
        joined: list[Any] = [np.uint64(0)] * len(words)
        for piece in pieces:
            joined[piece.word] = joined[piece.word] + piece.of(columns[piece.block][rows])
        mixed = np.zeros(rows.stop - rows.start, dtype=np.uint64)
        for word, values in zip(words, joined, strict=True):
            word[rows] = values
            mixed ^= values
            mixed *= _MIX[0]
            mixed ^= mixed >> np.uint64(32)
            mixed *= _MIX[1]
        mixed &= above
        mixed |= np.arange(rows.start, rows.stop, dtype=np.uint64)
        code[rows] = mixed

    _in_chunks(pack, n)
    return words, code


def _row_bits(n: int) -> np.uint64:
    """Return how many bits the number of one of n rows needs."""
    return np.uint64(max((n - 1).bit_length(), 1))


def _in_chunks(function: Callable[[slice], None], n: int) -> None:
    """Call ``function`` with slices of n rows that stay in the cache, on a thread a core."""
    slices = [slice(start, min(start + _CHUNK, n)) for start in range(0, n, _CHUNK)]
    if n < _MANY:
        for part in slices:
            function(part)
        return
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(function, slices))


@dataclass(frozen=True)
class _Piece:
    """Columns of a block that go into the same word."""

    block: int
    columns: slice
    word: int
    factor: np.uint64  # what the word holds already
    low: int  # the block's least value
    radix: NDArray[Any]  # (c,)

    def of(self, rows: NDArray[Any]) -> NDArray[np.uint64]:
        """Return what these columns of ``rows`` (n, ...) add to the word, (n,)."""
        values = rows[:, self.columns]
        if self.low:
            values = values.astype(np.int64) - self.low
        joined = values.astype(self.radix.dtype) @ self.radix
        result: NDArray[np.uint64] = joined.astype(np.uint64)
        result *= self.factor
        return result


def _pieces(columns: Sequence[NDArray[Any]]) -> list[_Piece]:
    """Lay the columns out in words of 64 bits, in pieces that are exact as floats."""
    pieces = []
    word, used = 0, 1
    for number, block in enumerate(columns):
        low = int(block.min()) if block.size else 0
        span = int(block.max()) - low + 1 if block.size else 1
        if span > _EXACT:
            raise ValueError(f"rows hold values {span:,} apart, at most 2^53 can be folded")
        column = 0
        while column < block.shape[1]:
            if used * span >= 2**64:
                word, used = word + 1, 1
            radices: list[int] = []
            inside = 1
            while column + len(radices) < block.shape[1]:
                if inside * span > _EXACT or used * inside * span >= 2**64:
                    break
                radices.append(inside)
                inside *= span
            # Single precision is twice as fast, and exact for small numbers: clicks, mostly.
            dtype = np.float32 if inside <= _EXACT_SINGLE else np.float64
            chosen = slice(column, column + len(radices))
            radix = np.array(radices, dtype)
            pieces.append(_Piece(number, chosen, word, np.uint64(used), low, radix))
            column += len(radices)
            used *= inside
    return pieces
