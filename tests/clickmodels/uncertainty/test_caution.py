"""What a log says about a model, and policies that heed it."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.stats import norm

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.clickmodels.uncertainty.caution import assess, level_of


@functools.cache
def setting(user="DBN", ranker="LambdaMART", pages=20_000):
    world = data.synthetic_world(n_queries=40, n_docs=20, seed=3)
    true_user = clickmodels.true_user(user, world)
    logging = policies.logging_policy(ranker, world, seed=3)
    return world, true_user, logging, envs.collect(world, true_user, logging, pages, seed=3)


@functools.cache
def fitted(name, user="DBN", prior="exposure"):
    world, _, _, log = setting(user)
    return clickmodels.fit(name, log, world, prior=prior)


def test_a_right_model_is_trusted():
    numbers = fitted("DBN").posterior().numbers
    assert numbers["trust"] > 0.85
    assert numbers["misplaced"] < 0.01


def test_a_model_whose_better_pages_are_no_better_is_not():
    numbers = fitted("PBM").posterior().numbers
    assert numbers["slope"] < 0.6
    assert numbers["trust"] < 0.6


def test_a_model_with_clicks_at_wrong_ranks_makes_pessimistic():
    right, wrong = (fitted("DBN", user).posterior().numbers for user in ("DBN", "CoCM-mismatch"))
    assert wrong["misplaced"] > 0.03
    assert wrong["pessimism"] > 3 * right["pessimism"]


def test_a_log_of_one_page_a_query_leaves_trust_open():
    world, user, _, _ = setting()
    ranker = policies.Ranker(world.gain, world=world)
    log = envs.collect(world, user, ranker, 2_000, seed=0)
    assert clickmodels.fit("PBM", log, world).posterior().numbers["trust"] == pytest.approx(0.6)


def test_folded_logs_say_the_same():
    _, _, _, log = setting()
    whole, level = assess(fitted("DBN"), log[:3_000])
    folded, folded_level = assess(fitted("DBN"), log[:3_000].compress())
    assert folded == pytest.approx(whole)
    np.testing.assert_allclose(folded_level, level, rtol=1e-6)


def test_the_share_of_misplaced_clicks_by_hand():
    world = data.World(np.zeros((1, 2), dtype=int))
    model = clickmodels.PBM([[1.0, 1.0]], [0.5, 0.25])
    clicks = np.zeros((10_000, 2), dtype=bool)
    clicks[:2_500, 0] = clicks[:5_000, 1] = True
    log = data.ClickLog(np.zeros(10_000, dtype=int), np.tile([0, 1], (10_000, 1)), clicks)
    numbers, level = assess(model, log)
    assert numbers["misplaced"] == pytest.approx(0.25 / 0.75, abs=0.02)
    assert level == pytest.approx([0.75])
    assert world.n_queries == 1


def test_pessimism_is_a_quantile():
    assert level_of(1.0) == pytest.approx(norm.cdf(-1.0))


def test_a_search_with_pessimism_is_one_in_the_lower_model():
    world = setting()[0]
    model = fitted("UBM")
    found = policies.max_reward(model, world, pessimism=1.0)
    expected = policies.max_reward(model.lower(norm.cdf(-1.0)), world)
    np.testing.assert_array_equal(found.rankings, expected.rankings)
    assert found.found.promise == pytest.approx(expected.found.promise)
    assert found.found.pessimism == 1.0


def test_without_pessimism_nothing_changes():
    world = setting()[0]
    model = fitted("PBM")
    plain, zero = policies.max_reward(model, world), policies.max_reward(model, world, pessimism=0)
    np.testing.assert_array_equal(plain.rankings, zero.rankings)
    assert plain.found.promise == pytest.approx(evaluation.value(plain, model, world).value)


def test_more_pessimism_promises_less():
    world = setting()[0]
    promises = [
        policies.max_reward(fitted("PBM"), world, pessimism=amount).found.promise
        for amount in (0, 0.5, 1, 2)
    ]
    assert promises == sorted(promises, reverse=True)


@pytest.mark.parametrize("name", ["PBM", "DBN"])
def test_the_cured_promise_is_nearer_to_what_is_delivered(name):
    world, user, _, _ = setting()
    plain = policies.max_reward(fitted(name, prior="plain"), world)
    cured = policies.max_reward(fitted(name), world, pessimism="auto")
    gaps = [
        abs(policy.found.promise - evaluation.value(policy, user, world).value)
        for policy in (plain, cured)
    ]
    assert gaps[1] < 0.5 * gaps[0]


@pytest.mark.parametrize("pessimism", [-1, float("nan"), "much"])
def test_pessimism_that_is_none_is_refused(pessimism):
    with pytest.raises(ValueError, match="pessimism"):
        policies.max_reward(fitted("PBM"), setting()[0], pessimism=pessimism)


def test_a_model_without_a_log_cannot_be_pessimistic_by_itself():
    world, user, _, _ = setting()
    with pytest.raises(ValueError, match="does not know what its log says"):
        policies.max_reward(user, world, pessimism="auto")
