"""Regressions of rewards: the lasso by products against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over
from sklearn.linear_model import Lasso

from clickgym.evaluation.offpolicy.regressions import Products, RewardLasso, RewardTree

RNG = np.random.default_rng(0)
PAGES = RNG.normal(size=(200, 12)) + 3.0
REWARDS = np.stack([PAGES[:, 0] - PAGES[:, 3], PAGES[:, 1]], axis=1)
REWARDS += RNG.normal(0.0, 0.1, REWARDS.shape)
WEIGHT = RNG.integers(1, 5, len(PAGES)).astype(float)
ONES = np.ones(len(PAGES))


@loop_over("weight", [ONES, WEIGHT])
@loop_over("intercept", [True, False])
@loop_over("which", [0, 1])
def test_products_give_the_lasso_of_scikit_learn(weight, intercept, which):
    products = Products.from_rows(PAGES, REWARDS, weight)
    products = products if intercept else products.around_zero()
    found = None
    for penalty in (0.3, 0.05):
        found = products.lasso(which, penalty, found)
        expected = Lasso(alpha=penalty, fit_intercept=intercept, tol=1e-9)
        expected.fit(PAGES, REWARDS[:, which], weight)
        np.testing.assert_allclose(found, expected.coef_, atol=0.02)
        predicted = products.predictions(PAGES, found, which)
        np.testing.assert_allclose(predicted, expected.predict(PAGES), atol=0.05)


def test_products_of_two_parts_are_those_of_the_whole():
    both = Products.from_rows(PAGES[:50], REWARDS[:50], WEIGHT[:50])
    both = both + Products.from_rows(PAGES[50:], REWARDS[50:], WEIGHT[50:])
    whole = Products.from_rows(PAGES, REWARDS, WEIGHT)
    for name in ("n", "centre", "level", "gram", "moments", "squares"):
        np.testing.assert_allclose(getattr(both, name), getattr(whole, name), rtol=1e-9)


def test_weights_are_repeated_rows():
    rows = np.repeat(np.arange(len(PAGES)), WEIGHT.astype(int))
    weighted = Products.from_rows(PAGES, REWARDS, WEIGHT)
    repeated = Products.from_rows(PAGES[rows], REWARDS[rows], np.ones(len(rows)))
    np.testing.assert_allclose(weighted.gram, repeated.gram)
    np.testing.assert_allclose(weighted.moments, repeated.moments)


def test_the_lasso_chooses_the_penalty_that_predicts_best():
    noise = RNG.normal(size=(len(PAGES), 1))
    strong, weak = RewardLasso(), RewardLasso()
    strong.fit(PAGES, noise)
    weak.fit(PAGES, REWARDS[:, :1])
    np.testing.assert_allclose(weak.predict(PAGES)[:, 0], REWARDS[:, 0], atol=0.6)
    assert np.abs(strong.coefficients[0]).max() < 0.2
    given = RewardLasso([10.0, 0.001]).fit(PAGES, REWARDS)
    assert given.chosen == [0.001, 0.001]


def test_weak_penalties_are_not_tried_after_stronger_ones_were_better(monkeypatch):
    tried = []
    lasso = Products.lasso

    def counted(self, which, penalty, start=None):
        tried.append(penalty)
        return lasso(self, which, penalty, start)

    monkeypatch.setattr(Products, "lasso", counted)
    penalties = [10.0, 0.05, 1e-3, 1e-4, 1e-5]
    rng = np.random.default_rng(5)
    pages = rng.normal(size=(60, 40))  # more noise than rows to fit: weak penalties overfit
    RewardLasso(penalties).fit(pages, pages[:, :1] + rng.normal(0.0, 0.5, (60, 1)))
    assert tried == [10.0, 0.05, 1e-3, 1e-4, 0.05]


@loop_over("make", [RewardTree, RewardLasso])
def test_rewards_are_fitted_one_by_one(make):
    both = make().fit(PAGES, REWARDS).predict(PAGES)
    for which in (0, 1):
        alone = make().fit(PAGES, REWARDS[:, which : which + 1]).predict(PAGES)
        np.testing.assert_allclose(both[:, which], alone[:, 0], atol=1e-9)


@loop_over("penalties", [0, [], [0.1, -1.0]])
def test_penalties_must_be_above_zero(penalties):
    with pytest.raises(ValueError, match="penalties"):
        RewardLasso(penalties)
