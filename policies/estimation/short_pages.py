"""Plackett-Luce pages of different lengths."""

from __future__ import annotations

from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Floats, Integers
from ...data import World
from ..base import Policy, pack_policy, register, unpack_policy
from ..given_set.conditional import GivenSet
from ..plackett_luce import PlackettLuce
from ..slates.document_types import TypeTable
from ..slates.moments import SAMPLES, SlateMoments
from ..slates.placements import PAGES, Placements
from .pages import LoggedPages


@register("ShortPages")
class ShortPages(Policy):
    """Draws how long a page is, and shows so many documents of a Plackett-Luce policy.

    Parameters
    ----------
    policy : PlackettLuce
        Its slots are the longest page.
    lengths : (Q, K + 1)
        Each query's distribution of the number of documents on a page, from 0 on; sums to one.
    """

    def __init__(self, policy: PlackettLuce, lengths: ArrayLike) -> None:
        self.policy, self.slots, self.shape = policy, policy.slots, policy.shape
        self.fingerprint = policy.fingerprint
        self.lengths = checks.probabilities(lengths, "lengths", 2).copy()
        checks.same_shape(self.lengths, (self.shape[0], self.slots + 1), "lengths", "this policy")
        total = self.lengths.sum(axis=1)
        if np.abs(total - 1.0).max() > 1e-6:
            worst = int(np.abs(total - 1.0).argmax())
            raise ValueError(f"lengths[{worst}] must sum to 1, not {total[worst]:.8g}")
        filled = np.minimum((policy.weights > 0).sum(axis=1), self.slots)
        if (self.lengths * (np.arange(self.slots + 1) > filled[:, None])).any():
            raise ValueError("lengths has pages that are longer than a query's candidates")
        self.lengths.flags.writeable = False
        self._shorter = cache(lambda slots: PlackettLuce(policy.weights, policy.temperature, slots))

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return log P(ranking | query), (n,)."""
        query, ranking = self.check_pages(query, ranking)
        length = (ranking >= 0).sum(axis=1)
        with np.errstate(divide="ignore"):
            result = np.log(self.lengths[query, length])
        for slots in np.unique(length[length > 0]).tolist():
            rows = length == slots
            result[rows] += self._shorter(slots).log_prob(query[rows], ranking[rows, :slots])
        return result

    def draw(self, query: Integers, rng: np.random.Generator) -> tuple[Integers, Floats]:
        """Draw rankings (n, K) and their log-probabilities (n,)."""
        ends = np.cumsum(self.lengths[:, :-1], axis=1)[query]
        length = (rng.random(len(query))[:, None] >= ends).sum(axis=1)
        ranking = self._cut(self.policy.draw(query, rng)[0], length)
        return ranking, self.log_prob(query, ranking)

    def greedy(self, query: ArrayLike) -> Integers:
        """Return the documents with the largest weights, on a page of the likeliest length."""
        query = self.check_query(query)
        return self._cut(self.policy.greedy(query), self.lengths.argmax(axis=1)[query])

    def _cut(self, ranking: Integers, length: Integers) -> Integers:
        return np.where(np.arange(self.slots) < length[:, None], ranking, -1)

    def _reached(self, query: int) -> Floats:
        """Return how often a page is long enough for each slot, (K,)."""
        return np.maximum(1.0 - np.cumsum(self.lengths[query, :-1]), 0.0)

    def slate_moments(self, query: int, samples: int = SAMPLES, seed: int = 0) -> SlateMoments:
        """Return the moments: those of full pages, times how often a page reaches both slots."""
        return _shorten(self.policy.slate_moments(query, samples, seed), self._reached(query))

    def placements(self, query: int, pages: int = PAGES, seed: int = 0) -> Placements:
        """Return those of full pages, times how often a page reaches the slot: exact."""
        full = self.policy.placements(query, pages, seed).probabilities
        return Placements(full * self._reached(query)[:, None])

    def given_set(self, query: Integers, shown: Integers, seed: int = 0) -> GivenSet:
        """Return the marginals of Plackett-Luce pages as long as these, given the set."""
        n, k = shown.shape
        lengths = (shown >= 0).sum(axis=1)
        probabilities, log_probability = np.zeros((n, k, k)), np.full(n, -np.inf)
        log_probability[lengths == 0] = 0.0
        for slots in np.unique(lengths[(lengths > 0) & (lengths <= self.slots)]).tolist():
            rows = np.flatnonzero(lengths == slots)
            found = self._shorter(slots).given_set(query[rows], shown[rows, :slots])
            probabilities[rows, :slots, :slots] = found.probabilities
            log_probability[rows] = found.log_probability
        with np.errstate(divide="ignore"):
            log_probability += np.log(self.lengths[query, np.minimum(lengths, self.slots)])
        return GivenSet(probabilities, log_probability)

    def state(self) -> dict[str, Any]:
        """Return the lengths and the Plackett-Luce policy's state."""
        header, arrays = pack_policy(self.policy, "policy.")
        return {"lengths": self.lengths, "header": header} | arrays

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make it from the lengths and the Plackett-Luce policy's state."""
        policy = unpack_policy(state["header"], state, "policy.")
        if not isinstance(policy, PlackettLuce):
            raise ValueError(f"it cuts pages of Plackett-Luce, not of {type(policy).__name__}")
        return cls(policy, state["lengths"])


def _shorten(moments: SlateMoments, reached: Floats) -> SlateMoments:
    """Return the moments of pages that reach slot j with probability ``reached[j]``."""
    table = moments.table
    both = np.minimum(reached[:, None], reached)
    shorter = TypeTable(
        table.counts, table.slot * reached[:, None], table.joint * both[:, None, :, None]
    )
    halves = moments.halves
    if halves is not None:
        halves = (_shorten(halves[0], reached), _shorten(halves[1], reached))
    return SlateMoments(moments.types, shorter, samples=moments.samples, halves=halves)


def estimate_lengths(pages: LoggedPages, whole: LoggedPages, world: World) -> Floats | None:
    """Return each query's distribution of page lengths, (Q, K + 1), estimated from ``pages``.

    One impression of the mean over all of ``whole`` smooths every query's own shares. None where
    pages of ``whole`` are as long as the slots and a query's candidates allow: then nothing is
    random about lengths.
    """
    limit = np.minimum(world.n_candidates, whole.slots)
    if (whole.lengths == limit[whole.queries[whole.place]]).all():
        return None
    width = whole.slots + 1
    mean = np.bincount(whole.lengths, whole.counts, width) / whole.counts.sum()
    possible = np.arange(width) <= limit[:, None]
    smooth = np.where(possible, mean, 0.0)
    none = ~smooth.any(axis=1)
    smooth[none, limit[none]] = 1.0
    own = np.bincount(
        pages.queries[pages.place] * width + pages.lengths, pages.counts, world.n_queries * width
    ).reshape(-1, width)
    shares = own + smooth / smooth.sum(axis=1, keepdims=True)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
