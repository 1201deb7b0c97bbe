"""Recording the steps of any environment: the log is what ``collect`` would have given."""

from __future__ import annotations

import itertools

import gymnasium as gym
import numpy as np
import pytest
from conftest import SLOTS, random_models, small_world
from scipy import stats

from clickgym import clickmodels, envs, policies
from clickgym.data import ClickLog

WORLD, SHORT_WORLD = small_world(), small_world(short=True)
MODEL = random_models()["PBM"]
ACTIONS = ("scores", "ranking", "slots")
VIEWS = [
    (action, vector, learned)
    for action in ACTIONS
    for vector in (False, True)
    for learned in (False, True)
]


def make(action="scores", vector=False, learned=False, world=WORLD, num_envs=40, **settings):
    settings = {"world": world, "slots": SLOTS, "action": action, **settings}
    env_id = "clickgym/Learned-v0" if learned else "clickgym/DBN-v0"
    if learned:
        settings["click_model"] = MODEL
    if vector:
        return gym.make_vec(
            env_id, num_envs=num_envs, vectorization_mode="vector_entry_point", **settings
        )
    return gym.make(env_id, **settings)


def stochastic(world):
    scores = np.where(world.candidates, world.gain, -np.inf)
    return policies.stochastic(scores, 0.5, slots=SLOTS)


def same_distribution(one, other):
    """The p-value that two lists of codes come from one distribution; rare codes together."""
    codes, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    counts = np.stack([
        np.bincount(part, minlength=len(codes)) for part in (place[: len(one)], place[len(one) :])
    ])  # fmt: skip
    rare = counts.sum(axis=0) < 20
    table = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


def codes(log):
    """Numbers for what was asked, for what was shown first and last, and for what was clicked."""
    clicks = log.clicks @ (1 << np.arange(SLOTS))
    query = log.query.astype(np.int64)
    ends = (query * 8 + log.ranking[:, 0] + 1) * 8 + log.ranking[:, -1] + 1
    return query, ends, query * (1 << SLOTS) + clicks


# The same as collect


@pytest.mark.parametrize("world", [WORLD, SHORT_WORLD], ids=["full", "short"])
def test_a_recorded_log_has_the_distribution_of_a_collected_one(world):
    n = 2500
    for action, vector, learned in VIEWS:
        env = make(action, vector, learned, world)
        policy = stochastic(world)
        log = envs.record(env, policy, n, seed=5)
        expected = envs.collect(world, env.unwrapped.model, policy, 4 * n, seed=1)
        likely = [
            same_distribution(*both) for both in zip(codes(log), codes(expected), strict=True)
        ]
        assert min(likely) > 1e-4, (action, vector, learned, likely)  # 72 p-values in all


def test_columns_have_the_shapes_types_and_world_of_a_collected_log():
    for action, vector, learned in VIEWS:
        env, policy = make(action, vector, learned), stochastic(WORLD)
        log = envs.record(env, policy, 55, seed=0)
        like = envs.collect(WORLD, env.unwrapped.model, policy, 55, seed=0)
        for name in ("query", "ranking", "clicks", "log_propensity"):
            column, expected = getattr(log, name), getattr(like, name)
            where = (action, vector, name)
            assert (column.shape, column.dtype) == (expected.shape, expected.dtype), where
        assert log.fingerprint == WORLD.fingerprint
        assert log.weight is None


def test_propensities_are_those_of_the_policy():
    policy = stochastic(SHORT_WORLD)
    for action, vector, learned in VIEWS:
        log = envs.record(make(action, vector, learned, SHORT_WORLD), policy, 200, seed=2)
        expected = policy.log_prob(log.query, log.ranking)
        np.testing.assert_array_equal(log.log_propensity, expected)
        assert np.isfinite(expected).all()


def test_a_deterministic_policy_is_recorded_exactly():
    policy = policies.top_down(clickmodels.true_user("DBN", SHORT_WORLD), SHORT_WORLD, SLOTS)
    for action, vector in itertools.product(ACTIONS, (False, True)):
        log = envs.record(make(action, vector, world=SHORT_WORLD), policy, 200, seed=2)
        np.testing.assert_array_equal(log.ranking, policy.greedy(log.query), err_msg=action)
        assert (log.log_propensity == 0).all()


def test_scores_and_rankings_give_the_same_log():
    """Neither has ties, so the environment draws the same numbers for both."""
    logs = [envs.record(make(action), stochastic(WORLD), 200, 4) for action in ACTIONS]
    for log in logs[1:]:
        for name in ("query", "ranking", "clicks", "log_propensity"):
            np.testing.assert_array_equal(getattr(log, name), getattr(logs[0], name))


