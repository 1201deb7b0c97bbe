"""The vectorised environment in the hands of Stable-Baselines3."""

from __future__ import annotations

import itertools
import warnings

import gymnasium as gym
import numpy as np
import pytest
from conftest import SLOTS, small_world
from looping import loop_over

from clickgym import clickmodels, data
from clickgym.agents import as_vec_env

pytest.importorskip("stable_baselines3", reason="needs pip install 'clickgym[agents]'")

import torch
from stable_baselines3 import DQN, PPO, SAC
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

WORLD, SHORT_WORLD = small_world(), small_world(short=True)
ACTIONS = ("scores", "ranking", "slots")
OBSERVATIONS = ("features", "ids", "both")

every_action = loop_over("action", ACTIONS)
every_observation = loop_over("observation", OBSERVATIONS)


def make_vec(num_envs=4, **settings):
    settings = {"world": SHORT_WORLD, "slots": SLOTS, "invalid": "repair", **settings}
    return gym.make_vec(
        "clickgym/DBN-v0", num_envs=num_envs, vectorization_mode="vector_entry_point", **settings
    )


def sampled_actions(env, steps):
    env.action_space.seed(0)
    return [env.action_space.sample() for _ in range(steps)]


def policy_for(observation):
    return "MultiInputPolicy" if observation == "both" else "MlpPolicy"


