"""The paired difference of two scoring functions."""

from __future__ import annotations

import numpy as np
import pytest
from every_page import OnlySamples, small_log

from clickgym import policies
from clickgym.data import ClickLog
from clickgym.evaluation import counterfactual_pairs, naive_pairs
from clickgym.policies.given_set import conditional

LOG, POLICY, TABLE = small_log(n=2_000)
NOISY = TABLE + np.random.default_rng(0).normal(scale=0.3 * TABLE.std(), size=TABLE.shape)


def test_is_the_difference_of_both_disagreements():
    for pairs in (naive_pairs(LOG), counterfactual_pairs(LOG, POLICY)):
        got = pairs.difference(TABLE, -NOISY)
        expected = pairs.disagreement(TABLE) - pairs.disagreement(-NOISY)
        assert got.value == pytest.approx(expected, abs=1e-12)
        assert pairs.difference(-NOISY, TABLE) == pytest.approx(-got, abs=1e-12)
        assert got.n == len(LOG)
        assert got.method == f"{pairs.method}, difference"


def test_functions_that_are_alike_are_told_apart_by_less_than_their_own_errors():
    pairs = counterfactual_pairs(LOG, POLICY)
    alike = pairs.difference(TABLE, NOISY)
    assert 0 < alike.stderr < 0.8 * pairs.disagreement(TABLE).stderr
    opposed = pairs.difference(TABLE, -TABLE)  # 2 d - 1
    assert opposed.stderr == pytest.approx(2.0 * pairs.disagreement(TABLE).stderr)


def test_the_interval_covers():
    whole = small_log(n=40_000, seed=99)[0]
    truth = counterfactual_pairs(whole, POLICY).difference(TABLE, NOISY)
    covered = [
        one.low <= truth <= one.high
        for seed in range(100)
        for one in [counterfactual_pairs(small_log(n=500, seed=seed)[0], POLICY)
                    .difference(TABLE, NOISY)]
    ]  # fmt: skip
    assert 86 <= sum(covered) <= 100


def test_the_same_scores_differ_by_nothing_and_that_is_sure():
    got = counterfactual_pairs(LOG, POLICY).difference(TABLE, TABLE.copy())
    assert (got.value, got.low, got.high) == (0.0, 0.0, 0.0)


def test_where_no_page_tells_them_apart_the_interval_says_how_few_samples_that_are():
    log = ClickLog([0] * 30, [[0, 1]] * 30, [[True, False]] * 30)
    policy = policies.PlackettLuce([[2.0, 1.0, 0.1]], slots=2)
    pairs = counterfactual_pairs(log, policy)
    got = pairs.difference([[3.0, 2.0, 1.0]], [[3.0, 1.0, 2.0]])
    accepted = 30.0 * (1.0 - pairs.rejected)  # each page says only as much as it accepts
    assert 9.0 < accepted < 11.0
    chance = 1.0 - 0.05 ** (1.0 / accepted)
    assert (got.value, got.low, got.high) == pytest.approx((0.0, -chance, chance))


def test_the_error_includes_the_draws_of_a_policy_that_can_only_be_sampled(monkeypatch):
    monkeypatch.setattr(conditional, "SAMPLES", 500)
    exact = counterfactual_pairs(LOG, POLICY).difference(TABLE, NOISY)
    drawn = [
        counterfactual_pairs(LOG, OnlySamples(POLICY), seed=seed).difference(TABLE, NOISY)
        for seed in range(40)
    ]
    added = np.sqrt(np.mean([one.stderr**2 for one in drawn]) - exact.stderr**2)
    assert 0.6 < np.std(drawn, ddof=1) / added < 1.6
