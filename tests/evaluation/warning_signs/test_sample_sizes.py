"""Effective sample sizes, against those of the estimators' own weights."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import data, envs, evaluation, policies
from clickgym.clickmodels import PBM


@pytest.fixture
def setting():
    rng = np.random.default_rng(0)
    world = data.World(np.zeros((2, 4), np.int8), query_probs=[0.3, 0.7])
    logging = policies.PlackettLuce(rng.random((2, 4)) + 0.2, slots=2)
    target = policies.PlackettLuce(rng.random((2, 4)) + 0.2, slots=2)
    user = PBM(rng.random((2, 4)), np.array([1.0, 0.5]))
    return world, logging, target, envs.collect(world, user, logging, 2_000, 0)


def effective(weights):
    return weights.sum() ** 2 / (weights**2).sum()


def test_pages_are_those_of_ips(setting):
    world, logging, target, log = setting
    found = evaluation.sample_sizes(target, log, world, logging)
    rewards = evaluation.slate_rewards("clicks", log)
    ips = evaluation.estimate("ips", log, rewards, logging, target)
    assert found.page == pytest.approx(ips.effective_sample_size)
    assert found.no_page == ""


def test_slots_are_weighted_by_their_document(setting):
    world, logging, target, log = setting
    found = evaluation.sample_sizes(target, log, world, logging)
    shown, wanted = (
        np.stack([evaluation.slate_marginals(policy, query)[0] for query in range(2)])
        for policy in (logging, target)
    )
    for slot in range(2):
        places = log.query, slot, log.ranking[:, slot]
        assert found.by_slot[slot] == pytest.approx(effective(wanted[places] / shown[places]))
    assert found.slots == found.by_slot.min()
    assert found.covered == pytest.approx(1.0)
    assert found.propensities == "logging policy"


def test_without_a_logging_policy_the_shares_in_the_log_serve(setting):
    world, _, target, log = setting
    found = evaluation.sample_sizes(target, log, world)
    share = evaluation.count_pairs(log, world)
    of_query = share.impressions[log.query]
    counted = share.count_in_slot(log.query, log.ranking[:, 0], np.zeros(len(log), int))
    wanted = np.stack([evaluation.slate_marginals(target, query)[0] for query in range(2)])
    weights = wanted[log.query, 0, log.ranking[:, 0]] / (counted / of_query)
    assert found.by_slot[0] == pytest.approx(effective(weights))
    assert found.propensities == "shares in the log"


def test_a_compressed_log_is_worth_the_same(setting):
    world, logging, target, log = setting
    found = evaluation.sample_sizes(target, log, world, logging)
    folded = evaluation.sample_sizes(target, log.compress(), world, logging)
    assert folded.page == pytest.approx(found.page)
    assert folded.by_slot == pytest.approx(found.by_slot)


def test_the_logging_policy_is_worth_its_own_log(setting):
    world, logging, _, log = setting
    found = evaluation.sample_sizes(logging, log, world, logging)
    assert found.page == pytest.approx(2_000)
    assert found.by_slot == pytest.approx([2_000, 2_000])
    assert found.warning is None


def test_pseudoinverse_weights_are_taken_where_they_are_given(setting):
    world, logging, target, log = setting
    weights = evaluation.PseudoinverseWeights(logging, target, [0, 1])
    found = evaluation.sample_sizes(target, log, world, logging, weights)
    expected = effective(weights.of(log.query, log.ranking))
    assert found.pseudoinverse == pytest.approx(expected)
    with pytest.raises(ValueError, match="another target policy"):
        evaluation.sample_sizes(logging, log, world, logging, weights)


def test_it_says_why_pages_have_no_weights(setting):
    world, _, target, log = setting
    bare = data.ClickLog(log.query, log.ranking, log.clicks)
    found = evaluation.sample_sizes(target, bare, world)
    assert found.page is None
    assert "no log_propensity" in found.no_page


def test_it_speaks_below_a_hundred_and_of_what_was_never_there(setting):
    world, logging, _, log = setting
    ranker = policies.Ranker.from_rankings([[0, 1], [2, 3]], world=world)
    few = evaluation.sample_sizes(ranker, log[:300], world, logging)
    assert few.page < 100
    assert "fewer than 100" in few.warning
    fixed = policies.Ranker.from_rankings([[0, 1], [1, 0]], world=world)
    own = envs.collect(world, PBM(np.full((2, 4), 0.5), np.ones(2)), fixed, 500, 0)
    half = policies.Ranker.from_rankings([[0, 1], [0, 1]], world=world)
    found = evaluation.sample_sizes(half, own, world, fixed)
    assert found.covered == pytest.approx(0.3)
    assert found.by_slot == pytest.approx([(own.query == 0).sum()] * 2)
    assert "70% of what the policy shows was never logged in its slot" in found.warning


def test_a_log_of_another_policy_is_refused(setting):
    world, _, target, log = setting
    fixed = policies.Ranker.from_rankings([[0, 1], [1, 0]], world=world)
    with pytest.raises(ValueError, match="which the logging policy never does"):
        evaluation.sample_sizes(target, log, world, fixed)
    short = policies.PlackettLuce(np.ones((2, 4)), slots=3)
    with pytest.raises(ValueError, match="policy shows 3 slots, the log has 2"):
        evaluation.sample_sizes(short, log, world)
