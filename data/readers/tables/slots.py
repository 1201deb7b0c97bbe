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
    """

    lengths: Integers
    row: Integers
    query: Ids
    document: Ids
    clicked: Booleans
    grade: Integers | None = None
    propensity: Floats | None = None
    features: Floats | None = None

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
        )

    def cut(self, slots: int) -> Slots:
        """Return the pages with at most so many slots."""
        place = np.arange(len(self.clicked)) - np.repeat(self.starts, self.lengths)
        return replace(self._choose(place < slots), lengths=np.minimum(self.lengths, slots))

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
    rank: Integers | None,
    order: Integers | slice,
    report: LogReport,
    source: TableSource,
) -> None:
    """Count pages with gaps or ties in their ranks; a negative rank is an error."""
    if rank is None or not len(rank):
        return
    if (rank < 0).any():
        row = int(np.flatnonzero(rank < 0)[0])
        raise BadLog(f"{source.describe_row(row)}: the rank is {rank[row]}, below 0")
    sorted_page, sorted_rank = page[order], rank[order]
    same = sorted_page[1:] == sorted_page[:-1]
    steps = np.diff(sorted_rank)
    first = np.concatenate([[True], ~same])
    base = min(int(rank.min()), 1)
    late = sorted_page[first][sorted_rank[first] > base]
    gaps = np.concatenate([sorted_page[1:][same & (steps > 1)], late])
    report.count("rank_gaps", len(np.unique(gaps)))
    report.count("rank_ties", len(np.unique(sorted_page[1:][same & (steps == 0)])))
