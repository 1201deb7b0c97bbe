"""Small slate spaces with all their pages, for tests of marginals and off-policy estimators."""

from __future__ import annotations

import itertools

import numpy as np

from clickgym import envs, evaluation
from clickgym.clickmodels import PBM
from clickgym.data import ClickLog, World
from clickgym.policies import Mixture, PlackettLuce, Policy, Product, Ranker, Uniform

Q, N, K = 3, 5, 3
# Query 1 has three candidates, query 2 two, so that its third slot is always empty.
CANDIDATES = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 1, 0], [0, 1, 0, 0, 1]], bool)
RNG = np.random.default_rng(3)
WEIGHTS = np.where(CANDIDATES, RNG.uniform(0.2, 2.0, (Q, N)), 0.0)
EQUAL = np.where(CANDIDATES, [1.0, 2.0, 1.0, 0.25, 2.0], 0.0)
WORLD = World(
    np.where(CANDIDATES, RNG.integers(0, 5, (Q, N)), -1), RNG.normal(size=(Q, N, 2)),
    [0.5, 0.3, 0.2],
)  # fmt: skip


def product(weights=WEIGHTS, empty=True):
    """A product policy whose slots differ; with ``empty`` the last query's last slot is empty."""
    probs = weights[:, None] ** np.array([1.0, 0.5, 2.0])[:, None] * (weights > 0)[:, None]
    probs /= probs.sum(axis=2, keepdims=True)
    if empty:
        probs[2, 2] = 0.0
    return Product(probs)


UNIFORM = Uniform(WORLD, slots=K)
RANKER = Ranker.from_rankings([[4, 0, 2], [3, 2, 0], [4, 1, -1]], N)
POLICIES = {
    "Uniform": UNIFORM,
    "PlackettLuce": PlackettLuce(WEIGHTS, slots=K),
    "PlackettLuce of equal weights": PlackettLuce(EQUAL, slots=K),
    "PlackettLuce at 0.3": PlackettLuce(WEIGHTS, 0.3, slots=K),
    "Product": product(),
    "Ranker": RANKER,
    "mixture": Mixture([PlackettLuce(EQUAL, slots=K), UNIFORM, RANKER], [0.5, 0.3, 0.2]),
    "mixture with repeats": Mixture([product(), UNIFORM], [0.4, 0.6]),
}
SOFT = POLICIES["PlackettLuce at 0.3"]
# A log of uniformly drawn pages, and a user whose clicks are a sum over slots.
ROWS = 2000
USER = PBM(np.random.default_rng(0).random((Q, N)), [0.9, 0.6, 0.4])
LOG = envs.collect(WORLD, USER, UNIFORM, ROWS, seed=0)
CLICKS = evaluation.slate_rewards("clicks", LOG)
# A policy that never shows document 4.
FEWER = np.where(np.arange(N) == 4, 0.0, WEIGHTS) * CANDIDATES
NARROW = PlackettLuce(FEWER, slots=K)


def narrow_log():
    """Fifty pages of it."""
    query = np.zeros(50, dtype=np.int64)
    pages, log_prob = NARROW.draw(query, np.random.default_rng(0))
    return ClickLog(query, pages, np.zeros(pages.shape, dtype=bool), log_prob)


def pages_of(policy, query):
    """Every page that a policy shows for a query, (p, K), and their probabilities, (p,)."""
    n_docs, slots = policy.shape[1], policy.slots
    pages = np.array([
        [*documents, *[-1] * (slots - length)]
        for length in range(slots + 1)
        for documents in itertools.product(range(n_docs), repeat=length)
    ])  # fmt: skip
    chance = np.exp(policy.log_prob(np.full(len(pages), query), pages))
    assert abs(chance.sum() - 1.0) < 1e-9
    return pages[chance > 0], chance[chance > 0]


def indicators(pages, n_docs=N):
    """1_s of pages, (p, K, N)."""
    return (pages[:, :, None] == np.arange(n_docs)).astype(float)


def moments_of(policy, query):
    """Marginals (K, N) and Γ (K, N, K, N) by enumeration."""
    pages, chance = pages_of(policy, query)
    shown = indicators(pages, policy.shape[1])
    return np.einsum("p,pka->ka", chance, shown), np.einsum("p,pka,plb->kalb", chance, shown, shown)


def whole_log(policy, rewards_of=None, seed=0):
    """A log with every page of every query, weighted by its probability, and rewards.

    ``rewards_of`` (query, ranking) -> (n,); by default every page has some number of its own.
    """
    parts = [pages_of(policy, query) for query in range(Q)]
    pages = np.concatenate([part[0] for part in parts])
    query = np.repeat(np.arange(Q), [len(part[0]) for part in parts])
    chance = np.concatenate([part[1] for part in parts])
    log = ClickLog(
        query, pages, np.zeros(pages.shape, dtype=bool), np.log(chance),
        1e6 * chance * WORLD.query_probs[query],
    )  # fmt: skip
    rewards_of = any_reward if rewards_of is None else rewards_of
    return log, rewards_of(query, pages)


def any_reward(query, ranking):
    """A number for every page, with no structure to it."""
    return np.sin(1.0 + query * 7.0 + (ranking + 1) @ np.array([1.3, 4.1, 9.7])) + 0.5


def value_of(policy, rewards_of):
    """The policy's value by enumeration."""
    value = 0.0
    for query, share in enumerate(WORLD.query_probs):
        pages, chance = pages_of(policy, query)
        value += share * (chance @ rewards_of(np.full(len(pages), query), pages))
    return value


class Drawing(Policy):
    """Draws like another policy, and cannot say what it shows."""

    def __init__(self, policy):
        self.policy, self.slots, self.shape = policy, policy.slots, policy.shape

    def draw(self, query, rng):
        return self.policy.draw(query, rng)

    def log_prob(self, query, ranking):
        return self.policy.log_prob(query, ranking)
