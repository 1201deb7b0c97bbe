"""Recommenders that draw their lists, so that a log of them can be learned from."""

from __future__ import annotations

import numpy as np

from clickgym import data, policies


def setting(**smaller):
    train, test = data.synthetic_ratings(40, 30, seed=1).split(0.8, seed=0)
    return train, test.world(train, **smaller)


def test_the_first_item_is_drawn_in_proportion_to_one_over_its_rank():
    train, world = setting(n_users=5, n_docs=6)
    whole = policies.recommender("popularity", train, world, world.n_docs, seed=3)
    drawn = policies.stochastic_recommender("popularity", train, world, 1, seed=3)
    query = np.repeat(np.arange(world.n_queries), world.n_docs)
    chances = np.exp(drawn.log_prob(query, whole.rankings.reshape(-1, 1)))
    wanted = 1.0 / np.arange(1, world.n_docs + 1)
    for row in chances.reshape(world.n_queries, -1):
        np.testing.assert_allclose(row, wanted / wanted.sum())


def test_towards_temperature_zero_it_is_the_recommender_itself():
    train, world = setting()
    usual = policies.recommender("popularity", train, world, 4, ties="index")
    cold = policies.stochastic_recommender("popularity", train, world, 4, 1e-3, ties="index")
    query = np.arange(world.n_queries)
    np.testing.assert_array_equal(cold.sample(query, np.random.default_rng(0)), usual.rankings)


def test_only_candidates_are_shown_also_without_an_estimate():
    train, world = setting()
    drawn = policies.stochastic_recommender("random", train, world, 8)
    np.testing.assert_array_equal(drawn.weights > 0, world.candidates)


def test_seeds_decide_about_ties():
    train, world = setting()
    first, again, other = (
        policies.stochastic_recommender("random", train, world, 4, seed=seed).weights
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
