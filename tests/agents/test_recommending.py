"""Agents in the environment of ratings."""

from __future__ import annotations

import gymnasium as gym
import pytest

from clickgym import agents, clickmodels, data, evaluation, policies


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
