"""Estimates from logs whose propensities nobody kept."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import warnings

import estimated_logging
import numpy as np
import pytest

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.evaluation.offpolicy.importance import say_estimated
from clickgym.evaluation.offpolicy.inputs import check_inputs
from clickgym.evaluation.offpolicy.slate_estimates import RowWeights
from clickgym.policies import UncertainPropensities

BOTH = ("ips", "pi")
# Seeds 0 to 9 chose how log-weights are estimated and when to warn; 10 to 19 were looked at before.
FRESH = range(20, 30)


def compare(logging, candidates, seeds, estimators, **smaller):
    return [
        row
        for seed in seeds
        for row in estimated_logging.compare(logging, candidates, seed, estimators, **smaller)
    ]


def seeds_within(rows):
    """The seeds in which all estimates of near targets are within two standard errors.

    Those of the estimate by true propensities, see ``Compared.errors``.
    """
    near = [row for row in rows if row.target not in estimated_logging.FAR]
    return {row.seed for row in near} - {row.seed for row in near if row.errors > 2}


def assert_off_is_uncertain(rows):
    """Where estimates are further apart, a warning speaks of estimated propensities."""
    for row in rows:
        assert row.errors <= 2 or row.uncertain, row


def test_uniform_propensities_are_found_exactly_and_without_warnings():
    for row in compare("random", 10, range(2), BOTH, queries=30):
        assert row.estimated.value == pytest.approx(row.known.value, rel=1e-9), row
        assert not row.warned, row


@pytest.fixture(scope="module")
def few_rows():
    return compare("epsilon-oracle", 10, range(2), BOTH, queries=30)


def test_epsilon_oracle_estimates_are_near_those_with_true_propensities(few_rows):
    assert seeds_within(few_rows) == {0, 1}
    assert_off_is_uncertain(few_rows)


def test_far_targets_of_epsilon_oracle_logs_are_always_uncertain(few_rows):
    far = [row for row in few_rows if row.target in estimated_logging.FAR]
    assert len(far) == 8
    for row in far:
        assert row.uncertain, row


@pytest.mark.slow
def test_uniform_propensities_in_ten_seeds():
    for candidates in (10, 30):
        for row in compare("random", candidates, FRESH, BOTH):
            assert row.errors <= 2, row
            assert not row.warned, row


@pytest.mark.slow
def test_epsilon_oracle_in_ten_seeds():
    for candidates, estimators in ((10, BOTH), (30, ("ips",))):
        rows = compare("epsilon-oracle", candidates, FRESH, estimators)
        assert_off_is_uncertain(rows)
        assert len(seeds_within(rows)) >= 8, candidates
        within = collections.Counter(
            (row.estimator, row.target) for row in rows if row.errors <= 2
        )
        for asked in itertools.product(estimators, {row.target for row in rows}):
            assert within[asked] >= 8, (candidates, asked, within)


@pytest.mark.slow
def test_pi_of_thirty_candidates_whose_marginals_are_sampled():
    rows = compare("epsilon-oracle", 30, FRESH[:1], ("pi",), only=estimated_logging.LONG)
    assert {row.target for row in rows} == set(estimated_logging.LONG)
    for row in rows:
        assert row.errors <= 2, row


def make_log(n=4000, temperature=1.0):
    """A log without propensities of a Plackett-Luce policy, its world and that policy."""
    rng = np.random.default_rng(0)
    world = data.World(rng.integers(0, 5, (5, 6)), rng.normal(size=(5, 6, 3)).astype(np.float32))
    policy = policies.PlackettLuce(rng.random((5, 6)) + 0.1, temperature, 3)
    log = envs.collect(world, clickmodels.true_user("DBN", world), policy, n, 0)
    return dataclasses.replace(log, log_propensity=None), world, policy


@pytest.mark.parametrize("name", ["ips", "wips", "pi", "wpi", "dr-ips", "dr-pi"])
def test_every_estimator_by_propensities_runs_and_says_that_they_are_estimated(name):
    log, world, policy = make_log()
    estimated = policies.estimate_logging(log, world)
    rewards = evaluation.slate_rewards("clicks", log)
    target = policies.PlackettLuce(policy.weights, 1.5, 3)
    found = evaluation.estimate(name, log, rewards, estimated, target, world)
    known = evaluation.estimate(name, log, rewards, policy, target, world)
    assert abs(found - known) <= 2 * known.stderr
    assert found.estimated_propensities
    assert "estimated propensities (plackett-luce)" in repr(found)
    assert not known.estimated_propensities
    assert "propensities" not in repr(known)


def test_estimates_that_divide_by_the_logs_own_propensities_do_not_say_so():
    log, world, policy = make_log()
    estimated = policies.estimate_logging(log, world)
    known = dataclasses.replace(log, log_propensity=policy.log_prob(log.query, log.ranking))
    rewards = evaluation.slate_rewards("clicks", log)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluation.estimate("ips", known, rewards, estimated, policy, world)
        slots = evaluation.estimate("pi", known, rewards, estimated, policy, world)
    assert not found.estimated_propensities
    assert slots.estimated_propensities


def test_a_remembered_or_mixed_estimate_still_counts_as_one():
    log, world, policy = make_log()
    estimated = policies.estimate_logging(log, world)
    mixed = policies.Mixture([estimated, policies.Uniform(world, 3)], [0.5, 0.5])
    assert policies.Remembering(estimated).estimated == "plackett-luce"
    assert mixed.estimated == "plackett-luce"
    assert not policies.Remembering(policy).estimated


def test_weights_whose_mean_is_not_one_are_warned_about():
    log, world, policy = make_log(temperature=0.1)
    estimated = policies.estimate_logging(log, world)
    rewards = evaluation.slate_rewards("clicks", log)
    against = policies.PlackettLuce(1.0 / policy.weights, 0.1, 3)
    for name in BOTH:
        with pytest.warns(UncertainPropensities, match="have a mean of"):
            evaluation.estimate(name, log, rewards, estimated, against, world)


def test_weights_of_a_few_pages_are_warned_about_even_if_their_mean_is_one():
    log, world, policy = make_log()
    estimated = policies.estimate_logging(log, world)
    inputs = check_inputs(log, evaluation.slate_rewards("clicks", log), estimated, policy, world)
    alike = RowWeights(np.ones(len(log)), "IPS")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        say_estimated(alike, inputs)
    few = np.zeros(len(log))
    few[:10] = len(log) / 10
    with pytest.warns(UncertainPropensities, match="too few pages count"):
        say_estimated(RowWeights(few, "IPS"), inputs)
