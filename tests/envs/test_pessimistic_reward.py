"""The reward of a learned model at a low quantile of what it may be."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from fitted_tables import fitted, small_log
from scipy.stats import norm

from clickgym import agents

MAKE = {"observation": "ids", "action": "ranking", "reward": "pessimistic"}


def make(**settings):
    world, _, _ = small_log()
    return gym.make("clickgym/Learned-v0", world=world, click_model=fitted("UBM"), **settings)


def test_a_page_earns_the_lower_models_expected_clicks():
    env = make(**MAKE, pessimism=1.0)
    env.reset(seed=0, options={"query": 3})
    _, reward, _, _, _ = env.step(np.arange(6))
    lower = fitted("UBM").lower(norm.cdf(-1.0))
    assert reward == pytest.approx(lower.expected_clicks([3], [np.arange(6)])[0])


def test_auto_is_the_default_and_what_the_log_says():
    model = fitted("UBM")
    env = make(**MAKE)
    env.reset(seed=0, options={"query": 3})
    expected = model.pessimistic("auto").expected_clicks([3], [np.arange(6)])[0]
    assert env.step(np.arange(6))[1] == pytest.approx(expected)


def test_many_environments_at_once_earn_the_same():
    world, _, _ = small_log()
    envs = gym.make_vec(
        "clickgym/Learned-v0", num_envs=5, vectorization_mode="vector_entry_point", world=world,
        click_model=fitted("UBM"), pessimism=2.0, **MAKE,
    )  # fmt: skip
    envs.reset(seed=0)
    pages = np.tile(np.arange(6), (5, 1))
    _, rewards, _, _, infos = envs.step(pages)
    query = infos["final_info"]["query"]
    lower = fitted("UBM").lower(norm.cdf(-2.0))
    np.testing.assert_allclose(rewards, lower.expected_clicks(query, pages))


def test_agents_train_on_it_and_curves_have_its_name(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    env = make(observation="ids", reward="pessimistic", pessimism=1.0)
    agents.train("PolicyGradient", env, 200, log_dir=tmp_path)
    curves = EventAccumulator(str(tmp_path))
    curves.Reload()
    assert "reward/pessimistic" in curves.Tags()["scalars"]


def test_pessimism_without_its_reward_is_refused():
    with pytest.raises(ValueError, match="pessimism is for reward='pessimistic'"):
        make(reward="clicks", pessimism=1.0)


def test_a_true_user_has_no_pessimistic_reward():
    with pytest.raises(TypeError, match="no posterior"):
        gym.make("clickgym/DBN-v0", reward="pessimistic", pessimism=1.0)
