"""Policy gradient of Plackett-Luce rankings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..common.ordering import order_by_keys
from ..common.typing import Booleans, Floats, Integers
from ..policies import Policy, Ranker
from .bandits.base import Bandit
from .base import count, number, register
from .block_places import PlaceLogits, find_places, with_places
from .scorers import Table

if TYPE_CHECKING:
    from .scoring_network import ScoringNetwork

_SPAN = 50.0  # of logits: exp(-50) is never drawn, and its sums and quotients are exact


@register("PolicyGradient")
class PolicyGradient(Bandit):
    """Plackett-Luce rankings, learned by their gradient: PL-Rank (Oosterhuis 2021), or REINFORCE.

    Learns logits whose Plackett-Luce distribution over rankings earns the highest reward. It
    judges a choice by all that the page earns from its slot on, so it also learns what cascade
    agents cannot, such as showing a satisfying document late.

    Notes
    -----
    PL-Rank-1 for any reward that is a sum over ranks: each choice counts for what its slot and
    those below it earn (``rank_gradient``, O(N + K) per page, as in Oosterhuis 2022). PL-Rank-2 and
    3 need what every document not shown would have earned, which rewards of pages do not tell.
    Where what a slot earns depends on documents below it, the last slot has the reward of the
    page, and the same formula is REINFORCE (Williams 1992). Variance is reduced by a baseline, the
    running mean of what the query earns from each slot on. A query's gradient is the sum over its
    pages of a batch, divided by the root of their number: the noise is then the same however often
    it was asked, and Adam does not take long steps on two pages. Steps shrink with 1/sqrt(1 + pages
    / slowing). The policy to deploy is the most likely ranking, not the distribution.

    With ``features`` a small network gives the logits, each candidate's in the context of the
    others, and the same gradient is pushed back through it. Its weights are shared, so there the
    root above makes queries count by the root of their frequency, and one query's steps would
    harden another's ranking before it was explored: ``pull`` keeps the logits close to each other,
    and the weights to deploy are averages over the last steps.

    Where pages have vertical blocks, it learns logits of their places in the same way, for each
    type of block and for each query (``PlaceLogits``).
    """

    budget = 3_000_000
    budget_reading_down = 1_000_000
    variants: ClassVar[dict[str, dict[str, Any]]] = {"features": {"features": True}}
    learned = ("mean_returns", "asked")
    by_slot = True
    places_blocks = True

    @dataclass(frozen=True)
    class Settings:
        """How to learn.

        Attributes
        ----------
        features : bool
            False: a table of logits by query and document. True: a network on the features.
        rate : float, optional
            Learning rate of the first steps; 0.05 for the table, 0.001 for the network.
        pull : float, optional
            How strongly logits are pulled to their query's mean: the penalty per page is half
            the squared distance times this, in units of reward; 0 for the table, 0.01 for the
            network.
        slowing : int
            Pages after which steps have shrunk by the root of two.
        memory : int
            Pages of a query over which its baseline averages.
        hidden : int
            Width of the network.
        batch : int
            Pages per step.
        """

        features: bool = False
        rate: float | None = number(None, least=0)
        pull: float | None = number(None, least=0)
        slowing: int = count(300_000)
        memory: int = count(500)
        hidden: int = count(64)
        batch: int = count(512)

    def prepare(self) -> None:
        """Start the baselines at 0 and make the table or the network of logits."""
        super().prepare()
        own = self.settings
        rate, pull = (0.001, 0.01) if own.features else (0.05, 0.0)
        self.rate: float = rate if own.rate is None else own.rate
        self.pull: float = pull if own.pull is None else own.pull
        self.mean_returns = np.zeros((self.task.world.n_queries, self.task.slots))
        self.asked = np.zeros(self.task.world.n_queries)
        self._scorer = self._make_scorer()
        self._place_logits: PlaceLogits | None = None
        if self.task.places_blocks:
            self._place_logits = PlaceLogits(*find_places(self.task))

    def _make_scorer(self) -> Table | ScoringNetwork:
        world = self.task.world
        if not self.settings.features:
            return Table(world)
        if world.features is None:
            raise ValueError("features=True needs a world with features; this one has none")
        from .scoring_network import ScoringNetwork  # torch is slow to import, and needed only here

        return ScoringNetwork(world, self.settings.hidden, int(self.rng.integers(2**31)))

    def _logits(self, query: Integers) -> Floats:
        """Return logits (q, N): 0 for the highest, -inf for what is not a candidate."""
        candidates = self.task.world.candidates[query]
        logits = np.where(candidates, self._scorer.logits(query), -np.inf)
        logits -= logits.max(axis=1, keepdims=True)
        return np.where(candidates, np.maximum(logits, -_SPAN), -np.inf)

    def rank(self, query: Integers) -> Integers:
        """Draw Plackett-Luce rankings, (n, min(K, N))."""
        self._some, self._places = np.unique(query, return_inverse=True)
        self._logits_of_some = self._logits(self._some)
        self._weights = np.exp(self._logits_of_some)[self._places]
        keys = self.rng.standard_exponential(self._weights.shape)
        with np.errstate(divide="ignore"):
            keys /= self._weights
        ranking = order_by_keys(keys, self.task.slots)
        length = self.task.world.n_candidates[query, None]
        return np.where(np.arange(ranking.shape[1]) < length, ranking, -1)

    def place(self, query: Integers, ranking: Integers) -> Integers:
        """Draw places of blocks by their logits, (n,)."""
        assert self._place_logits is not None
        self._drawn = self._place_logits.draw(query, self.rng)
        return self._drawn

    def update(self, query: Integers, ranking: Integers, clicks: Booleans, rewards: Floats) -> None:
        """Take one step along the gradients of the queries that were asked."""
        some, places = self._some, self._places
        returns = np.cumsum(rewards[:, ::-1], axis=1)[:, ::-1]
        # A query's first pages have no mean of their own yet.
        known = self.asked[query, None] > 0
        worth = returns - np.where(known, self.mean_returns[query], returns.mean(axis=0))
        gradient = rank_gradient(self._weights, ranking, worth)
        times = np.bincount(places)
        n_docs = gradient.shape[1]
        cells = (places[:, None] * n_docs + np.arange(n_docs)).reshape(-1)
        sums = np.bincount(cells, weights=gradient.reshape(-1)).reshape(len(some), n_docs)
        pulled = sums - self.pull * times[:, None] * self._above_mean()
        step = self.rate / np.sqrt(1.0 + self.pages / self.settings.slowing)
        self._scorer.ascend(some, pulled / np.sqrt(times)[:, None], step)
        if self._place_logits is not None:
            self._place_logits.ascend(query, self._drawn, worth[:, 0], step)
        earned = np.zeros((len(some), returns.shape[1]))
        np.add.at(earned, places, returns)
        self._remember(some, earned, times)

    def _above_mean(self) -> Floats:
        """Return how far the logits shown by lie above their query's mean, (q, N)."""
        candidates = self.task.world.candidates[self._some]
        logits = np.where(candidates, self._logits_of_some, 0.0)
        mean = logits.sum(axis=1, keepdims=True) / candidates.sum(axis=1, keepdims=True)
        return np.where(candidates, logits - mean, 0.0)

    def _remember(self, query: Integers, returns: Floats, times: Integers) -> None:
        """Move the baselines of different queries (q,) by the sums (q, K) of ``times`` pages."""
        self.asked[query] += times
        share = times / np.minimum(self.asked[query], np.maximum(self.settings.memory, times))
        change = returns / times[:, None] - self.mean_returns[query]
        self.mean_returns[query] += share[:, None] * change

    def policy(self) -> Policy:
        """Return the ranking by logits, with blocks at their likeliest places."""
        logits = self._scorer.final_logits(np.arange(self.task.world.n_queries))
        places = None if self._place_logits is None else self._place_logits.best()
        ranker = Ranker(logits, self.task.slots, world=self.task.world)
        return with_places(ranker, places, self.task)

    def state(self) -> dict[str, Any]:
        """Return what learning goes on from."""
        state = super().state() | {"scorer": self._scorer.state()}
        if self._place_logits is not None:
            state["places"] = self._place_logits.state()
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from ``state``."""
        super().restore(state)
        self._scorer.restore(state["scorer"])
        if self._place_logits is not None:
            self._place_logits.restore(state["places"])


def rank_gradient(weights: Floats, ranking: Integers, worth: Floats) -> Floats:
    """Return the sum over places of worth times the gradient of log P(document), (n, N).

    The gradient is that of Plackett-Luce rankings by their logits; with a worth of one it is that
    of their log-probability, and with the rewards from each place on, PL-Rank's.

    Parameters
    ----------
    weights : (n, N)
        Exponentials of the logits; 0 = not a candidate.
    ranking : (n, K)
        The documents shown, with trailing -1.
    worth : (n, K)
        Of each choice.

    Notes
    -----
    Each place k shows its document with probability weight / remaining mass, so

        gradient_i = worth at i's place - weight_i * sum over k of worth_k / remaining_k,

    where the sum goes to i's place, or to K for what is not shown, and the first term is 0 for
    that. The remaining masses are sums from the last place up, without a subtraction.
    """
    shown = ranking >= 0
    # One more column, which empty slots (-1) read and write.
    rest = np.pad(weights, ((0, 0), (0, 1)))
    chosen = np.take_along_axis(rest, ranking, axis=1)
    np.put_along_axis(rest, ranking, 0.0, axis=1)
    ahead = np.concatenate([rest.sum(axis=1, keepdims=True), chosen[:, ::-1]], axis=1)
    remaining = np.cumsum(ahead, axis=1)[:, :0:-1]
    passed = np.cumsum(np.where(shown, worth, 0.0) / np.where(shown, remaining, 1.0), axis=1)
    gradient = -rest * passed[:, -1:]
    np.put_along_axis(gradient, ranking, worth - chosen * passed, axis=1)
    return gradient[:, :-1]
