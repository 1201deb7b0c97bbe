"""Policies over lists that are shorter than a page, and Plackett-Luce at all temperatures."""

from __future__ import annotations

import numpy as np

from clickgym.data import World
from clickgym.policies import Placed, PlackettLuce, Product, Ranker, Uniform, stochastic

N, K = 5, 3
# Query 0 has all five candidates, query 1 two, query 2 one, query 3 none.
CANDIDATES = np.array([[1, 1, 1, 1, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]], bool)
WEIGHTS = np.array([[0.5, 2.0, 1.0, 0.25, 1.0], [0, 3.0, 0, 1.0, 0], [0, 0, 0, 0, 7.0], [0] * 5])
STEEP = np.where(CANDIDATES, np.array([1.0, 1e-150, 1e-290, 1e-3, 0.5]), 0.0)  # exp(1335) at 0.5
# To the power of two all but the first are 0 in floating point, and still stand 1 : 1 : 2 : 1.
UNDERFLOWING = np.where(CANDIDATES, np.array([1.0, 1e-290, 1e-290, 2e-290, 1e-290]), 0.0)
SCORES = np.where(CANDIDATES, np.array([0.1, -2.0, 3.5, 3.5, 1.0]), -np.inf)
WORLD = World(np.where(CANDIDATES, 1, -1), query_probs=[0.5, 0.25, 0.25, 0.0])
VARIANTS = {  # by registered name, and what is special
    ("Uniform", "plain"): Uniform(WORLD, slots=K),
    **{("PlackettLuce", f"at {t}"): PlackettLuce(WEIGHTS, t, K) for t in (0.01, 0.1, 1.0, 10.0)},
    ("PlackettLuce", "steep"): PlackettLuce(STEEP, 0.5, K),
    ("PlackettLuce", "underflowing"): PlackettLuce(UNDERFLOWING, 0.5, K),
    ("PlackettLuce", "longer than lists"): PlackettLuce(WEIGHTS, 1.0, 7),
    ("PlackettLuce", "stochastic at 0.03"): stochastic(SCORES, 0.03, K),
    ("PlackettLuce", "stochastic at 1"): stochastic(SCORES, 1.0, K),
    ("Ranker", "of scores"): Ranker(SCORES, K),
    ("Ranker", "from rankings"): Ranker.from_rankings(
        [[4, 0, 2], [3, 1, -1], [4, -1, -1], [-1, -1, -1]], N
    ),
    ("Placed", "uniformly"): Placed(
        PlackettLuce(WEIGHTS, 1.0, K), np.full(K + 2, 1 / (K + 2)), WORLD.with_vertical([0] * 4)
    ),
}


def product_with_empty_slots() -> Product:
    """Slots of different distributions; query 1 fills two of them, query 3 none."""
    probs = WEIGHTS[:, None] ** np.array([1.0, 0.5, 2.0])[:, None] * CANDIDATES[:, None]
    probs[1, 2] = 0.0
    total = probs.sum(axis=2, keepdims=True)
    return Product(np.divide(probs, total, out=np.zeros_like(probs), where=total > 0))
