"""How often a log showed each document to each query in each slot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...common.typing import Floats, Integers
from ...data import ClickLog, World

_MOST_PLACES = 1 << 26  # of a table that finds pairs; beyond, they are sorted


@dataclass(frozen=True, eq=False)
class LoggedPairs:
    """The pairs of query and document that a log showed, sorted by query and document.

    Attributes
    ----------
    query, document : (p,)
    by_slot : (p, K)
        How many impressions showed the pair in each slot.
    impressions : (Q,)
        Of each query.
    """

    query: Integers
    document: Integers
    by_slot: Floats
    impressions: Floats
    _width: int = field(repr=False)

    @cached_property
    def total(self) -> Floats:
        """How often each pair was shown in any slot, (p,)."""
        return np.asarray(self.by_slot.sum(axis=1))

    @cached_property
    def keys(self) -> Integers:
        """The pairs as single numbers, ascending, (p,)."""
        return self.query * self._width + self.document

    def find(self, query: Integers, document: Integers) -> Integers:
        """Return where pairs stand among these, of any shape; -1 for what was never shown."""
        if not len(self.query):
            return np.full(np.broadcast_shapes(query.shape, document.shape), -1)
        asked = query * self._width + document
        place = np.minimum(np.searchsorted(self.keys, asked), len(self.query) - 1)
        there = (self.keys[place] == asked) & (document >= 0) & (document < self._width)
        return np.where(there, place, -1)

    def count(self, query: Integers, document: Integers) -> Floats:
        """Return how often pairs were shown in any slot, of any shape; 0 for empty slots."""
        place = self.find(query, document)
        return np.where(place >= 0, np.append(self.total, 0.0)[place], 0.0)

    def count_in_slot(self, query: Integers, document: Integers, slot: Integers) -> Floats:
        """Return how often pairs were shown in a slot; 0 in slots that the log has not."""
        place = self.find(query, document)
        there = (place >= 0) & (slot < self.by_slot.shape[1])
        result = np.zeros(there.shape)
        result[there] = self.by_slot[place[there], slot[there]]
        return result


def count_pairs(log: ClickLog, world: World | None = None) -> LoggedPairs:
    """Return how often ``log`` showed each pair in each slot; rows count by their weight.

    Costs a few passes over the log, one slot at a time.
    """
    counts = log.counts
    width = int(log.ranking.max(initial=0)) + 1 if world is None else world.n_docs
    n_queries = int(log.query.max(initial=0)) + 1 if world is None else world.n_queries
    first = log.query.astype(np.int64) * width
    shown = counts > 0
    columns = []
    for documents in log.ranking.T:
        rows = np.flatnonzero(shown & (documents >= 0))
        columns.append((rows, first[rows] + documents[rows]))
    keys, place_of = _number_distinct([key for _, key in columns], n_queries * width)
    by_slot = np.zeros((len(keys), log.slots))
    for slot, (rows, key) in enumerate(columns):
        by_slot[:, slot] = np.bincount(place_of(key), counts[rows], len(keys))
    impressions: Floats = np.bincount(log.query, counts, n_queries).astype(np.float64)
    return LoggedPairs(keys // width, keys % width, by_slot, impressions, width)


def _number_distinct(
    columns: list[Integers], size: int
) -> tuple[Integers, Callable[[Integers], Integers]]:
    """Return the distinct numbers of all columns, ascending, and what finds a number's place.

    The numbers are below ``size``.
    """
    if size > _MOST_PLACES:
        keys = np.unique(np.concatenate(columns))
        return keys, lambda wanted: np.searchsorted(keys, wanted).astype(np.int64)
    there = np.zeros(size, dtype=bool)
    for column in columns:
        there[column] = True
    keys = np.flatnonzero(there)
    places = np.zeros(size, dtype=np.int64)
    places[keys] = np.arange(len(keys))
    return keys, lambda wanted: places[wanted]
