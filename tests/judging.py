"""Logs and odd models that the tests of metrics share."""

from __future__ import annotations

import numpy as np
from conftest import SLOTS

from clickgym import clickmodels, data
from clickgym.data import ClickLog


def random_log(world: data.World, model, n: int = 400, seed: int = 1, weighted=False) -> ClickLog:
    """Pages of random candidates in random order, short where a query has few, and clicks."""
    rng = np.random.default_rng(seed)
    query = rng.integers(world.n_queries, size=n)
    keys = np.where(world.candidates[query], rng.random((n, world.n_docs)), np.inf)
    order = np.argsort(keys, axis=1)[:, :SLOTS]
    ranking = np.where(np.isinf(np.take_along_axis(keys, order, axis=1)), -1, order)
    clicks = model.sample(query, ranking, rng)
    weight = rng.integers(0, 4, size=n).astype(float) if weighted else None
    return ClickLog(query, ranking, clicks, weight=weight)


def repeated(log: ClickLog) -> ClickLog:
    """The log without weights: each row as often as its weight says."""
    rows = np.repeat(np.arange(len(log)), log.weight.astype(int))
    return ClickLog(log.query[rows], log.ranking[rows], log.clicks[rows])


class Fixed(clickmodels.ClickModel):
    """A model that answers with the probabilities it was given, whatever is asked."""

    name = "Fixed"

    def __init__(self, probs) -> None:
        self.probs = np.asarray(probs, dtype=float)

    def conditional_click_probs(self, query, ranking, clicks):
        return np.broadcast_to(self.probs, np.shape(ranking)).copy()

    def click_probs(self, query, ranking):
        return np.broadcast_to(self.probs, np.shape(ranking)).copy()


class RankOnly(Fixed):
    """A model that only ranks."""

    name = "RankOnly"
    capabilities = frozenset({"rank"})


class Conditional(Fixed):
    """A model that is not generative, like ARM-NC."""

    name = "Conditional"
    capabilities = frozenset({"rank", "conditional"})
