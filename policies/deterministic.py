"""Deterministic policies: the same ranking for a query every time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Floats, Integers
from ..data import World
from .base import Policy, candidate_scores, register
from .slates.document_types import TypeTable
from .slates.moments import SlateMoments


@dataclass(frozen=True)
class Found:
    """How a search found rankings.

    Attributes
    ----------
    method : str
    exact : bool
        Whether no ranking can be better.
    scored : int
        How many rankings were scored.
    values : (Q,)
        The expected clicks that the model promises for each query; 0 where it was not searched.
    promise : float or None
        The same per page, over the world's queries: of a pessimistic search the pessimistic
        promise.
    pessimism : float
        λ of the search; 0 for the model's own expectations.
    """

    method: str
    exact: bool
    scored: int
    values: Floats
    promise: float | None = None
    pessimism: float = 0.0


@register("Ranker")
class Ranker(Policy):
    """Shows the same ranking for a query every time.

    Parameters
    ----------
    scores : (Q, N)
        Highest first, ties by index (the same every time); -inf = not a candidate.
    slots : int
        K; pages of queries with fewer candidates are shorter.
    world : World, optional
        Only its candidates are shown, and the policy carries its fingerprint.
    """

    deterministic = True
    rankings: Integers
    found: Found | None = None  # of rankings that a search found; not saved
    _any_n_docs = False  # made without N: fits worlds with more candidates

    def __init__(self, scores: ArrayLike, slots: int = 10, *, world: World | None = None) -> None:
        array = candidate_scores(scores, world)
        self.fingerprint = None if world is None else world.fingerprint
        slots = checks.positive_integer(slots, "slots")
        order = np.argsort(-array, axis=1, kind="stable")[:, :slots]
        order = np.where(np.take_along_axis(array, order, axis=1) > -np.inf, order, -1)
        missing = slots - order.shape[1]
        self._set(np.pad(order, ((0, 0), (0, missing)), constant_values=-1), array.shape[1])

    def _set(self, rankings: Integers, n_docs: int) -> None:
        self.rankings = rankings
        self.rankings.flags.writeable = False
        self.slots = rankings.shape[1]
        self.shape = rankings.shape[0], n_docs

    @classmethod
    def from_rankings(
        cls, rankings: ArrayLike, n_docs: int | None = None, *, world: World | None = None
    ) -> Self:
        """Make the policy that shows ``rankings`` (Q, K).

        ``n_docs`` is N, and that of ``world``, whose fingerprint the policy then carries. Without
        both, the highest document shown gives N, and the policy fits worlds with at least as many
        candidates.
        """
        n_docs = n_docs if world is None else world.n_docs
        array = checks.integers(rankings, "rankings", 2).astype(np.int64)
        if 0 in array.shape:
            raise ValueError(f"rankings is empty, shape {array.shape}")
        highest = int(array.max()) + 1
        known = highest if n_docs is None else checks.positive_integer(n_docs, "n_docs")
        checks.rankings(array, np.arange(len(array)), len(array), known, "rankings")
        repeated = checks.find_repeats(array)
        if repeated.any():
            row = int(repeated.argmax())
            raise ValueError(f"rankings[{row}] shows a document twice: {array[row].tolist()}")
        policy = cls.__new__(cls)
        policy._set(array, known)
        policy._any_n_docs = n_docs is None
        policy.fingerprint = None if world is None else world.fingerprint
        return policy

    def check_world(self, world: World) -> None:
        """Raise unless this policy belongs to ``world``; without N, it may have more candidates."""
        if self._any_n_docs and self.shape[1] < world.n_docs:
            self.from_rankings(self.rankings, world.n_docs).check_world(world)
            world.check_fingerprint(self.fingerprint, f"the policy {self.name}")
        else:
            super().check_world(world)

    def document_limit(self) -> int:
        """Return the bound of the documents that pages may show; without N there is none."""
        return int(np.iinfo(np.int64).max) if self._any_n_docs else self.shape[1]

    def state(self) -> dict[str, Any]:
        """Return the rankings."""
        n_docs = None if self._any_n_docs else self.shape[1]
        return {"rankings": self.rankings, "n_docs": n_docs}

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make the policy from its rankings."""
        return cls.from_rankings(**state)

    def draw(self, query: Integers, rng: np.random.Generator) -> tuple[Integers, Floats]:
        """Return the rankings (n, K) and zeros (n,)."""
        return self.rankings.take(query, axis=0), np.zeros(len(query))

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return 0 for the query's ranking and -inf for any other, (n,)."""
        query, ranking = self.check_pages(query, ranking)
        return np.where((self.rankings[query] == ranking).all(axis=1), 0.0, -np.inf)

    def greedy(self, query: ArrayLike) -> Integers:
        """Return the query's ranking, (n, K)."""
        return self.rankings[self.check_query(query)]

    def marginals(self, query: int) -> SlateMoments:
        """Return the exact moments of one query's page: zeros and ones."""
        page = self.rankings[query]
        shown = np.flatnonzero(page >= 0)
        types = np.full(self.shape[1], -1)
        types[page[shown]] = shown
        slot = np.eye(self.slots)[:, : len(shown)]
        joint = slot[:, :, None, None] * slot
        return SlateMoments(types, TypeTable(np.ones(len(shown), dtype=np.int64), slot, joint))
