"""Whether a log can tell how attractive documents are from how often ranks are looked at.

Ranks are the nodes of a graph, with an edge where one document was logged at both for one query.
Under a model by ranks, relevance is recoverable up to a scale iff the graph is connected (Chen et
al. 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree

from ...common.typing import Floats, Integers
from ...data import ClickLog
from ..logs.pairs import LoggedPairs, count_pairs
from ..logs.ties import ties_of_pairs
from .sign import SignReport

# With one click in ten impressions, so many comparisons tell the ratio of two ranks' examination
# to about 10% (√(1 / clicks)).
FEWEST_COMPARISONS = 1_000


@dataclass(frozen=True)
class Identifiability(SignReport):
    """The graph of ranks, and its weakest link.

    Attributes
    ----------
    components : tuple of tuples of int
        Ranks, from 1 on, that are connected, directly or through others; ranks that were never
        shown are in none.
    documents : (K, K) integers
        How many pairs of query and document were shown at both ranks; on the diagonal, at a rank.
    comparisons : (K, K)
        What these pairs are worth: Σ n m / (n + m) over pairs that were shown n times at one rank
        and m times at the other, the size of a sample that compares the two equally well. Zero on
        the diagonal.
    weakest : float
        The comparisons of the weakest link that the graph needs: the least edge of its maximum
        spanning tree (within components where it is not connected). Infinite without any edge.
    weakest_ranks : (int, int) or None
        The ranks, from 1 on, of that link.
    algebraic_connectivity : float
        The second smallest eigenvalue of the graph's Laplacian with ``comparisons`` as weights:
        how well the graph hangs together as a whole; 0 where it does not. Infinite for one rank.
    """

    sign: ClassVar[str] = "identifiability"
    components: tuple[tuple[int, ...], ...]
    documents: Integers
    comparisons: Floats
    weakest: float
    weakest_ranks: tuple[int, int] | None
    algebraic_connectivity: float

    @property
    def connected(self) -> bool:
        """Whether all ranks that were shown are connected."""
        return len(self.components) <= 1

    @property
    def warning(self) -> str | None:
        """Speaks where the graph is not connected, or by fewer than a thousand comparisons."""
        advice = "Swap neighbouring results on a share of the traffic."
        if not self.connected:
            parts = "; ".join(_name_ranks(part) for part in self.components)
            return (
                f"The log never shows a document on both sides of {len(self.components)} groups of "
                f"ranks ({parts}): no data can tell whether a document there is attractive or its "
                f"rank is looked at, and any model only guesses. {advice}"
            )
        if self.weakest < FEWEST_COMPARISONS and self.weakest_ranks is not None:
            first, second = self.weakest_ranks
            return (
                f"Ranks {first} and {second} are compared by documents shown at both with a "
                f"weight of only {self.weakest:.3g} impressions: how often one is looked at "
                f"relative to the other, and all relevance across them, is known badly. {advice}"
            )
        return None


def identifiability(log: ClickLog, *, pairs: LoggedPairs | None = None) -> Identifiability:
    """Return the graph of the ranks of ``log``.

    ``pairs`` are ``count_pairs(log)``, where they are known.
    """
    if pairs is None:
        pairs = count_pairs(log)
    if not len(pairs.query):
        raise ValueError("the log shows nothing: every page is empty, or none counts")
    ties = ties_of_pairs(pairs)
    comparisons = _count_comparisons(pairs.by_slot)
    there = np.flatnonzero(np.diag(ties.documents) > 0)
    edges = comparisons[np.ix_(there, there)]
    tree = minimum_spanning_tree(np.where(edges > 0, -edges, 0.0)).tocoo()  # the strongest edges
    weakest, ranks = np.inf, None
    if tree.nnz:
        link = int(np.argmin(-tree.data))
        weakest = float(-tree.data[link])
        first, second = sorted((int(there[tree.row[link]]), int(there[tree.col[link]])))
        ranks = (first + 1, second + 1)
    laplacian = np.diag(edges.sum(axis=1)) - edges
    values = np.linalg.eigvalsh(laplacian)
    algebraic = float(max(values[1], 0.0)) if len(there) > 1 else np.inf
    return Identifiability(
        ties.groups, ties.documents, comparisons, weakest, ranks,
        algebraic if ties.connected else 0.0,
    )  # fmt: skip


def _count_comparisons(by_slot: Floats) -> Floats:
    """Return Σ n m / (n + m) over the pairs of any two slots, (K, K)."""
    slots = by_slot.shape[1]
    result = np.zeros((slots, slots))
    for slot in range(slots):
        here = by_slot[:, slot]
        rows = np.flatnonzero(here > 0)
        one, other = here[rows, None], by_slot[rows, slot + 1 :]
        result[slot, slot + 1 :] = (one * other / (one + other)).sum(axis=0)
    return result + result.T


def _name_ranks(ranks: tuple[int, ...]) -> str:
    """Return ranks as text: "1–3", or "1, 4"."""
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"{ranks[0]}–{ranks[-1]}"
    return ", ".join(map(str, ranks))
