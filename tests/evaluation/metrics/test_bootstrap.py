"""Bootstrap intervals over test pages."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_models, small_world
from judging import Fixed, RankOnly, random_log, repeated
from looping import loop_over
from scipy import stats

from clickgym import clickmodels, evaluation
from clickgym.data import ClickLog
from clickgym.evaluation import bootstrap, perplexity_difference, perplexity_interval
from clickgym.evaluation.metrics.bootstrap import resample_counts

MODELS = random_models()
FULL, SHORT = small_world(), small_world(short=True)
LOGS = [random_log(world, MODELS["UBM"], n=1500) for world in (FULL, SHORT)]


def mean_perplexity(model):
    return lambda part: evaluation.perplexity(model, part).mean


@loop_over("log", LOGS)
def test_is_around_the_perplexity(log):
    found = perplexity_interval(MODELS["UBM"], log)
    assert found.mean == pytest.approx(evaluation.perplexity(MODELS["UBM"], log).mean, rel=1e-12)
    assert found.low < found.mean < found.high
    assert found.half_width == pytest.approx((found.high - found.low) / 2)
    assert found.n == len(log)


@loop_over("log", LOGS)
def test_equals_calling_the_model_on_every_resample(log):
    fast = perplexity_interval(MODELS["UBM"], log, resamples=30, seed=4)
    slow = bootstrap(mean_perplexity(MODELS["UBM"]), log, resamples=30, seed=4)
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


@loop_over("log", LOGS)
def test_clicks_unseen_can_be_judged_too(log):
    fast = perplexity_interval(MODELS["UBM"], log, conditional=False, resamples=30, seed=4)
    slow = bootstrap(
        lambda part: evaluation.perplexity(MODELS["UBM"], part, conditional=False).mean,
        log, resamples=30, seed=4,
    )  # fmt: skip
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


@loop_over("log", LOGS)
def test_bounds_are_near_scipys(log):
    def statistic(rows):
        return evaluation.perplexity(MODELS["UBM"], log[rows]).mean

    expected = stats.bootstrap(
        (np.arange(len(log)),), statistic, vectorized=False, n_resamples=600,
        method="percentile", rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    found = perplexity_interval(MODELS["UBM"], log, resamples=3000)
    assert found.low == pytest.approx(expected.low, abs=0.15 * found.half_width)
    assert found.high == pytest.approx(expected.high, abs=0.15 * found.half_width)


def test_a_weighted_log_has_the_interval_of_the_repeated_one():
    log = random_log(SHORT, MODELS["UBM"], n=1500, weighted=True)
    weighted = perplexity_interval(MODELS["UBM"], log, resamples=4000)
    plain = perplexity_interval(MODELS["UBM"], repeated(log), resamples=4000)
    assert weighted.mean == pytest.approx(plain.mean, rel=1e-12)
    assert weighted.half_width == pytest.approx(plain.half_width, rel=0.08)
    assert weighted.n == plain.n


@loop_over("log", LOGS)
def test_a_compressed_log_has_the_same_interval(log):
    whole = perplexity_interval(MODELS["UBM"], log, resamples=4000)
    folded = perplexity_interval(MODELS["UBM"], log.compress(), resamples=4000)
    assert folded.half_width == pytest.approx(whole.half_width, rel=0.08)


def test_it_covers_the_truth():
    model, world = MODELS["PBM"], SHORT
    truth = evaluation.perplexity(model, random_log(world, model, n=200_000, seed=99)).mean
    covered = 0
    for seed in range(100):
        found = perplexity_interval(model, random_log(world, model, n=300, seed=seed), True, 200)
        covered += found.low <= truth <= found.high
    assert 86 <= covered <= 100


@loop_over("log", LOGS)
def test_the_seed_decides(log):
    first = perplexity_interval(MODELS["UBM"], log, resamples=50, seed=1)
    assert perplexity_interval(MODELS["UBM"], log, resamples=50, seed=1) == first
    assert perplexity_interval(MODELS["UBM"], log, resamples=50, seed=2) != first


@loop_over("log", LOGS)
def test_more_confidence_is_wider(log):
    narrow = perplexity_interval(MODELS["UBM"], log, confidence=0.5)
    wide = perplexity_interval(MODELS["UBM"], log, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_one_page_is_its_own_resample():
    log = ClickLog([0], [[0, 1]], [[1, 0]])
    found = perplexity_interval(Fixed(0.5), log)
    np.testing.assert_allclose(found, [2.0, 2.0, 2.0, 0.0, 1], atol=1e-12)


def test_a_rank_that_a_resample_misses_is_left_out_of_its_mean():
    log = ClickLog([0, 0], [[0, 1], [1, -1]], [[1, 0], [0, 0]])
    found = perplexity_interval(Fixed([0.5, 0.9]), log, resamples=200)
    assert found.low == pytest.approx(2.0)
    assert found.high == pytest.approx((2.0 + 10.0) / 2)


def test_an_impossible_page_is_infinite_in_the_resamples_that_have_it():
    clicks = np.zeros((10, 1), bool)
    clicks[0] = True
    log = ClickLog(np.zeros(10, int), np.zeros((10, 1), int), clicks)
    with pytest.warns(evaluation.ImpossibleOutcome, match="1 of the 10"):
        found = perplexity_interval(Fixed(0.0), log)
    assert found == (np.inf, 1.0, np.inf, np.inf, 10)


def test_resamples_have_as_many_impressions_as_the_log():
    log = random_log(FULL, MODELS["UBM"], weighted=True)
    for counts in resample_counts(log, 5, 0):
        assert counts.sum() == log.impressions
        assert (counts[log.weight == 0] == 0).all()


@loop_over("log", LOGS)
def test_any_statistic_can_be_resampled(log):
    def clicks(part):
        weight = np.ones(len(part)) if part.weight is None else part.weight
        return float(weight @ part.clicks.sum(axis=1) / part.impressions)

    found = bootstrap(clicks, log, resamples=1000)
    error = log.clicks.sum(axis=1).std(ddof=1) / np.sqrt(len(log))
    assert found.mean == clicks(log)
    assert found.half_width == pytest.approx(1.96 * error, rel=0.1)


@loop_over("log", LOGS)
def test_a_statistic_that_is_nan_is_an_error(log):
    with pytest.raises(ValueError, match="NaN"):
        bootstrap(lambda part: np.nan, log, resamples=2)


@loop_over("log", LOGS)
def test_resamples_must_be_more_than_one(log):
    with pytest.raises(ValueError, match="resamples"):
        perplexity_interval(MODELS["UBM"], log, resamples=1)


@loop_over("log", LOGS)
def test_needs_a_conditional_model(log):
    with pytest.raises(clickmodels.NotCapable):
        perplexity_interval(RankOnly(0.5), log)


def test_a_log_without_impressions_is_an_error():
    log = ClickLog([0], [[0]], [[0]], weight=[0.0])
    with pytest.raises(ValueError, match="no impressions"):
        perplexity_interval(Fixed(0.5), log)


@loop_over("log", LOGS)
def test_the_model_is_asked_once(log):
    asked = []

    class Watched(Fixed):
        def conditional_click_probs(self, query, ranking, clicks):
            asked.append(len(query))
            return super().conditional_click_probs(query, ranking, clicks)

    perplexity_interval(Watched(0.3), log)
    assert asked == [len(log)]


@loop_over("log", LOGS)
def test_a_difference_resamples_the_same_pages_for_both_models(log):
    model, other = MODELS["UBM"], MODELS["PBM"]
    fast = perplexity_difference(model, other, log, resamples=30, seed=4)
    slow = bootstrap(
        lambda part: mean_perplexity(model)(part) - mean_perplexity(other)(part),
        log, resamples=30, seed=4,
    )  # fmt: skip
    np.testing.assert_allclose(fast, slow, rtol=1e-9)


def test_a_difference_is_clear_where_intervals_overlap():
    log = random_log(FULL, MODELS["UBM"], n=400)
    probs = evaluation.metrics.perplexity.predictions(MODELS["UBM"], log)
    right = np.concatenate([part for _, part in probs])
    shifted = Fixed(np.clip(right + 0.01 * np.where(log.clicks, -1, 1), 0.01, 0.99))
    best, worse = perplexity_interval(MODELS["UBM"], log), perplexity_interval(shifted, log)
    assert worse.low < best.high
    assert perplexity_difference(shifted, MODELS["UBM"], log).low > 0


def test_a_model_does_not_differ_from_itself_even_where_it_is_infinite():
    log = random_log(FULL, MODELS["UBM"], n=50)
    impossible = Fixed(1.0 - log.clicks)
    with pytest.warns(evaluation.ImpossibleOutcome):
        assert perplexity_difference(impossible, impossible, log)[:3] == (0, 0, 0)
    with pytest.warns(evaluation.ImpossibleOutcome):
        assert perplexity_difference(impossible, MODELS["UBM"], log).low == np.inf


def test_differences_follow_the_seed():
    log = LOGS[0]
    first, same, other = (
        perplexity_difference(MODELS["UBM"], MODELS["PBM"], log, resamples=50, seed=seed)
        for seed in (0, 0, 1)
    )
    assert first == same
    assert first.low != other.low
