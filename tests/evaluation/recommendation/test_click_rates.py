"""Click-through rates: exact ones against enumeration, simulated ones against exact ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from small_ratings import small_parts

from clickgym import clickmodels, policies
from clickgym.evaluation.recommendation.click_rates import (
    click_rates,
    rate_as,
    simulate_click_rates,
)

USERS = (
    "no-bias", "examination-log", "examination-quad", "browsing-log", "browsing-quad",
    "cascade-low", "cascade-high",
)  # fmt: skip


@pytest.mark.parametrize("name", USERS)
def test_exact_rates_are_sums_over_all_clicks(name):
    train, world = small_parts()
    ranker = policies.recommender("popularity", train, world, slots=5)
    user = clickmodels.true_user(name, world, slots=5)
    query = np.arange(world.n_queries)
    expected = np.zeros(world.n_queries)
    for clicks in itertools.product((False, True), repeat=5):
        many = np.tile(clicks, (world.n_queries, 1))
        chance = np.exp(user.log_likelihood(query, ranker.rankings, many))
        expected += chance * sum(clicks) / 5
    np.testing.assert_allclose(click_rates(ranker, user, world), expected, atol=1e-9)
    assert expected.mean() > 0.02


@pytest.mark.parametrize("name", USERS)
def test_simulated_rates_agree_with_exact_ones(name):
    train, world = small_parts()
    ranker = policies.recommender("popularity", train, world)
    user = clickmodels.true_user(name, world)
    drawn = simulate_click_rates(ranker, user, world, repetitions=400, seed=3).mean(axis=1)
    exact = click_rates(ranker, user, world).mean()
    assert drawn.shape == (400,)
    assert abs(drawn.mean() - exact) < 4.5 * drawn.std(ddof=1) / 20


def test_a_seed_decides_simulated_clicks():
    train, world = small_parts()
    ranker = policies.recommender("popularity", train, world)
    user = clickmodels.true_user("browsing-log", world)
    one, again, other = (
        simulate_click_rates(ranker, user, world, 2, seed=seed) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    assert (one[0] != one[1]).any()


def test_empty_places_are_not_clicked():
    _, world = small_parts()
    user = clickmodels.true_user("no-bias", world)
    best = np.where(world.candidates, world.relevance, -1).argmax(axis=1)
    short = policies.Ranker.from_rankings(
        np.column_stack([best, np.full((world.n_queries, 3), -1)]), world=world
    )
    full = policies.Ranker.from_rankings(best[:, None], world=world)
    np.testing.assert_allclose(
        click_rates(short, user, world) * 4, click_rates(full, user, world)
    )


def test_odds_are_clicked_to_non_clicked():
    np.testing.assert_allclose(rate_as("odds", np.array([0.2, 0.5])), [0.25, 1.0])
    np.testing.assert_array_equal(rate_as("slots", np.array([0.2])), [0.2])
    with pytest.raises(ValueError, match="form must be one of slots, odds"):
        rate_as("share", np.array([0.2]))


def test_stochastic_policies_are_refused():
    _, world = small_parts()
    user = clickmodels.true_user("no-bias", world)
    with pytest.raises(ValueError, match=r"evaluation\.value has its value"):
        click_rates(policies.Uniform(world), user, world)
