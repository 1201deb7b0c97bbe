"""A policy that shows the pages of a log as often as the log did, smoothed by another policy."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common import checks
from ...common.grouping import group_rows
from ...common.typing import Floats, Integers
from ..base import Policy, pack_policy, register, unpack_policy
from ..given_set.conditional import GivenSet, count_orders, counted_given, mix_given
from ..slates.moments import SAMPLES, SlateMoments, mix_moments
from ..slates.placements import PAGES, Placements


@register("PageCounts")
class PageCounts(Policy):
    """Shows a page with probability (count + prior · P(page)) / (impressions + prior).

    Parameters
    ----------
    policy : Policy
        Where P(page) comes from; it has log-probabilities.
    query, ranking, counts : (m,), (m, K), (m,)
        Distinct pages, in ascending order of their queries, and how often each was shown.
    prior : float, above 0
        How many impressions the other policy is worth; a query without pages is its alone.

    Notes
    -----
    A log-probability costs that of the other policy and a sort of all pages, known and asked; a
    draw O(log m).
    """

    def __init__(
        self,
        policy: Policy,
        query: ArrayLike,
        ranking: ArrayLike,
        counts: ArrayLike,
        prior: float,
    ) -> None:
        if not policy.has_log_prob:
            raise ValueError(f"{policy!r} has no log-probabilities, which smoothing needs")
        if policy.places_blocks:
            raise ValueError(f"{policy!r} places blocks, which counts of pages do not know")
        self.policy, self.slots, self.shape = policy, policy.slots, policy.shape
        self.fingerprint = policy.fingerprint
        self.query, self.ranking = policy.check_pages(query, ranking)
        self.counts = checks.finite(counts, "counts", 1)
        checks.same_shape(self.counts, self.query.shape, "counts", "query")
        if (self.counts <= 0).any() or (np.diff(self.query) < 0).any():
            raise ValueError("counts must be above 0, and queries in ascending order")
        self.prior = float(checks.finite(prior, "prior", 0))
        if self.prior <= 0:
            raise ValueError(f"prior must be above 0, not {prior}")
        self.impressions = np.bincount(self.query, self.counts, self.shape[0])
        self._ends = np.cumsum(self.counts)
        self._starts = np.searchsorted(self.query, np.arange(self.shape[0] + 1))

    @property
    def shares(self) -> Floats:
        """How often a page comes from the log and not from the other policy, (Q,)."""
        return self.impressions / (self.impressions + self.prior)

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return log P(ranking | query), (n,)."""
        query, ranking = self.check_pages(query, ranking)
        counted = look_up_counts(self.query, self.ranking, self.counts, query, ranking)
        smooth = self.prior * np.exp(self.policy.log_prob(query, ranking))
        with np.errstate(divide="ignore"):
            return np.log(counted + smooth) - np.log(self.impressions[query] + self.prior)

    def draw(self, query: Integers, rng: np.random.Generator) -> tuple[Integers, Floats]:
        """Draw rankings (n, K) and their log-probabilities (n,)."""
        ranking = np.empty((len(query), self.slots), dtype=np.int64)
        logged = rng.random(len(query)) < self.shares[query]
        ranking[~logged] = self.policy.draw(query[~logged], rng)[0]
        asked = query[logged]
        first, last = self._starts[asked], self._starts[asked + 1] - 1
        before = self._ends[first] - self.counts[first]
        aim = before + rng.random(len(asked)) * self.impressions[asked]
        found = np.searchsorted(self._ends, aim, side="right")
        ranking[logged] = self.ranking[np.clip(found, first, last)]  # rounding may lead past them
        return ranking, self.log_prob(query, ranking)

    def greedy(self, query: ArrayLike) -> Integers:
        """Return each query's most frequent page, or the other policy's where that has more say."""
        query = self.check_query(query)
        order = np.lexsort((-self.counts, self.query))
        best = np.full((self.shape[0], self.slots), -1, dtype=np.int64)
        asked, first = np.unique(self.query[order], return_index=True)
        best[asked] = self.ranking[order[first]]
        logged = self.shares[query] >= 0.5
        return np.where(logged[:, None], best[query], self.policy.greedy(query))

    def slate_moments(self, query: int, samples: int = SAMPLES, seed: int = 0) -> SlateMoments:
        """Return the mixture of the log's moments and the other policy's, exact where that is."""
        share = float(self.shares[query])
        other = self.policy.slate_moments(query, samples, seed)
        if share == 0:
            return other
        return mix_moments([self._logged(query), other], [share, 1.0 - share])

    def placements(self, query: int, pages: int = PAGES, seed: int = 0) -> Placements:
        """Return the mixture of the log's placements and the other policy's: exact."""
        share = float(self.shares[query])
        other = self.policy.placements(query, pages, seed).probabilities
        if share == 0:
            return Placements(other)
        return Placements(share * self._logged(query).single + (1.0 - share) * other)

    def _logged(self, query: int) -> SlateMoments:
        """Return the moments of the log's own pages of one query."""
        rows = slice(self._starts[query], self._starts[query + 1])
        pages, share = self.ranking[rows], self.counts[rows] / self.impressions[query]
        shown = np.zeros((len(pages), self.slots, self.shape[1] + 1))  # -1 lands in the last
        np.put_along_axis(shown, pages[:, :, None], 1.0, axis=2)
        flat = shown[:, :, :-1].reshape(len(pages), -1)
        pair = ((flat * share[:, None]).T @ flat).reshape((self.slots, self.shape[1]) * 2)
        return SlateMoments.from_arrays(np.einsum("jaja->ja", pair), pair)

    def given_set(self, query: Integers, shown: Integers, seed: int = 0) -> GivenSet:
        """Return the mixture of what the log's pages with this set say and the other policy."""
        known = (self.query, self.ranking, self.counts)
        impressions = self.impressions[query]
        logged = counted_given(*count_orders(known, query, shown), np.maximum(impressions, 1.0))
        other = self.policy.given_set(query, shown, seed)
        with np.errstate(divide="ignore"):
            shares = np.log(impressions / (impressions + self.prior))
        return mix_given([logged, other], [shares, -np.log1p(impressions / self.prior)])

    def state(self) -> dict[str, Any]:
        """Return the pages, their counts, and the other policy's state."""
        header, arrays = pack_policy(self.policy, "policy.")
        own = {"query": self.query, "ranking": self.ranking, "counts": self.counts}
        return {"prior": self.prior, "header": header} | own | arrays

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make it from its pages and the other policy's state."""
        names = ("query", "ranking", "counts", "prior")
        policy = unpack_policy(state["header"], state, "policy.")
        return cls(policy, *(state[name] for name in names))


def look_up_counts(
    known_query: NDArray[Any],
    known_ranking: NDArray[Any],
    counts: Floats,
    query: NDArray[Any],
    ranking: NDArray[Any],
) -> Floats:
    """Return how often the asked pages (n, K) were shown, (n,), by those of the known (m, K)."""
    both = np.concatenate([known_query, query])[:, None]
    first, group = group_rows([both, np.concatenate([known_ranking, ranking])])
    total = np.zeros(len(first))
    total[group[: len(counts)]] = counts
    return total[group[len(counts) :]]
