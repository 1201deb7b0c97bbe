"""Intervals of off-policy estimates where a log says little or nothing."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over
from scipy import stats
from slates import (
    CLICKS,
    LOG,
    RANKER,
    ROWS,
    SOFT,
    UNIFORM,
    USER,
    WORLD,
    N,
)

from clickgym import envs, evaluation
from clickgym.data import ClickLog
from clickgym.evaluation import estimate
from clickgym.evaluation.offpolicy.slate_estimates import ratio_estimate
from clickgym.policies import Ranker


@loop_over("name", ["ips", "wips"])
def test_all_weights_zero_is_no_nan(name):
    away = LOG[evaluation.importance_weights(LOG, RANKER, UNIFORM) == 0]
    got = estimate(name, away, np.ones(len(away)), UNIFORM, RANKER)
    assert (got.value, got.stderr, got.low, got.high) == (0.0, np.inf, -np.inf, np.inf)
    assert got.effective_sample_size == 0.0
    assert "nothing known" in got.method


def test_doubly_robust_without_weights_is_the_model_and_unsure():
    away = LOG[evaluation.importance_weights(LOG, RANKER, UNIFORM) == 0]
    rewards = evaluation.slate_rewards("clicks", away)
    got = estimate("dr-ips", away, rewards, UNIFORM, RANKER, direct=USER)
    assert got == pytest.approx(estimate("dm-model", away, rewards, None, RANKER, model=USER))
    assert (got.stderr, got.low, got.high) == (np.inf, -np.inf, np.inf)
    assert "nothing known" in got.method


def test_rows_of_weight_zero_do_not_make_a_ratio_nan():
    """An uncounted row whose weight is the sum of the counted ones divided by zero."""
    weights, rewards = np.array([2.0, 1.0, 1.0]), np.array([5.0, 0.0, 1.0])
    got = ratio_estimate(weights, rewards, np.array([0.0, 1.0, 1.0]), "")
    expected = ratio_estimate(weights[1:], rewards[1:], np.ones(2), "")
    assert (got.value, got.stderr, got.low) == (expected.value, expected.stderr, expected.low)


@loop_over("name", ["on-policy", "ips", "wips", "pi"])
def test_a_single_impression_has_an_infinite_interval(name):
    log = ClickLog([0], [[4, 0, 2]], np.zeros((1, 3), dtype=bool))
    got = estimate(name, log, [1.0], UNIFORM, RANKER)
    assert np.isfinite(got.value)
    assert (got.low, got.high) == (-np.inf, np.inf)


@loop_over("name", ["wips", "wpi"])
def test_the_ratios_intervals_are_students_by_their_effective_sample_size(name):
    """Normal quantiles would be too small where a few impressions have all the weight."""
    got = estimate(name, LOG[:300], CLICKS[:300], UNIFORM, RANKER)
    quantile = stats.t(got.effective_sample_size - 1.0).ppf(0.975)
    assert quantile > 2.0
    assert got.high - got.value == pytest.approx(quantile * got.stderr)


@loop_over("name", ["ips", "wips"])
def test_equal_rewards_of_the_few_pages_that_match_are_no_certainty(name):
    weights = evaluation.importance_weights(LOG, RANKER)
    level = 0.0 if name == "ips" else 1.0
    rewards = np.where(weights > 0, level, 1.0 - level)
    got = estimate(name, LOG, rewards, UNIFORM, RANKER)
    assert got == pytest.approx(level)
    chance = 1.0 - 0.05 ** (1.0 / got.effective_sample_size)
    assert 0.01 < chance < 0.2
    low, high = (level - chance, level) if level else (level, chance)
    assert (got.low, got.high) == (pytest.approx(low), pytest.approx(high))
    assert "no spread seen" in got.method
    certain = estimate(name, LOG, np.full(ROWS, level), UNIFORM, RANKER)
    assert certain.high - certain.low == pytest.approx(0.0, abs=1e-9)


@pytest.mark.filterwarnings("ignore::clickgym.evaluation.NoOverlap")
@loop_over("name", ["ips", "pi", "dm-lasso"])
def test_a_ranker_that_does_not_say_how_many_candidates_there_are(name):
    rankings = [[2, 1, 0], [3, 2, 0], [1, -1, -1]]
    one, other = (Ranker.from_rankings(rankings, number) for number in (None, N))
    assert one.shape[1] < N
    found, expected = (
        estimate(name, LOG, CLICKS, UNIFORM, ranker, WORLD) for ranker in (one, other)
    )
    assert found.value == pytest.approx(expected.value)


@loop_over("name", ["ips", "wips", "pi", "wpi"])
def test_the_mean_weight_shows_a_log_of_another_policy(name):
    own, other = (
        estimate(name, ClickLog(log.query, log.ranking, log.clicks),
                 evaluation.slate_rewards("clicks", log), UNIFORM, SOFT)
        for log in (LOG, envs.collect(WORLD, USER, SOFT, ROWS, seed=1))
    )  # fmt: skip
    assert own.mean_weight == pytest.approx(1.0, abs=0.2)
    assert abs(other.mean_weight - 1.0) > 0.5


def test_below_two_effective_impressions_nothing_is_known_of_the_spread():
    got = ratio_estimate(np.array([1.0, 0.002]), np.ones(2), np.ones(2), "")
    assert got.value == pytest.approx(1.0)
    assert (got.low, got.high) == (-np.inf, np.inf)


def test_rewards_above_one_widen_the_bound():
    plain, large = (estimate("pi", LOG, scale * CLICKS, UNIFORM, SOFT) for scale in (0.1, 10.0))
    assert CLICKS.max() * 0.1 < 1.0
    assert large.bound == pytest.approx(10.0 * CLICKS.max() * plain.bound)


def test_an_interval_is_cut_to_what_rewards_can_be_unless_nothing_is_known():
    def bounds(low, high):
        return evaluation.SlateEstimate(0.5, 1.0, low, high, "ips", 9).interval_within(0, 3)

    assert bounds(-0.5, 1.5) == (0, 1.5)
    assert bounds(0.5, 4.0) == (0.5, 3)
    assert bounds(-3.0, -1.0) == (-np.inf, np.inf)  # no such value can be
    assert bounds(-np.inf, np.inf) == (-np.inf, np.inf)
