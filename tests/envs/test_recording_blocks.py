"""Logs of pages with blocks: recorded with their places, whoever placed them."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
from conftest import SLOTS, small_vertical_world
from looping import loop_over
from scipy import stats

from clickgym import clickmodels, envs, policies
from clickgym.data import ClickLog

ENV_ID = "clickgym/Federated-v0"
WORLD, SHORT_WORLD = small_vertical_world(), small_vertical_world(short=True)
KINDS = [(action, vector) for action in ("scores", "ranking", "slots") for vector in (True, False)]


def make(action, vector, world=SHORT_WORLD, **settings):
    settings = {"world": world, "slots": SLOTS, "action": action, "observation": "ids"} | settings
    if not vector:
        return gym.make(ENV_ID, **settings)
    return gym.make_vec(ENV_ID, 7, vectorization_mode="vector_entry_point", **settings)


def placing(world, places=None):
    """A policy that draws both rankings and places."""
    ranks = policies.Uniform(world, SLOTS)
    chances = np.arange(1.0, SLOTS + 3) if places is None else places
    return policies.Placed(ranks, chances / chances.sum(), world)


@loop_over(("action", "vector"), KINDS)
def test_a_policy_places_blocks_as_in_a_collected_log(action, vector):
    n, policy = 700, placing(SHORT_WORLD)
    log = envs.record(make(action, vector, invalid="raise"), policy, n, seed=3)
    user = clickmodels.true_user("FCM", SHORT_WORLD, slots=SLOTS)
    other = envs.collect(SHORT_WORLD, user, policy, n, seed=4)
    counts = np.stack([
        np.bincount(one.vertical_position + 1 + 10 * (one.vertical + 1), minlength=60)
        for one in (log, other)
    ])  # fmt: skip
    counts = counts[:, counts.sum(axis=0) > 10]
    assert stats.chi2_contingency(counts).pvalue > 1e-3
    np.testing.assert_array_equal(log.vertical >= 0, log.vertical_position >= 0)
    shown = log.vertical >= 0
    np.testing.assert_array_equal(log.vertical[shown], SHORT_WORLD.vertical[log.query[shown]])


@loop_over(("action", "vector"), KINDS)
def test_propensities_include_the_place(action, vector):
    policy = placing(WORLD, np.array([1.0, 3, 0, 0, 0, 0, 4]))
    log = envs.record(make(action, vector, WORLD), policy, 60, seed=3)
    typed = WORLD.vertical[log.query] >= 0
    chance = np.array([1, 3, 0, 0, 0, 0, 4])[log.vertical_position + 1] / 8
    expected = policies.Uniform(WORLD, SLOTS).log_prob(log.query, log.ranking)
    expected = expected + np.where(typed, np.log(chance), 0.0)
    np.testing.assert_allclose(log.log_propensity, expected)


@loop_over(("action", "vector"), KINDS)
def test_a_policy_that_places_nothing_shows_no_block(action, vector):
    log = envs.record(make(action, vector), policies.Uniform(SHORT_WORLD, SLOTS), 50, seed=0)
    assert (log.vertical == -1).all()
    assert (log.vertical_position == -1).all()
    assert np.isfinite(log.log_propensity).all()


@loop_over(("action", "vector"), KINDS)
def test_wrappers_record_what_infos_said(action, vector, tmp_path):
    env = make(action, vector, invalid="repair")
    env = (envs.RecordVectorClicks if vector else envs.RecordClicks)(env)
    env.action_space.seed(0)
    env.reset(seed=0)
    said = []
    for _ in range(60):
        *_, done, _, info = env.step(env.action_space.sample())
        if vector:
            final = info.get("final_info")
            said += [
                (final["query"][row], final["vertical_position"][row])
                for row in np.flatnonzero(done)
            ]
        elif done:
            said.append((info["query"], info["vertical_position"]))
            env.reset()
    log = env.recorder.log()
    shown = sorted(map(tuple, np.stack([log.query, log.vertical_position], axis=1).tolist()))
    expected = sorted((int(query), int(place)) for query, place in said)
    assert set(shown) <= set(expected)
    if not vector:
        assert shown == expected
    assert max(place for _, place in shown) >= 1
    log.save(tmp_path / "log.parquet")
    again = ClickLog.load(tmp_path / "log.parquet")
    np.testing.assert_array_equal(again.vertical_position, log.vertical_position)


def test_a_recorded_log_is_fitted_by_models_of_verticals():
    log = envs.record(make("ranking", True, WORLD), placing(WORLD), 400, seed=0)
    model = clickmodels.fit("FCM", log, WORLD)
    assert model.attention.shape == (4, SLOTS + 1)
    env = make("scores", True, WORLD, click_model=model)
    env.reset(seed=0)
    assert "final_info" in env.step(env.action_space.sample())[4]


def test_other_environments_record_no_blocks():
    env = gym.make("clickgym/DBN-v0", world=WORLD, slots=SLOTS)
    log = envs.record(env, policies.Uniform(WORLD, SLOTS), 5)
    assert log.vertical is None
