"""A policy that should have made a log without propensities, but did not, is doubted."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from clickgym import clickmodels, data, envs, evaluation, policies

WORLD = data.synthetic_world(30, 8, seed=1)
USER = clickmodels.PBM(0.1 + 0.6 * WORLD.gain, [1.0, 0.5, 0.25, 0.1])
SCORES = np.random.default_rng(0).normal(size=(30, 8))


def plackett_luce(sharpness):
    return policies.PlackettLuce(np.exp(sharpness * SCORES), slots=4)


def make_log(policy, n=3_000, seed=0):
    log = envs.collect(WORLD, USER, policy, n, seed=seed)
    return replace(log, log_propensity=None)


LOG = make_log(plackett_luce(1.0))


def misfits(log, policy):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluation.counterfactual_disagreement(log, SCORES, policy)
    return [str(one.message) for one in caught if one.category is evaluation.WrongLogging]


def test_who_made_the_log_is_not_doubted():
    for seed in range(20):
        policy = plackett_luce(0.5 + seed / 5)
        assert not misfits(make_log(policy, 50 + 100 * seed, seed), policy)


def test_a_policy_that_is_much_too_sure_is_doubted_with_numbers():
    (text,) = misfits(LOG, plackett_luce(200.0))
    assert "the logging policy does not fit the log: its pages have log-probability -" in text
    assert "pages that the policy draws for the same queries -" in text


def test_a_wrong_temperature_is_doubted_either_way():
    for factor in (0.5, 2.0):
        assert misfits(LOG, plackett_luce(factor))


def test_every_metric_that_takes_a_policy_doubts_it():
    wrong = plackett_luce(20.0)
    with pytest.warns(evaluation.WrongLogging, match="does not fit"):
        evaluation.counterfactual_pairs(LOG, wrong, resample="page")
    with pytest.warns(evaluation.WrongLogging, match="does not fit"):
        evaluation.page_disagreement(LOG, SCORES, wrong)


def test_a_few_pages_that_cannot_be_are_counted():
    policy = plackett_luce(8.0)
    log = make_log(policy, 900)
    worst = np.argsort(SCORES, axis=1)[:, :4]
    ranking = log.ranking.copy()
    ranking[[5, 300]] = worst[log.query[[5, 300]]]
    (text,) = misfits(replace(log, ranking=ranking), policy)
    assert "2 of 900 pages are all but impossible" in text
    weight = np.ones(900)
    weight[[5, 300]] = 0.0  # such rows are not there
    assert not misfits(replace(log, ranking=ranking, weight=weight), policy)


def test_pages_that_were_kept_because_they_have_clicks_are_not_enough_for_a_doubt():
    clicked = LOG[np.flatnonzero(LOG.clicks.any(axis=1))]
    assert not misfits(clicked, plackett_luce(1.0))


def test_an_estimate_is_left_to_its_own_doubts():
    estimated = policies.estimate_logging(LOG, WORLD, "plackett-luce")
    assert not misfits(LOG, estimated)
