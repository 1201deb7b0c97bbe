"""Off-policy estimators that ask a reward model: direct methods and doubly robust ones."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
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
    Q,
    any_reward,
    pages_of,
    value_of,
)

from clickgym import data, evaluation
from clickgym.evaluation import estimate
from clickgym.evaluation.offpolicy.direct_method import regression, slate_features

# Features that say which document of which query it is, so that a linear model can be right.
ONE_HOT = np.eye(Q * N).reshape(Q, N, Q * N)


# Direct methods


@loop_over("target", [RANKER, SOFT])
def test_the_true_user_as_a_model_has_the_value_of_the_logs_queries(target):
    got = estimate("dm-model", LOG, CLICKS, None, target, WORLD, model=USER, samples=2000)
    share = np.bincount(LOG.query, minlength=Q) / len(LOG)
    expected = 0.0
    for query in range(Q):
        pages, chance = pages_of(target, query)
        expected += share[query] * (chance @ USER.expected_clicks([query] * len(pages), pages))
    assert got == pytest.approx(expected, abs=1e-9 if target is RANKER else 0.02)
    assert ("sampled" in got.method) == (target is SOFT)


def test_a_model_predicts_satisfaction_or_a_function_of_ones_own():
    satisfied = evaluation.slate_rewards("satisfied", LOG)
    got = estimate("dm-model", LOG, satisfied, None, RANKER, model=USER, reward="satisfied")
    share = np.bincount(LOG.query, minlength=Q) / len(LOG)
    miss = 1.0 - USER.click_probs(range(Q), RANKER.rankings)
    assert got == pytest.approx(share @ (1.0 - miss.prod(axis=1)), abs=1e-9)
    own = estimate("dm-model", LOG, CLICKS, None, RANKER, model=USER, reward=any_reward)
    assert own == pytest.approx(share @ any_reward(np.arange(Q), RANKER.rankings), abs=1e-9)


@loop_over("name", ["dm-tree", "dm-lasso"])
def test_regressions_with_features_of_every_document_find_a_sum_over_slots(name):
    rewards = USER.expected_clicks(LOG.query, LOG.ranking)
    settings = {"min_samples_leaf": 1} if name == "dm-tree" else {"penalties": [1e-4, 1e-3]}
    got = estimate(
        name, LOG, rewards, UNIFORM, RANKER, WORLD, features=ONE_HOT, settings=settings
    )
    share = np.bincount(LOG.query, minlength=Q) / len(LOG)
    expected = share @ USER.expected_clicks(range(Q), RANKER.rankings)
    assert got == pytest.approx(expected, abs=0.03)


@loop_over("name", ["dr-ips", "dr-pi"])
@loop_over("direct", ["tree", "lasso", LinearRegression(), USER])
def test_doubly_robust_estimates_are_near_the_value(name, direct):
    expected = value_of(RANKER, lambda query, pages: USER.expected_clicks(query, pages))
    got = estimate(name, LOG, CLICKS, UNIFORM, RANKER, WORLD, direct=direct)
    assert abs(got - expected) < 4 * got.stderr


@loop_over("name", ["dr-ips", "dr-pi"])
def test_predictions_of_the_log_may_be_given(name):
    known = USER.expected_clicks(LOG.query, LOG.ranking)
    asked, given = (
        estimate(name, LOG, CLICKS, UNIFORM, SOFT, WORLD, direct=USER, **options)
        for options in ({}, {"predictions": known})
    )
    assert (asked.value, asked.stderr) == (given.value, given.stderr)
    other = estimate(name, LOG, CLICKS, UNIFORM, SOFT, direct=USER, predictions=known + 1.0)
    assert other.value != asked.value


@loop_over(("name", "plain"), [("dr-ips", "ips"), ("dr-pi", "pi")])
def test_a_good_model_makes_estimates_surer(name, plain):
    robust = estimate(name, LOG, CLICKS, UNIFORM, RANKER, WORLD, direct=USER)
    assert robust.stderr < estimate(plain, LOG, CLICKS, UNIFORM, RANKER).stderr


def test_a_constant_model_leaves_weights_to_do_the_work():
    """With predictions of 0, doubly robust IPS is IPS."""
    zero = {"direct": USER, "reward": lambda query, ranking: np.zeros(len(query))}
    got = estimate("dr-ips", LOG, CLICKS, UNIFORM, RANKER, WORLD, **zero)
    assert got == pytest.approx(estimate("ips", LOG, CLICKS, UNIFORM, RANKER), rel=1e-12)


# Doubly robust estimates, by hand


def by_hand(kind, weights, target_pages):
    """Terms r(π) + w (r - r(s)) of every row, each predicted by a fit to the other half."""
    features, half = WORLD.standardised_features, ROWS // 2
    rows = np.arange(ROWS)
    terms = np.empty(ROWS)
    for seen, asked in ((rows[:half], rows[half:]), (rows[half:], rows[:half])):
        pages = slate_features(LOG.query[seen], LOG.ranking[seen], features)
        fitted = regression(kind).fit(pages, CLICKS[seen, None])
        query = LOG.query[asked]
        expected, found = (
            fitted.predict(slate_features(query, shown, features))[:, 0]
            for shown in (target_pages[query], LOG.ranking[asked])
        )
        terms[asked] = expected + weights[asked] * (CLICKS[asked] - found)
    return terms


def weights_of(name):
    if name == "dr-ips":
        return evaluation.importance_weights(LOG, RANKER)
    tables = evaluation.PseudoinverseWeights(UNIFORM, RANKER, range(Q))
    return tables.of(LOG.query, LOG.ranking)


@loop_over("name", ["dr-ips", "dr-pi"])
@loop_over("direct", ["tree", "lasso"])
@loop_over("clip", [None, 2.0])
def test_doubly_robust_regressions_predict_the_half_that_they_did_not_see(name, direct, clip):
    weights = weights_of(name)
    if clip is not None:
        assert np.abs(weights).max() > clip
        weights = np.clip(weights, -clip, clip)
    terms = by_hand(direct, weights, RANKER.rankings)
    got = estimate(name, LOG, CLICKS, UNIFORM, RANKER, WORLD, direct=direct, clip=clip)
    assert got == pytest.approx(terms.mean(), abs=1e-6)
    assert got.stderr == pytest.approx(terms.std(ddof=1) / np.sqrt(ROWS), rel=1e-5)


def test_drawing_the_targets_pages_shows_in_the_error():
    """Of a log with one query, a model's estimate varies by the drawn pages alone."""
    log = LOG[LOG.query == 0]
    clicks = evaluation.slate_rewards("clicks", log)
    options = {"model": USER, "samples": 50}
    got = [
        estimate("dm-model", log, clicks, None, SOFT, WORLD, seed=seed, **options)
        for seed in range(200)
    ]
    stderr = np.mean([one.stderr for one in got])
    assert 0.8 < np.std([one.value for one in got]) / stderr < 1.25


