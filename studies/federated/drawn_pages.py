"""Queries of two intents, and the result pages on which they are asked, each with its block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common.typing import Floats, Integers
from ...data import World

NAVIGATIONAL, INFORMATIONAL = "navigational", "informational"
INTENTS = (NAVIGATIONAL, INFORMATIONAL)
CANDIDATES = 20  # documents of each query
GOOD = (3, 4)  # grades of the one good document of a navigational query
FAIR = 0.3  # share of grade 1 among its other documents; the rest have grade 0
GRADE_SHARES = (0.45, 0.28, 0.16, 0.08, 0.03)  # of informational queries, from grade 0 on
FREQUENCY = 1.0  # standard deviation of the logarithm of a query's frequency


@dataclass(frozen=True)
class DrawnPages:
    """Pages on which queries are asked: a configuration is a query with a fixed page.

    Attributes
    ----------
    query : (C,)
    ranking : (C, K)
    position : (C,)
        How many web results stand above the block, 0 to K.
    share : (C,)
        How often each is shown; sums to one.
    """

    query: Integers
    ranking: Integers
    position: Integers
    share: Floats

    def __len__(self) -> int:
        return len(self.query)

    def grades(self, world: World) -> Integers:
        """Return the grades of what is shown, (C, K)."""
        return world.relevance[self.query[:, None], self.ranking].astype(np.int64)


def draw_world(queries: int, vertical: int, seed: int) -> World:
    """Return a world with as many queries of either intent, the navigational ones first.

    A navigational query has one good document, and others of grade 0 or 1; the documents of
    an informational one have all grades. Every query has a block of type ``vertical``.
    """
    rng = np.random.default_rng(seed)
    shape = queries, CANDIDATES
    navigational = (rng.random(shape) < FAIR).astype(np.int8)
    navigational[:, 0] = rng.choice(GOOD, queries)
    informational = rng.choice(len(GRADE_SHARES), shape, p=GRADE_SHARES)
    frequency = np.exp(FREQUENCY * rng.standard_normal(2 * queries)).reshape(2, queries)
    frequency /= 2.0 * frequency.sum(axis=1, keepdims=True)  # either intent is asked as often
    return World(
        np.vstack([navigational, informational]), query_probs=frequency.reshape(-1),
        vertical=np.full(2 * queries, vertical), name="federated",
    )  # fmt: skip


def intents(world: World) -> Integers:
    """Return the place of each query's intent in ``INTENTS``, (Q,), of a ``draw_world``."""
    return np.repeat(np.arange(len(INTENTS)), world.n_queries // len(INTENTS))


def draw_pages(
    world: World, pages: int, slots: int, noise: float, seed: int
) -> DrawnPages:
    """Return ``pages`` configurations of each query, all shown as often.

    The production ranker orders candidates by grade plus normal noise with this standard
    deviation, which is drawn anew for each configuration (as pages differ by region and day). The
    block's position is uniform from 0 to ``slots``.
    """
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(world.n_queries), pages)
    scores = world.relevance[query] + noise * rng.standard_normal((len(query), world.n_docs))
    ranking = np.argsort(-scores, axis=1)[:, :slots]
    position = rng.integers(0, slots, len(query), endpoint=True)
    return DrawnPages(query, ranking, position, world.query_probs[query] / pages)
