"""The environment of ratings: its users and worlds. The registry's tests have its contract."""

from __future__ import annotations

import inspect

import gymnasium as gym
import numpy as np
import pytest
from conftest import small_ratings_world, small_world
from looping import loop_over

from clickgym import clickmodels, data, envs

ENV_ID = "clickgym/Recommendation-v0"
USERS = clickmodels.user_names("ratings")


def make_vec(num_envs, **settings):
    return gym.make_vec(
        ENV_ID, num_envs=num_envs, vectorization_mode="vector_entry_point", **settings
    )


def test_it_is_one_environment_and_the_seven_users_have_no_other():
    assert ENV_ID in envs.environment_ids()
    assert len(envs.environment_ids()) == len(clickmodels.user_names()) + 3
    assert not any(user in env_id for user in USERS for env_id in envs.environment_ids())


def test_the_default_is_the_cascade_user_of_the_embedded_ratings():
    env = gym.make(ENV_ID).unwrapped
    assert env.world is data.embedded_ratings_world()
    assert env.model.label == "cascade-high"
    assert inspect.signature(envs.RecommendationEnv).parameters["user"].default == "cascade-high"
    assert list(inspect.signature(envs.RecommendationVectorEnv).parameters)[:2] == [
        "num_envs", "user",
    ]  # fmt: skip


@loop_over("user", USERS)
def test_batches_earn_what_the_user_promises(user):
    train, _ = data.embedded_ratings()
    env = make_vec(4000, user=user, observation="ids")
    env.reset(seed=0)
    popularity = np.bincount(train.item, minlength=train.n_items) + np.arange(200) / 1000
    scores = np.tile((popularity / popularity.max()).astype(np.float32), (4000, 1))
    rewards = env.step(scores)[1]
    rewards = np.concatenate([rewards, env.step(scores)[1]])
    top = np.argsort(-np.where(env.world.candidates, popularity, -1), axis=1)[:, :10]
    exact = env.model.expected_clicks(np.arange(len(top)), top).mean()
    assert abs(rewards.mean() - exact) < 4.5 * rewards.std() / np.sqrt(len(rewards))


def test_worlds_and_users_are_shared():
    world = small_ratings_world()
    first, second = (gym.make(ENV_ID, world=world, slots=3).unwrapped for _ in range(2))
    assert first.world is world
    assert first.model is second.model is make_vec(2, world=world, slots=3).model


def test_a_users_parameters_can_be_changed():
    params = {"satisfaction": (0, 0, 0, 0, 1)}
    env = gym.make(ENV_ID, world=small_ratings_world(), slots=5, user_params=params).unwrapped
    assert set(np.unique(env.model.satisfaction)) == {0.0, 1.0}


def test_a_click_model_can_be_the_user():
    user = clickmodels.true_user("no-bias", data.embedded_ratings_world())
    assert gym.make(ENV_ID, user=user).unwrapped.model is user


@loop_over("user", ["DBN", "cascade", None])
def test_other_users_are_refused(user):
    for make in (gym.make, lambda _, **settings: make_vec(2, **settings)):
        with pytest.raises(ValueError, match=r"user must be a ClickModel or a true user of rat"):
            make(ENV_ID, user=user)


def test_a_world_with_grades_is_refused():
    with pytest.raises(ValueError, match="cascade-high takes worlds with ratings, and this world"):
        gym.make(ENV_ID, world=small_world(), slots=5)


def test_a_world_with_ratings_is_refused_elsewhere():
    with pytest.raises(ValueError, match="DBN takes worlds with grades, and this world has rat"):
        gym.make("clickgym/DBN-v0", world=small_ratings_world(), slots=5)
