"""Epsilon-greedy ranking by a linear regression of clicks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.ordering import order_by_scores
from ...common.typing import Booleans, Floats, Integers
from ...data import World
from ...policies import Policy, Ranker
from ..base import count, number, register
from .base import Bandit


@register("EpsilonGreedy")
class EpsilonGreedy(Bandit):
    """Ranks by a linear regression of clicks, and a share ε of the pages at random.

    Learns weights of the standardised features, taken relative to the mean of the query's
    candidates because only the order within a query matters: a click on a document is regressed on
    them and on a one-hot of its rank, which takes out the position bias. The scores are the
    features' part alone. Assumes that features and rank add up to the click probability and that
    the other documents on the page do not matter; a user who reads from the top and stops is
    neither, so this is the plain baseline.

    Notes
    -----
    ε-greedy as in Sutton and Barto (2018, section 2.7 has the decaying steps), on whole pages.
    Ridge regression by its normal equations: a batch adds to the sums, O(n K (F + K)²), and they
    are solved when scores are needed, once per batch. The ranks' weights are not shrunk. ε after
    ``t`` pages is ``max(epsilon_last, epsilon / (1 + t / halving))``.

    Linear scores set the limit, not the budget: on the small world it closes about nine tenths of
    the gap from random to Top-Down with 3 slots, but with all 10 documents shown to a DBN user,
    where that gap is 0.005 clicks, it ends below random, as does a least-squares fit to the true
    attractiveness.
    """

    budget = 50_000
    aims_at = "Top-Down"
    needs_features = True
    learns_from_clicks = True
    learned = ("gram", "moments")

    @dataclass(frozen=True)
    class Settings:
        """How to explore and to regress.

        Attributes
        ----------
        epsilon : float
            Share of random pages at first.
        epsilon_last : float
            Share of random pages below which it never falls.
        halving : int
            Pages after which ε is half of what it was at first.
        ridge : float
            Strength of the shrinkage, in pages' worth of a feature of variance 1.
        batch : int
            Pages that are ranked by the same weights.
        """

        epsilon: float = number(1.0, least=0, most=1)
        epsilon_last: float = number(0.05, least=0, most=1)
        halving: int = count(10_000)
        ridge: float = number(1.0)
        batch: int = count(256)

    def prepare(self) -> None:
        """Centre the features within their queries and start the normal equations at 0."""
        super().prepare()
        self.features = centre_within_queries(self.task.world)
        width = self.features.shape[2] + self.task.slots
        self.gram, self.moments = np.zeros((width, width)), np.zeros(width)

    @property
    def epsilon(self) -> float:
        """The share of random pages now."""
        settings = self.settings
        decayed = settings.epsilon / (1 + self.pages / settings.halving)
        return float(max(settings.epsilon_last, decayed))

    def scores(self, query: Integers) -> Floats:
        """Return the features' part of the regression for queries (n,), (n, N)."""
        n_features = self.features.shape[2]
        penalty = np.full(len(self.moments), 1e-6)  # a rank that was never filled stays 0
        penalty[:n_features] = self.settings.ridge
        weights = np.linalg.solve(self.gram + np.diag(penalty), self.moments)
        some, places = np.unique(query, return_inverse=True)
        scores: Floats = self.features[some].astype(np.float64) @ weights[:n_features]
        return scores[places]

    def rank(self, query: Integers) -> Integers:
        """Rank by scores, or with probability ε at random, (n, min(K, N))."""
        scores = self.scores(query)
        explore = self.rng.random(len(query)) < self.epsilon
        scores[explore] = self.rng.random((int(explore.sum()), scores.shape[1]))
        candidates = self.task.world.candidates[query]
        return order_by_scores(scores, self.task.slots, self.rng, candidates)

    def update(self, query: Integers, ranking: Integers, clicks: Booleans, rewards: Floats) -> None:
        """Add the pages to the normal equations."""
        pages, ranks = np.nonzero(ranking >= 0)
        n_features = self.features.shape[2]
        rows = np.zeros((len(pages), len(self.moments)), dtype=np.float64)
        rows[:, :n_features] = self.features[query[pages], ranking[pages, ranks]]
        rows[np.arange(len(pages)), n_features + ranks] = 1.0
        self.gram += rows.T @ rows
        self.moments += rows.T @ clicks[pages, ranks]

    def policy(self) -> Policy:
        """Return the ranking by linear scores."""
        everyone = np.arange(self.task.world.n_queries)
        return Ranker(self.scores(everyone), self.task.slots, world=self.task.world)


def centre_within_queries(world: World) -> NDArray[np.float32]:
    """Return standardised features minus their mean over the query's candidates, (Q, N, F)."""
    candidates = world.candidates[..., None]
    features = world.standardised_features  # 0 where there is no candidate
    mean = features.sum(axis=1, keepdims=True) / np.maximum(world.n_candidates, 1)[:, None, None]
    return np.where(candidates, features - mean, 0.0).astype(np.float32)