def test_the_same_seed_gives_the_same_log_and_another_another():
    for action, vector, learned in VIEWS:
        first, second, other = (
            envs.record(make(action, vector, learned), stochastic(WORLD), 100, seed)
            for seed in (3, 3, 4)
        )
        for name in ("query", "ranking", "clicks"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
            assert not np.array_equal(getattr(first, name), getattr(other, name))


def test_short_pages_are_not_recorded_more_often_because_they_end_first():
    """With more environments than pages, all that matters is which pages are waited for."""
    env = make("slots", True, world=SHORT_WORLD, num_envs=3000)
    log = envs.record(env, policies.Uniform(SHORT_WORLD, SLOTS), 2000, seed=0)
    counts = np.bincount(log.query, minlength=SHORT_WORLD.n_queries)
    assert stats.chisquare(counts, 2000 * SHORT_WORLD.query_probs).pvalue > 1e-3


# Whoever acts


def test_any_function_can_act():
    for action, vector, learned in VIEWS:
        env = make(action, vector, learned, SHORT_WORLD, invalid="repair")
        env.action_space.seed(0)
        log = envs.record(env, lambda observation, info, env=env: env.action_space.sample(), 90)
        assert len(log) == 90
        assert log.log_propensity is None
        lengths = np.minimum(SLOTS, SHORT_WORLD.n_candidates)[log.query]
        np.testing.assert_array_equal((log.ranking >= 0).sum(axis=1), lengths)


def test_the_wrapper_records_what_infos_said():
    for action in ACTIONS:
        env = envs.RecordClicks(make(action, world=SHORT_WORLD, invalid="repair"))
        env.action_space.seed(0)
        shown = []
        env.reset(seed=0)
        for _ in range(60):
            *_, done, _, info = env.step(env.action_space.sample())
            if done:
                shown.append((info["query"], info["ranking"].tolist(), info["clicks"].tolist()))
                env.reset()
        log = env.recorder.log()
        rows = zip(log.query.tolist(), log.ranking.tolist(), log.clicks.tolist(), strict=True)
        assert list(rows) == shown


def test_the_last_page_is_recorded_before_the_next_reset():
    env = envs.RecordClicks(make())
    env.reset(seed=0)
    env.step(env.action_space.sample())
    assert len(env.recorder.log()) == 1


def test_the_vector_wrapper_records_every_page_until_the_first_that_is_open():
    for action in ACTIONS:
        inner = make(action, True, world=SHORT_WORLD, num_envs=7, invalid="repair")
        env = envs.RecordVectorClicks(inner)
        env.action_space.seed(0)
        env.reset(seed=0)
        shown = []
        for _ in range(30):
            *_, info = env.step(env.action_space.sample())
            final = info.get("final_info", {})
            for row in np.flatnonzero(info.get("_final_info", [])):
                shown.append((final["query"][row], final["ranking"][row].tolist()))
        log = env.recorder.log()
        rows = list(zip(log.query.tolist(), log.ranking.tolist(), strict=True))
        assert len(shown) - 7 * SLOTS < len(rows) <= len(shown)
        assert all(rows.count(row) <= shown.count(row) for row in rows)
        if action != "slots":
            assert rows == shown


def test_a_page_that_reset_cuts_off_is_left_out():
    env = envs.RecordClicks(make("slots"))
    env.reset(seed=0, options={"query": 0})
    env.step(0)
    env.reset(options={"query": 1})
    for document in range(SLOTS):
        env.step(document)
    assert env.recorder.log().query.tolist() == [1]


def test_a_recorded_log_is_fitted_like_any_other(tmp_path):
    log = envs.record(make("ranking", True), policies.Uniform(WORLD, SLOTS), 500)
    log.save(tmp_path / "log.parquet")
    model = clickmodels.fit("PBM", ClickLog.load(tmp_path / "log.parquet"), WORLD)
    assert model.relevance().shape == WORLD.candidates.shape


# Bad input


def test_bad_input_is_named():
    uniform = policies.Uniform(WORLD, SLOTS)
    for env, act, pages, text in (
        (make(), uniform, 0, r"^pages\b"),
        (make(), policies.Uniform(WORLD, SLOTS - 1), 5, "policy shows 4 slots, the environment 5"),
        (make(), policies.Uniform(SHORT_WORLD, SLOTS), 5, "belongs to another world"),
        (gym.make("CartPole-v1"), uniform, 5, "environments of clickgym are recorded, not Cart"),
    ):
        with pytest.raises(ValueError, match=text):
            envs.record(env, act, pages)


def test_a_log_of_nothing_is_an_error():
    env = envs.RecordClicks(make("slots"))
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(ValueError, match="no page has ended"):
        env.recorder.log()
