"""The Beta prior of tables, learned from counts."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over
from scipy.optimize import minimize
from scipy.special import betaln, expit, logit

from clickgym.clickmodels.tablefit.prior import BetaPrior


def beta_binomial(one, zero, pairs=20_000, trials=20):
    rng = np.random.default_rng(0)
    n = rng.integers(1, trials + 1, size=pairs)
    return rng.binomial(n, rng.beta(one, zero, size=pairs)).astype(float), n.astype(float)


@loop_over(("one", "zero"), [(0.5, 2.0), (0.8, 4.0), (2.0, 2.0)])
def test_a_learned_prior_is_the_one_that_made_the_counts(one, zero):
    prior, counts = BetaPrior(), beta_binomial(one, zero)
    for _ in range(10):
        prior = prior.learn(*counts)
    assert (prior.successes, prior.failures) == pytest.approx((one, zero), rel=0.05)


def test_learning_makes_the_counts_more_likely_until_they_are_most_likely():
    clicks, trials = beta_binomial(0.8, 4.0, pairs=2000)

    def log_likelihood(point):
        one, zero = np.exp(point)
        return (betaln(clicks + one, trials - clicks + zero) - betaln(one, zero)).sum()

    priors = [BetaPrior().learn(clicks, trials, cycles) for cycles in range(12)]
    points = [np.log([prior.successes, prior.failures]) for prior in priors]
    values = [log_likelihood(point) for point in points]
    assert (np.diff(values) >= 0).all()
    assert (np.diff(values[:5]) > 0).all()
    best = minimize(lambda point: -log_likelihood(point), points[0]).x
    np.testing.assert_allclose(points[-1], best, atol=0.05)


@loop_over("start", [(0.5, 2.0), (2.0, 8.0), (30.0, 100.0)])
@loop_over("pairs", [150, 2000])
def test_learning_never_makes_the_counts_less_likely(start, pairs):
    """Also where pairs have one to three trials, so that the likelihood is nearly flat."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        trials = rng.integers(1, 4, size=pairs).astype(float)
        clicks = rng.binomial(trials.astype(int), rng.beta(0.3, 1.2, size=pairs)).astype(float)

        def likelihood(prior, clicks=clicks, trials=trials):
            one, zero = prior.successes, prior.failures
            return (betaln(clicks + one, trials - clicks + zero) - betaln(one, zero)).sum()

        before = BetaPrior(*start)
        assert likelihood(before.learn(clicks, trials)) >= likelihood(before) - 1e-9


@loop_over("counts", [(0.0, 5.0), (5.0, 5.0), (0.0, 0.0)])
def test_a_prior_learned_from_one_kind_of_outcome_is_proper(counts):
    clicks, trials = (np.full(10, value) for value in counts)
    assert 0.0 < BetaPrior().learn(clicks, trials).mean < 1.0


def test_the_most_likely_logit_under_the_prior_is_that_of_added_counts():
    prior, clicks, trials = BetaPrior(0.5, 2.0), 3.0, 4.0
    point = np.array([logit((clicks + 0.5) / (trials + 2.5))])
    by_data = clicks * (1 - expit(point)) - (trials - clicks) * expit(point)
    np.testing.assert_allclose(prior.gradient(expit(point)), by_data, atol=1e-12)
