"""Which ranks a log ties together, by documents that it showed at both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from ...common.typing import Integers
from ...data import ClickLog
from .pairs import LoggedPairs, count_pairs


@dataclass(frozen=True)
class RankTies:
    """Ranks as a graph: two are tied where a document of some query was shown at both.

    How often users look at a rank can only be told from how attractive its documents are by
    comparing documents that were shown at several ranks. Between ranks that nothing ties, even
    through others, a click model's examination is a guess.

    Attributes
    ----------
    documents : (K, K) integers
        How many pairs of query and document were shown at both ranks; the diagonal has those
        that were shown at a rank at all.
    groups : tuple of tuples of int
        Ranks, from 1 on, that are tied together, directly or through others; those that were
        never shown are in none.
    weakest : int
        The fewest documents that any tie rests on which keeps a group together, where each group
        is held by its strongest ties; 0 where every group is a single rank.
    """

    documents: Integers
    groups: tuple[tuple[int, ...], ...]
    weakest: int

    @property
    def connected(self) -> bool:
        """Whether all ranks that were shown are tied together."""
        return len(self.groups) <= 1


def tied_ranks(log: ClickLog) -> RankTies:
    """Return which ranks are tied together by documents that ``log`` showed at both."""
    return ties_of_pairs(count_pairs(log))


def ties_of_pairs(pairs: LoggedPairs) -> RankTies:
    """Return which ranks are tied together by pairs that were shown at both."""
    seen = (pairs.by_slot > 0).astype(np.float64)
    documents = np.rint(seen.T @ seen).astype(np.int64)
    there = np.flatnonzero(np.diag(documents) > 0)
    ties = np.where(np.eye(len(there), dtype=bool), 0, documents[np.ix_(there, there)])
    count, label = connected_components(ties, directed=False)
    groups = tuple(tuple((there[label == one] + 1).tolist()) for one in range(count))
    with np.errstate(divide="ignore"):
        lengths = np.where(ties > 0, 1.0 / np.maximum(ties, 1), 0.0)
    tree = minimum_spanning_tree(lengths).data  # of the strongest ties
    weakest = round(1.0 / tree.max()) if len(tree) else 0
    return RankTies(documents, groups, weakest)
