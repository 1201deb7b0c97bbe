"""Agents in the environment of ratings."""

from __future__ import annotations

import gymnasium as gym
import pytest

from clickgym import agents, clickmodels, data, envs, evaluation, policies


@pytest.mark.slow
def test_a_policy_gradient_that_sees_factors_beats_popularity():
    train, _ = data.embedded_ratings()
    world = data.embedded_ratings_world()
    user = clickmodels.true_user("cascade-high", world)
    popular = policies.recommender("popularity", train, world)
    env = gym.make("clickgym/Recommendation-v0")
    trained = agents.train("PolicyGradient", env, pages=20_000, seed=0, features=True)
    earned, usual = (evaluation.value(one, user, world).value for one in (trained, popular))
    assert earned > usual + 0.04


@pytest.mark.slow
def test_inside_a_learned_model_an_agent_beats_popularity_and_earns_less_than_it_is_promised():
    train, _ = data.embedded_ratings()
    world = data.embedded_ratings_world()
    user = clickmodels.true_user("cascade-high", world)
    popular = policies.recommender("popularity", train, world)
    logging = policies.stochastic_recommender("popularity", train, world)
    model = clickmodels.fit("PBM", envs.collect(world, user, logging, 100_000, seed=0), world)
    env = gym.make("clickgym/Learned-v0", world=world, click_model=model)
    trained = agents.train("PolicyGradient", env, pages=50_000, seed=0, features=True)
    found = evaluation.deploy(trained, model, user, world)
    assert found.deployed.value > evaluation.value(popular, user, world).value + 0.04
    assert found.gap.value > 0.03
