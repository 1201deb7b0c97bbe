"""Plackett-Luce policies: documents drawn one by one without replacement."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.ordering import order_by_keys
from ..common.progress import progress
from ..common.typing import Booleans, Floats, Integers
from ..data import World
from .base import Policy, candidate_scores, register
from .given_set.conditional import GivenSet, check_lengths, check_possible
from .given_set.marginals import check_shown, marginals_of_logs, split_logs
from .given_set.orders import draw_orders
from .slates import draws
from .slates.document_types import TypeTable, UniformTable
from .slates.moments import SlateMoments
from .slates.placements import PAGES, Placements, race_placements

_CHUNK = 8192  # pages per batch of log-probabilities, so that they stay in cache
_MARGINALS = 1 << 17  # numbers of a batch of marginals given the set
_LINEAR_RANGE = 600.0  # exp(-600) is far from underflow, and its quotients from overflow


@register("PlackettLuce")
class PlackettLuce(Policy):
    """Draws documents one by one with probability proportional to ``weights ** (1/temperature)``.

    Parameters
    ----------
    weights : (Q, N), at least 0
        0 = not a candidate.
    temperature : float
        Towards 0 the ranking by weights, towards infinity uniform.
    slots : int
        K; pages of queries with fewer candidates are shorter.

    Notes
    -----
    A draw sorts ``Exp(1) / weight`` ascending, which has the same distribution as drawing one by
    one; its probability comes from the reverse cumulative sums of the sorted weights. Sums always
    run from the smallest remainder up and nothing is subtracted, so low temperatures lose no
    digits. When the weights of a query span more than ``exp(600)``, the same is done in logs.
    Costs O(N log N) per page to draw and O(N + K) for a log-probability.
    """

    def __init__(self, weights: ArrayLike, temperature: float = 1.0, slots: int = 10) -> None:
        array = checks.finite(weights, "weights", 2)
        if 0 in array.shape:
            raise ValueError(f"weights is empty, shape {array.shape}")
        if (array < 0).any():
            raise ValueError("weights must be at least 0")
        temperature = float(checks.finite(temperature, "temperature", 0))
        if temperature <= 0:
            raise ValueError(f"temperature must be above 0, not {temperature}")
        self.weights = array.copy()
        self.weights.flags.writeable = False
        self.temperature = temperature
        self.slots = checks.positive_integer(slots, "slots")
        self.shape = self.weights.shape[0], self.weights.shape[1]
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights) / temperature
        top = logs.max(axis=1, keepdims=True)
        self._logs = np.where(np.isfinite(logs), logs - np.where(np.isfinite(top), top, 0.0), logs)
        self._scaled = np.exp(self._logs)
        candidates = self.weights > 0
        self._n_candidates = candidates.sum(axis=1)
        lowest = self._logs[candidates].min(initial=0.0)
        self._linear = bool(lowest > -_LINEAR_RANGE)
        self._group = max(int(_LINEAR_RANGE / (np.log(self.shape[1]) - lowest + 1e-9)), 1)
        self._full = bool((self._n_candidates >= min(self.slots, self.shape[1])).all())

    @property
    def log_weights(self) -> Floats:
        """Logarithms of the weights, the best of each query 0, (Q, N); -inf = no candidate."""
        return self._logs * self.temperature

    def state(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"weights": self.weights, "temperature": self.temperature, "slots": self.slots}

    def draw(self, query: Integers, rng: np.random.Generator) -> tuple[Integers, Floats]:
        """Draw rankings (n, K) and their exact log-probabilities (n,)."""
        exponential = rng.standard_exponential((len(query), self.shape[1]))
        if self._linear:
            with np.errstate(divide="ignore"):
                exponential /= self._scaled.take(query, axis=0)
            order = order_by_keys(exponential, self.shape[1])
        else:
            order = np.argsort(np.log(exponential) - self._logs[query], axis=1)
        log_prob = self._log_prob_of_order(query, order)
        ranking = self._page(order)
        if not self._full:
            ranking[np.arange(self.slots) >= self._n_candidates[query, None]] = -1
        return ranking, log_prob

    def _page(self, order: Integers) -> Integers:
        """Return the first K places of whole orders (n, N), with -1 after short ones."""
        ranking = order[:, : self.slots]
        missing = self.slots - ranking.shape[1]
        return np.pad(ranking, ((0, 0), (0, missing)), constant_values=-1) if missing else ranking

    def _log_prob_of_order(self, query: Integers, order: Integers) -> Floats:
        """Return the log-probability of the first K places of whole orders (n, N)."""
        places = order.T + query * self.shape[1]  # (N, n): a place is a contiguous row
        slots = min(self.slots, self.shape[1])
        if not self._linear:
            logs = self._logs.reshape(-1).take(places)
            remaining = np.logaddexp.accumulate(logs[::-1], axis=0)[::-1]
            with np.errstate(invalid="ignore"):  # -inf - -inf past a short list, left out below
                terms = (logs - remaining)[:slots]
            return np.where(np.isfinite(logs[:slots]), terms, 0.0).sum(axis=0)
        weights = self._scaled.reshape(-1).take(places)
        remaining = np.cumsum(weights[::-1], axis=0)[::-1][:slots]
        chosen = weights[:slots]
        if not self._full:
            remaining = np.where(chosen > 0, remaining, 1.0)
            chosen = np.where(chosen > 0, chosen, 1.0)
        return self._log_of_product(chosen / remaining)

    def _log_of_product(self, quotients: Floats) -> Floats:
        """Return the sum of the logs of ``quotients`` (K, n) over places, (n,).

        One logarithm for as many places as a product of their quotients can hold.
        """
        groups = range(0, len(quotients), self._group)
        return np.log(np.multiply.reduceat(quotients, groups, axis=0)).sum(axis=0)

    def log_prob(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return log P(ranking | query), (n,); repeats and non-candidates have -inf."""
        query, ranking = self.check_pages(query, ranking)
        if not self._linear:
            return self._log_prob_in_logs(query, ranking)
        parts = [slice(start, start + _CHUNK) for start in range(0, len(query), _CHUNK)]
        return np.concatenate(
            [np.zeros(0), *(self._linear_log_prob(query[part], ranking[part]) for part in parts)]
        )

    def _linear_log_prob(self, query: Integers, ranking: Integers) -> Floats:
        """Return the log-probabilities of a chunk of pages, (n,), by sums of weights."""
        rows = np.arange(len(query))
        left = np.zeros((len(query), self.shape[1] + 1))  # -1 lands in the last column
        left[:, :-1] = self._scaled.take(query, axis=0)
        chosen = np.empty((self.slots, len(query)))  # 0 for non-candidates and repeats
        for slot, documents in enumerate(ranking.T):
            chosen[slot] = left[rows, documents]
            left[rows, documents] = 0.0
        length = np.minimum(self.slots, self._n_candidates[query])
        filled = np.arange(self.slots)[:, None] < length
        possible = ((chosen > 0) == filled).all(axis=0) & ((ranking.T >= 0) == filled).all(axis=0)
        # Remaining mass before each place: what is never shown, then the places from the last up.
        ahead = np.concatenate([left.sum(axis=1)[None], chosen[::-1]])
        remaining = np.cumsum(ahead, axis=0)[:0:-1]
        sensible = filled & possible
        quotients = np.where(sensible, chosen, 1.0) / np.where(sensible, remaining, 1.0)
        return np.where(possible, self._log_of_product(quotients), -np.inf)

    def _log_prob_in_logs(self, query: Integers, ranking: Integers) -> Floats:
        """Return the log-probabilities of pages, (n,), where weights span too much to be summed."""
        shown = ranking >= 0
        rows = np.arange(len(query))[:, None]
        times = np.zeros((len(query), self.shape[1] + 1), dtype=np.int64)
        np.add.at(times, (rows, ranking), 1)  # -1 lands in the last column
        times = times[:, :-1]
        candidates = self.weights[query] > 0
        length = np.minimum(self.slots, self._n_candidates[query])
        possible = (times <= candidates).all(axis=1) & (shown.sum(axis=1) == length)
        rest = np.where(times > 0, -np.inf, self._logs[query])
        last = np.logaddexp.reduce(rest, axis=1, keepdims=True)
        logs = np.where(shown, self._logs[query[:, None], ranking], -np.inf)
        # Remaining mass before each place: what is never shown, then the places from the last up.
        ahead = np.concatenate([last, logs[:, ::-1]], axis=1)
        remaining = np.logaddexp.accumulate(ahead, axis=1)[:, :0:-1]
        sensible = shown & possible[:, None]
        terms = np.where(sensible, logs, 0.0) - np.where(sensible, remaining, 0.0)
        return np.where(possible, terms.sum(axis=1), -np.inf)

    def greedy(self, query: ArrayLike) -> Integers:
        """Return the ranking by weight, ties by index, (n, K)."""
        query = self.check_query(query)
        ranking = self._page(np.argsort(-self.weights[query], axis=1, kind="stable"))
        return np.where(np.arange(self.slots) < self._n_candidates[query, None], ranking, -1)

    def document_scores(self) -> Floats:
        """Return the weights, (Q, N)."""
        return self.weights

    def placements(self, query: int, pages: int = PAGES, seed: int = 0) -> Placements:
        """Return how often each slot shows each document for one query, (K, N): exact."""
        return Placements(race_placements(self._logs[query], self.slots))

    def marginals(self, query: int) -> SlateMoments | None:
        """Return the exact moments of one query's pages; None where they would take too long.

        Documents of equal weight are of one type; the cost grows with the number of ways to draw
        types (``draws.count_work``). Queries with the same weights share the work.
        """
        candidates = np.flatnonzero(self.weights[query] > 0)
        logs, labels, counts = np.unique(
            self._logs[query, candidates], return_inverse=True, return_counts=True
        )
        types = np.full(self.shape[1], -1)
        types[candidates] = labels
        if len(logs) <= 1:
            return SlateMoments(types, _uniform_table(len(candidates), self.slots))
        ways = tuple(counts.tolist())
        if draws.count_work(ways, min(self.slots, len(candidates))) > draws.MOST_WORK:
            return None
        return SlateMoments(types, _type_table(ways, tuple(logs.tolist()), self.slots))

    def given_set(self, query: Integers, shown: Integers, seed: int = 0) -> GivenSet:
        """Return where displayed documents stand given the set, exactly (``rank_marginals``)."""
        n, k = shown.shape
        probabilities, log_probability = np.zeros((n, k, k)), np.full(n, -np.inf)
        possible = np.flatnonzero(self._shows_set(query, shown))
        step = max(_MARGINALS // max(k, 1) ** 2, 1)
        with progress(len(possible), "marginals given the set") as advance:
            for start in range(0, len(possible), step):
                rows = possible[start : start + step]
                logs, log_rest = split_logs(self._logs[query[rows]], shown[rows])
                lengths = (shown[rows] >= 0).sum(axis=1)
                found, log_probability[rows] = marginals_of_logs(logs, log_rest, lengths)
                probabilities[rows] = found
                advance(len(rows))
        return GivenSet(probabilities, log_probability)

    def _shows_set(self, query: Integers, shown: Integers) -> Booleans:
        """Return which pages, (n,), show only candidates and as many as a page has."""
        candidates = (self.weights[query[:, None], shown] > 0) | (shown < 0)
        length = np.minimum(self.slots, self._n_candidates[query])
        return candidates.all(axis=1) & ((shown >= 0).sum(axis=1) == length)

    def why_never(self, query: int, documents: list[int]) -> str:
        """Say why a page never shows exactly these documents."""
        for document in documents:
            if self.weights[query, document] == 0:
                return f"document {document} has weight 0, so it is no candidate"
        length = min(self.slots, int(self._n_candidates[query]))
        if len(documents) != length:
            return f"its pages of this query have {length} documents, not {len(documents)}"
        return ""

    def sample_given_set(
        self, query: ArrayLike, shown: ArrayLike, rng: np.random.Generator
    ) -> Integers:
        """Draw an order of displayed documents for each page, given which are displayed.

        Parameters
        ----------
        query : (n,)
        shown : (n, k)
            The documents of each page in any order; -1 after those of a shorter page.

        Returns
        -------
        ranking : (n, k)
            The same documents, as a page of this policy that shows exactly them has them.

        Notes
        -----
        Exact, and O(N + k log k) a page (``given_set.orders``).
        """
        query = self.check_query(query)
        documents = check_shown(shown, self.shape[1])
        check_lengths(query, documents)
        check_possible(self, query, documents, self._shows_set(query, documents))
        ranking = np.empty_like(documents)
        for start in range(0, len(query), _CHUNK):
            part = slice(start, start + _CHUNK)
            logs, log_rest = split_logs(self._logs[query[part]], documents[part])
            order = draw_orders(logs, log_rest, rng)
            ranking[part] = np.take_along_axis(documents[part], order, axis=1)
        return ranking


@lru_cache(maxsize=1024)
def _uniform_table(count: int, slots: int) -> TypeTable:
    if count:
        return UniformTable(count, slots)
    return TypeTable(np.zeros(0, dtype=np.int64), np.zeros((slots, 0)), np.zeros((slots, 0) * 2))


@lru_cache(maxsize=32)
def _type_table(counts: tuple[int, ...], logs: tuple[float, ...], slots: int) -> TypeTable:
    filled = min(slots, sum(counts))
    slot, joint = draws.draw_moments(counts, logs, filled)
    empty = (0, slots - filled)
    slot = np.pad(slot, (empty, (0, 0)))
    return TypeTable(np.array(counts), slot, np.pad(joint, (empty, (0, 0)) * 2))


@register("Uniform")
class Uniform(PlackettLuce):
    """Every ordered choice of K candidates is equally likely."""

    def __init__(self, world: World, slots: int = 10) -> None:
        if not isinstance(world, World):
            raise ValueError(f"world must be a clickgym.data.World, not {type(world).__name__}")
        super().__init__(world.candidates.astype(np.float64), slots=slots)
        self.fingerprint = world.fingerprint

    def state(self) -> dict[str, Any]:
        """Return candidates and slots."""
        return {"candidates": self.weights > 0, "slots": self.slots}

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make the policy from its candidates."""
        policy = cls.__new__(cls)
        PlackettLuce.__init__(policy, state["candidates"].astype(np.float64), slots=state["slots"])
        return policy


def stochastic(
    scores: ArrayLike,
    temperature: float,
    slots: int = 10,
    *,
    world: World | None = None,
    rescale: bool = True,
) -> PlackettLuce:
    """Return the papers' stochastic variant of ranking by ``scores``.

    Per query the scores (Q, N) are scaled to [0, 1] (all equal: 0), and 0.01 is added so that
    every candidate can be shown. ``-inf`` = not a candidate. With ``world`` only its candidates are
    shown, and the policy carries its fingerprint.

    ``rescale=False`` leaves scores as they are, which must be at least 0: gains in [0, 1] keep
    their meaning across queries, and a query without a good document has no sharp order. The
    robustness paper's released code does so with the true gain and the ε-oracle's.
    """
    array = candidate_scores(scores, world)
    candidates = array > -np.inf
    if not rescale:
        if (array[candidates] < 0.0).any():
            raise ValueError("scores must be at least 0 where rescale is False")
        array = np.where(candidates, array, 0.0)
        return _show_weights(array, candidates, temperature, slots, world)
    low = np.where(candidates, array, np.inf).min(axis=1, keepdims=True)
    high = array.max(axis=1, keepdims=True)
    some = candidates.any(axis=1, keepdims=True)
    low, high = np.where(some, low, 0.0), np.where(some, high, 0.0)
    span = np.where(high > low, high - low, 1.0)
    scaled = (np.where(candidates, array, low) - low) / span
    return _show_weights(scaled, candidates, temperature, slots, world)


def _show_weights(
    scores: Floats, candidates: Booleans, temperature: float, slots: int, world: World | None
) -> PlackettLuce:
    """Return the policy of scores (Q, N) from 0 on; 0.01 lets every candidate be shown."""
    policy = PlackettLuce(np.where(candidates, scores + 0.01, 0.0), temperature, slots)
    policy.fingerprint = None if world is None else world.fingerprint
    return policy