# What is refused

REFUSED = {
    "features of a click model": ({"direct": USER, "features": ONE_HOT}, "features and settings"),
    "settings of a click model": ({"direct": USER, "settings": {"a": 1}}, "features and settings"),
    "reward of a regression": ({"reward": "satisfied"}, "direct is a regression"),
    "no regression": ({"direct": 5}, "or have fit and predict; 5 has not"),
    "too few samples": ({"samples": 1}, "samples must be at least 2"),
    "negative seed": ({"seed": -1}, "seed must be at least 0"),
}


@loop_over(("options", "message"), REFUSED.values())
def test_options_that_would_be_ignored_or_fail_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        estimate("dr-ips", LOG, CLICKS, UNIFORM, RANKER, WORLD, **options)


def test_a_regression_that_cannot_weight_rows_is_refused_for_a_log_that_does():
    log = data.ClickLog(
        LOG.query, LOG.ranking, LOG.clicks, LOG.log_propensity, np.full(ROWS, 0.5)
    )
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample_weight"):
        estimate("dr-ips", log, CLICKS, None, RANKER, WORLD, direct=KNeighborsRegressor())


def test_regressions_need_features():
    world = data.World(WORLD.relevance, None, WORLD.query_probs)
    log = data.ClickLog(LOG.query, LOG.ranking, LOG.clicks, LOG.log_propensity)
    with pytest.raises(ValueError, match="need a world with features, or features="):
        estimate("dm-tree", log, CLICKS, None, RANKER, world)