def equal(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    return np.array_equal(one, other)


# The adapter


@every_action
@every_observation
def test_steps_are_those_of_the_environment(action, observation):
    vec_env = as_vec_env(make_vec(action=action, observation=observation))
    env = make_vec(action=action, observation=observation)
    vec_env.seed(3)
    assert equal(vec_env.reset(), env.reset(seed=3)[0])
    for actions in sampled_actions(env, 10):
        observed, rewards, done, _ = vec_env.step(actions)
        expected, exact, terminated, _, _ = env.step(actions)
        assert equal(observed, expected)
        np.testing.assert_array_equal(rewards, exact.astype(np.float32))
        np.testing.assert_array_equal(done, terminated)


@every_action
@every_observation
def test_terminal_observations_are_the_final_ones(action, observation):
    vec_env = as_vec_env(make_vec(action=action, observation=observation))
    env = make_vec(action=action, observation=observation)
    vec_env.seed(3)
    vec_env.reset()
    env.reset(seed=3)
    ended = 0
    for actions in sampled_actions(env, 10):
        infos = vec_env.step(actions)[3]
        _, _, done, _, info = env.step(actions)
        for row in np.flatnonzero(done):
            assert equal(infos[row]["terminal_observation"], info["final_obs"][row])
            ended += 1
    assert ended >= 8


@every_action
def test_only_pages_that_ended_have_infos_of_an_end(action):
    vec_env = as_vec_env(make_vec(action=action))
    vec_env.seed(0)
    vec_env.reset()
    for actions in sampled_actions(vec_env.env, 10):
        _, _, done, infos = vec_env.step(actions)
        for key in ("terminal_observation", "TimeLimit.truncated", "episode"):
            assert [key in info for info in infos] == done.tolist()


@every_action
def test_no_page_is_truncated(action):
    vec_env = as_vec_env(make_vec(action=action))
    vec_env.reset()
    infos = [i for actions in sampled_actions(vec_env.env, 10) for i in vec_env.step(actions)[3]]
    truncated = [info["TimeLimit.truncated"] for info in infos if info]
    assert truncated
    assert not any(truncated)


@every_action
def test_episodes_have_the_return_and_length_of_their_page(action):
    vec_env = as_vec_env(make_vec(action=action, reward="expected_clicks"))
    vec_env.seed(0)
    vec_env.reset()
    returns, lengths = np.zeros(4), np.zeros(4)
    for actions in sampled_actions(vec_env.env, 12):
        _, rewards, done, infos = vec_env.step(actions)
        returns, lengths = returns + rewards, lengths + 1
        for row in np.flatnonzero(done):
            assert infos[row]["episode"]["r"] == pytest.approx(returns[row], rel=1e-6)
            assert infos[row]["episode"]["l"] == lengths[row]
        returns[done], lengths[done] = 0, 0


def test_reset_in_the_middle_of_a_page_forgets_its_length():
    vec_env = as_vec_env(make_vec(action="slots", world=WORLD))
    vec_env.reset()
    vec_env.step(np.zeros(4, dtype=int))
    vec_env.reset()
    infos = [vec_env.step(np.zeros(4, dtype=int))[3] for _ in range(SLOTS)][-1]
    assert [info["episode"]["l"] for info in infos] == [SLOTS] * 4


def trajectory(vec_env, seed):
    vec_env.seed(seed)
    returned = [vec_env.reset()]
    for actions in sampled_actions(vec_env.env, 8):
        returned += vec_env.step(actions)[:3]
    return returned


def test_the_same_seed_gives_the_same_trajectory():
    vec_env = as_vec_env(make_vec())
    first, second = trajectory(vec_env, 3), trajectory(vec_env, 3)
    assert all(map(equal, first, second))


def test_another_seed_gives_another_trajectory():
    vec_env = as_vec_env(make_vec())
    first, second = trajectory(vec_env, 3), trajectory(vec_env, 4)
    assert not all(map(equal, first, second))


def test_a_seed_is_used_once():
    vec_env = as_vec_env(make_vec(num_envs=20, observation="ids"))
    vec_env.seed(3)
    assert not np.array_equal(vec_env.reset(), vec_env.reset())


@loop_over("action", ["ranking", "slots"])
def test_masks_are_reached_by_env_method(action):
    vec_env = as_vec_env(make_vec(action=action))
    vec_env.reset()
    vec_env.step(sampled_actions(vec_env.env, 1)[0])
    masks = vec_env.env_method("action_masks")
    np.testing.assert_array_equal(np.stack(masks), vec_env.env.action_masks())


def test_env_method_takes_some_environments_only():
    vec_env = as_vec_env(make_vec(action="slots"))
    vec_env.reset()
    masks = vec_env.env_method("action_masks", indices=[2, 0])
    np.testing.assert_array_equal(np.stack(masks), vec_env.env.action_masks()[[2, 0]])


def test_attributes_are_reached():
    assert as_vec_env(make_vec()).get_attr("slots", indices=[0, 1]) == [SLOTS, SLOTS]


def test_monitoring_is_declared_done():
    assert as_vec_env(make_vec()).env_is_wrapped(Monitor) == [True] * 4


def test_pictures_are_one_an_environment():
    pytest.importorskip("PIL")
    vec_env = as_vec_env(make_vec(render_mode="rgb_array"))
    vec_env.reset()
    assert [picture.dtype for picture in vec_env.get_images()] == [np.uint8] * 4


def test_another_kind_of_vector_environment_is_refused():
    other = gym.make_vec("clickgym/DBN-v0", num_envs=2, vectorization_mode="sync", world=WORLD)
    with pytest.raises(ValueError, match="env must be a RankingVectorEnv"):
        as_vec_env(other)


# Learning a little


def parameters(model):
    return {name: value.clone() for name, value in model.policy.state_dict().items()}


def changes_by_learning(model, steps):
    before = parameters(model)
    model.learn(steps)
    after = parameters(model)
    assert all(torch.isfinite(value).all() for value in after.values())
    return any(not torch.equal(before[name], after[name]) for name in before)


@every_action
@every_observation
def test_ppo_learns_from_every_observation(action, observation):
    env = as_vec_env(make_vec(num_envs=8, action=action, observation=observation))
    model = PPO(policy_for(observation), env, n_steps=8, batch_size=32, n_epochs=1, seed=0)
    assert changes_by_learning(model, 64)


def test_ppo_sees_the_returns_of_pages():
    env = as_vec_env(make_vec(num_envs=8))
    model = PPO("MlpPolicy", env, n_steps=8, batch_size=32, n_epochs=1, seed=0)
    model.learn(64)
    assert len(model.ep_info_buffer) == 64


@every_observation
def test_maskable_ppo_places_only_what_the_masks_allow(observation):
    contrib = pytest.importorskip("sb3_contrib", reason="needs pip install 'clickgym[agents]'")
    vector_env = make_vec(num_envs=8, action="slots", observation=observation, invalid="raise")
    model = contrib.MaskablePPO(
        policy_for(observation), as_vec_env(vector_env), n_steps=16, batch_size=32, n_epochs=1,
        seed=0,
    )  # fmt: skip
    assert changes_by_learning(model, 256)  # a repeat would be an error


@every_observation
def test_dqn_learns_slot_by_slot(observation):
    env = as_vec_env(make_vec(num_envs=8, action="slots", observation=observation))
    model = DQN(
        policy_for(observation), env, buffer_size=500, learning_starts=64, batch_size=16,
        train_freq=4, target_update_interval=64, seed=0,
    )  # fmt: skip
    assert changes_by_learning(model, 160)


@every_observation
def test_sac_learns_scores(observation):
    env = as_vec_env(make_vec(num_envs=8, observation=observation))
    model = SAC(
        policy_for(observation), env, buffer_size=500, learning_starts=64, batch_size=16, seed=0,
        policy_kwargs={"net_arch": [32]},
    )  # fmt: skip
    assert changes_by_learning(model, 160)


def test_the_same_seed_learns_the_same_policy():
    learned = []
    for _ in range(2):
        env = as_vec_env(make_vec(num_envs=8))
        model = PPO("MlpPolicy", env, n_steps=8, batch_size=32, n_epochs=1, seed=1)
        model.learn(64)
        learned.append(parameters(model))
    assert all(torch.equal(learned[0][name], learned[1][name]) for name in learned[0])


def test_a_policy_is_evaluated_without_a_warning():
    env = as_vec_env(make_vec(num_envs=8, reward="expected_clicks"))
    model = PPO("MlpPolicy", env, n_steps=8, batch_size=32, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        returns, lengths = evaluate_policy(model, env, 40, return_episode_rewards=True)
    assert lengths == [1] * 40
    assert 0 < min(returns) <= max(returns) < SLOTS


# Learning


def scores_of_ppo(world, slots):
    """Scores (Q, N) of PPO after 20,480 pages, the policy's mean action."""
    vec_env = as_vec_env(make_vec(num_envs=256, world=world, observation="both", slots=slots))
    model = PPO(
        "MultiInputPolicy", vec_env, n_steps=2, batch_size=256, n_epochs=4, learning_rate=3e-3,
        gamma=0.0, seed=0, policy_kwargs={"log_std_init": -1.0},
    )  # fmt: skip
    model.learn(20_480)
    queries = {"features": world.standardised_features, "query": np.arange(world.n_queries)}
    return model.predict(queries, deterministic=True)[0]


def expected_clicks(world, user, scores, slots=SLOTS):
    """Expected clicks per page, exactly, of ranking by ``scores`` (Q, N)."""
    ranking = np.argsort(-scores, axis=1, kind="stable")[:, :slots]
    return world.query_probs @ user.expected_clicks(np.arange(world.n_queries), ranking)


def test_ppo_closes_most_of_the_gap_between_random_and_best():
    world = data.synthetic_world(n_queries=20, n_docs=10, seed=0)
    user = clickmodels.true_user("DBN", world)
    pages = np.array(list(itertools.permutations(range(world.n_docs), SLOTS)))
    values = np.stack([
        user.expected_clicks(np.full(len(pages), query), pages) for query in range(world.n_queries)
    ])  # fmt: skip
    random, best = world.query_probs @ values.mean(axis=1), world.query_probs @ values.max(axis=1)
    scores = scores_of_ppo(world, SLOTS)
    share = (expected_clicks(world, user, scores) - random) / (best - random)
    assert share > 0.5


def test_ppo_is_past_half_way_from_random_to_top_down():
    world = data.synthetic_world(n_queries=20, n_docs=10, seed=0)
    user = clickmodels.true_user("DBN", world)
    rng = np.random.default_rng(0)
    orders = [rng.random(world.gain.shape) for _ in range(2_000)]
    random = np.mean([expected_clicks(world, user, order, slots=10) for order in orders])
    top_down = expected_clicks(world, user, world.gain, slots=10)
    learned = expected_clicks(world, user, scores_of_ppo(world, slots=10), slots=10)
    assert learned > random + 0.5 * (top_down - random)
