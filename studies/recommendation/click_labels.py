"""What logged clicks say about the pairs of user and item that were shown: labels to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import clickmodels, data, envs, policies
from ...common.typing import Floats, Integers
from ...policies.recommenders.rating_matrix import find_names

LOWEST_PROPENSITY = 0.01  # so that a click counts as at most a hundred
_RANDOM_PAGES = 20_000


@dataclass(frozen=True)
class ShownPairs:
    """The pairs of user and item that a log showed, each once.

    Attributes
    ----------
    query, document : (m,)
        In the world of the log.
    ratings : Ratings
        The pairs as recommenders take them; the ratings themselves mean nothing.
    row : (n, K)
        The pair of each slot of the log, -1 where it is empty.
    clicks : (n, K)
    """

    query: Integers
    document: Integers
    ratings: data.Ratings
    row: Integers
    clicks: Floats

    @classmethod
    def of(cls, log: data.ClickLog, world: data.World, ratings: data.Ratings) -> ShownPairs:
        """Return the pairs of a log; ``ratings`` know the ids of all users and items."""
        shown = log.ranking >= 0
        keys = (log.query[:, None].astype(np.int64) * world.n_docs + log.ranking)[shown]
        pairs, place = np.unique(keys, return_inverse=True)
        row = np.full(log.ranking.shape, -1)
        row[shown] = place
        query, document = pairs // world.n_docs, pairs % world.n_docs
        assert world.query_ids is not None
        assert world.doc_ids is not None
        user = find_names(world.query_ids[query], ratings.user_ids, "user")
        item = find_names(world.doc_ids[query, document], ratings.item_ids, "item")
        rated = data.Ratings(user, item, np.ones_like(user), ratings.user_ids, ratings.item_ids)
        return cls(query, document, rated, row, np.asarray(log.clicks, dtype=np.float64))

    def rates(self, propensities: Floats) -> Floats:
        """Return clicks per examined impression of each pair, (m,), at most 1.

        ``propensities`` (K,) say how often each slot is examined; ones give clicks per impression.
        A pair has the sum of its clicks over the sum of its propensities: weights of clicks by
        inverse propensity, normalised for each pair.
        """
        shown = self.row >= 0
        examined = np.broadcast_to(propensities, self.row.shape)[shown]
        size = len(self.query)
        clicks = np.bincount(self.row[shown], self.clicks[shown], size)
        return np.minimum(clicks / np.bincount(self.row[shown], examined, size), 1.0)

    def of_model(self, model: clickmodels.ClickModel) -> Floats:
        """Return how attractive a fitted model finds each pair, (m,).

        Of a model without an attractiveness, such as NCM, its relevance.
        """
        known = getattr(model, "attractiveness", None)
        table = model.relevance() if known is None else known
        return np.asarray(table[self.query, self.document], dtype=np.float64)


def slot_propensities(
    user: clickmodels.ClickModel, world: data.World, slots: int, seed: int
) -> Floats:
    """Return how often each slot is examined, as a share of the first, (K,).

    As an experiment with items in a random order finds it: the clicks that slots get there, with
    the chance of clicks taken out (expected clicks of 20,000 random pages). At least 0.01.
    """
    log = envs.collect(world, user, policies.Uniform(world, slots), _RANDOM_PAGES, seed)
    clicks = user.click_probs(log.query, log.ranking).mean(axis=0)
    if not clicks[0] > 0.0:
        raise ValueError("nobody clicks on the first slot of random pages")
    return np.clip(clicks / clicks[0], LOWEST_PROPENSITY, 1.0)


def fitted_propensities(model: clickmodels.PBM) -> Floats:
    """Return how often a position-based model fitted to the log finds each slot examined, (K,).

    As a share of the most examined slot, and at least 0.01: what is known of propensities where
    nobody made an experiment.
    """
    examination = np.asarray(model.examination, dtype=np.float64)
    return np.clip(examination / examination.max(), LOWEST_PROPENSITY, 1.0)
