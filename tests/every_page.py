"""Logs that hold every page with every outcome, weighted by probability: expectations, exactly."""

from __future__ import annotations

import itertools

import numpy as np

from clickgym.data import ClickLog
from clickgym.policies import PlackettLuce, Policy


class OnlySamples(Policy):
    """Knows nothing of its pages but how to draw them."""

    has_log_prob = False

    def __init__(self, policy):
        self.policy, self.slots, self.shape = policy, policy.slots, policy.shape

    def sample(self, query, rng):
        return self.policy.sample(query, rng)


def every_ranking(n_docs: int, slots: int) -> np.ndarray:
    """All ordered choices of ``slots`` out of ``n_docs`` documents."""
    return np.array(list(itertools.permutations(range(n_docs), slots)))


def every_outcome(policy: Policy, click_probs, one_click: bool = False) -> ClickLog:
    """The log of all pages and clicks of query 0, whose weights are their probabilities.

    ``click_probs(query, ranking)`` (n, K): ranks are clicked independently, or with ``one_click``
    at most one of them is, with these probabilities.
    """
    pages = every_ranking(policy.shape[1], policy.slots)
    query = np.zeros(len(pages), dtype=np.int64)
    shown = np.exp(policy.log_prob(query, pages))
    assert abs(shown.sum() - 1.0) < 1e-12
    chance = click_probs(query, pages)
    rankings, clicks, weights = [], [], []
    for outcome in itertools.product([False, True], repeat=policy.slots):
        clicked = np.array(outcome)
        if one_click:
            if clicked.sum() > 1:
                continue
            happens = chance[:, clicked][:, 0] if clicked.any() else 1.0 - chance.sum(axis=1)
        else:
            happens = np.where(clicked, chance, 1.0 - chance).prod(axis=1)
        rankings.append(pages)
        clicks.append(np.tile(clicked, (len(pages), 1)))
        weights.append(shown * happens)
    return ClickLog(
        np.tile(query, len(rankings)), np.concatenate(rankings), np.concatenate(clicks),
        weight=np.concatenate(weights),
    )  # fmt: skip


def literal_samples(log: ClickLog, policy: Policy | None, table, rng, keep: bool = False):
    """The paper's algorithms, one click after the other: 1, 0 or 1/2 of each accepted sample.

    With a policy the second order is drawn from it, until it shows the same set; without one the
    other product is drawn from the rest of the page.
    """
    found = []
    for query, page, clicks in zip(log.query, log.ranking, log.clicks, strict=True):
        for rank in np.flatnonzero(clicks):
            if policy is None:
                other = rng.choice(np.delete(page, rank))
            else:
                again = policy.sample([query], rng)[0]
                while set(again) != set(page):
                    again = policy.sample([query], rng)[0]
                other = again[rank]
            place = list(page).index(other)
            if other == page[rank] or (clicks[place] and not keep):
                continue
            own, others = table[query, page[rank]], table[query, other]
            found.append(0.5 if own == others else float(others > own))
    return np.array(found)


EXAMINATION = np.array([0.9, 0.4, 0.1])
MIXED = np.array([0.9, 0.2, 0.5, 0.7, 0.1])  # quality of five products
SCORES = np.array([[3.0, 1.0, 2.0, 0.0, 2.0]])  # with a tie


def small_log(seed=0, n=3000):
    """A log of two queries by a soft policy, with several clicks on many pages."""
    policy = PlackettLuce([[4.0, 2, 1, 1, 0.5], [1.0, 2, 3, 4, 0.0]], slots=3)
    rng = np.random.default_rng(seed)
    query = rng.integers(0, 2, n)
    ranking = policy.sample(query, rng)
    clicks = rng.random((n, 3)) < MIXED[ranking] * EXAMINATION
    return ClickLog(query, ranking, clicks), policy, np.vstack([SCORES, -SCORES])
