"""The slots of all pages as one long array, whatever form a table's rows have."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ....common.typing import Booleans, Floats, Integers
from .report import LogReport
from .sources import BadLog, TableSource
from .values import Ids


@dataclass
class Slots:
    """Slots of all pages, page by page in order of the pages' first rows, each in rank order.

    Attributes
    ----------
    lengths : (n,)
        Number of documents of each page.
    row : (n,)
        The table's row that each page begins with, for what a page has one of.
    query : Ids
        Of each page, (n,).
    document : Ids
        Of each slot, (S,).
    clicked : (S,) bool
    grade : (S,) or None
        -1 where there is none.
    propensity : (S,) or None
        Of each slot.
    features : (S, F) or None
    blocks : (n, 2) or None
        Type and place of each page's vertical block; -1 where there is none.
    repeats : str
        The oddity that a document twice on a page is: by how pages were told apart, it may
        have different causes.
    """

    lengths: Integers
    row: Integers
    query: Ids
    document: Ids
    clicked: Booleans
    grade: Integers | None = None
    propensity: Floats | None = None
    features: Floats | None = None
    blocks: Integers | None = None
    repeats: str = "repeated_documents"

    @property
    def page(self) -> Integers:
        """The page of each slot, (S,)."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def starts(self) -> Integers:
        """The first slot of each page, (n,)."""
        return np.cumsum(self.lengths) - self.lengths

    def keep_pages(self, kept: Booleans) -> Slots:
        """Return the chosen pages."""
        return replace(
            self._choose(np.repeat(kept, self.lengths)),
            lengths=self.lengths[kept],
            row=self.row[kept],
            query=Ids(self.query.codes[kept], self.query.names),
            blocks=None if self.blocks is None else self.blocks[kept],
        )

    def cut(self, slots: int) -> Slots:
        """Return the pages with at most so many slots."""
        place = np.arange(len(self.clicked)) - np.repeat(self.starts, self.lengths)
        return replace(self._choose(place < slots), lengths=np.minimum(self.lengths, slots))

    def merge_rows(self, rank: Integers) -> tuple[Slots, int]:
        """Return slots without those that repeat the one before, and how many these were.

        ``rank`` (S,) is that of each slot. A row with the same page, rank and document, as logs
        of events have one for the click, is no document of its own.
        """
        same = np.zeros(len(rank), dtype=bool)
        same[1:] = (np.diff(rank) == 0) & (np.diff(self.document.codes) == 0)
        same[self.starts] = False
        if not same.any():
            return self, 0
        first = np.flatnonzero(~same)
        lengths = self.lengths - np.bincount(self.page[same], minlength=len(self.lengths))
        merged = replace(self._choose(~same), lengths=lengths)
        merged.clicked = np.logical_or.reduceat(self.clicked, first)
        return merged, int(same.sum())

    def _choose(self, kept: Booleans) -> Slots:
        """Return the chosen slots; the pages are still the same."""
        return replace(
            self,
            document=Ids(self.document.codes[kept], self.document.names),
            clicked=self.clicked[kept],
            grade=None if self.grade is None else self.grade[kept],
            propensity=None if self.propensity is None else self.propensity[kept],
            features=None if self.features is None else self.features[kept],
        )


def number_values(values: Integers) -> Integers:
    """Return dense numbers of values by first appearance, (n,)."""
    encoded = pa.array(values).dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def first_rows(group: Integers, n_groups: int) -> Integers:
    """Return the first row of each group, (n_groups,)."""
    row = np.empty(n_groups, dtype=np.int64)
    row[group[::-1]] = np.arange(len(group))[::-1]  # the first row of a group is written last
    return row


def rank_order(page: Integers, rank: Integers | None) -> Integers | slice:
    """Return the order of rows by page and rank; equal ones stay as they are."""
    steps = np.diff(page)
    if (steps >= 0).all() and (rank is None or ((np.diff(rank) > 0) | (steps > 0)).all()):
        return slice(None)
    return np.argsort(page, kind="stable") if rank is None else np.lexsort((rank, page))


def check_ranks(
    page: Integers,
    document: Integers,
    rank: Integers | None,
    order: Integers | slice,
    report: LogReport,
    source: TableSource,
    pieces: Booleans | None = None,
) -> None:
    """Count pages with gaps or ties in their ranks, and those that begin below the first rank.

    ``pieces`` (n,) are pages that are counted as pieces of another. A negative rank is an error.
    """
    if rank is None or not len(rank):
        return
    if (rank < 0).any():
        row = int(np.flatnonzero(rank < 0)[0])
        raise BadLog(f"{source.describe_row(row)}: the rank is {rank[row]}, below 0")
    sorted_page, sorted_rank = page[order], rank[order]
    same = sorted_page[1:] == sorted_page[:-1]
    steps = np.diff(sorted_rank)
    report.count("rank_gaps", len(np.unique(sorted_page[1:][same & (steps > 1)])))
    tied = same & (steps == 0) & (np.diff(document[order]) != 0)
    report.count("rank_ties", len(np.unique(sorted_page[1:][tied])))
    first = np.concatenate([[True], ~same])
    late = sorted_rank[first] > first_rank(rank)
    if pieces is not None:
        late &= ~pieces[sorted_page[first]]
    report.count("late_pages", int(late.sum()))
    if late.any():
        begins = np.unique(sorted_rank[first][late])
        shown = ", ".join(map(str, begins[:5])) + (", …" if len(begins) > 5 else "")
        report.notes.append(
            f"Pages that begin at rank {shown} are read as if they began at the first slot."
        )


def first_rank(rank: Integers) -> int:
    """Return the rank that pages begin with: 0 or 1."""
    return min(int(rank.min()), 1)


def find_pieces(
    keys: list[Integers], starts: Integers, rank: Integers | None, document: Ids
) -> Booleans:
    """Return which pages look like the rest of an earlier one, whose rows stand apart, (n,).

    Pages are runs of rows that begin at ``starts`` (n,). A piece has the same ``keys``, (rows,)
    each, as an earlier page (query, session, user). With ranks it goes on where the latest such
    page ended; without, it shows none of the documents that those before it show.
    """
    found = np.zeros(len(starts), dtype=bool)
    if rank is not None:
        late = rank[starts] > first_rank(rank)
        if not late.any():
            return found
    key = np.zeros(len(starts), dtype=np.int64)
    for codes in keys:
        key = number_values(key * (np.int64(codes.max()) + 2) + codes[starts] + 1)
    first = np.zeros(len(starts), dtype=bool)
    first[first_rows(key, int(key.max()) + 1)] = True
    if first.all():
        return found
    lengths = np.diff(np.append(starts, len(keys[0])))
    if rank is None:
        shown = np.repeat(key, lengths) * np.int64(len(document.names)) + document.codes
        pairs = number_values(shown)
        again = np.ones(len(pairs), dtype=bool)
        again[first_rows(pairs, int(pairs.max()) + 1)] = False
        return ~first & ~np.logical_or.reduceat(again, starts)
    order = np.argsort(key, kind="stable")
    ends = rank[starts + lengths - 1]
    goes_on = rank[starts][order][1:] == ends[order][:-1] + 1
    found[order[1:]] = goes_on & (key[order][1:] == key[order][:-1])
    return found & late
