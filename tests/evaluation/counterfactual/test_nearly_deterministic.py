"""Disagreement on logs of a policy that hardly ever varies its pages."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from clickgym import policies
from clickgym.data import ClickLog
from clickgym.evaluation import (
    FewAccepted,
    counterfactual_disagreement,
    counterfactual_pairs,
    page_disagreement,
)

QUERIES = 20
SCORES = np.where((np.arange(QUERIES) < 15)[:, None], [[2.0, 1.0]], [[1.0, 2.0]])


def sure_policy(rest):
    """Two equal products for each query; the second comes first with probability ``rest``."""
    return policies.PlackettLuce(np.tile([1.0, rest], (QUERIES, 1)), slots=2)


def one_click_log(policy, seed, n=2000):
    """At most one click on a page, which depends on the rank alone: the metric is 1/2."""
    rng = np.random.default_rng(seed)
    query = rng.integers(0, QUERIES, n)
    chance = rng.random(n)
    clicks = np.stack([chance < 0.3, (chance >= 0.3) & (chance < 0.4)], axis=1)
    return ClickLog(query, policy.sample(query, rng), clicks)


@pytest.mark.filterwarnings("ignore::clickgym.evaluation.FewAccepted")
@pytest.mark.parametrize("rest", [0.03, 0.01, 0.005, 0.003, 0.002, 1e-3, 1e-4])
def test_intervals_cover_however_few_samples_are_accepted(rest):
    policy = sure_policy(rest)
    found = [
        counterfactual_disagreement(one_click_log(policy, seed), SCORES, policy)
        for seed in range(120)
    ]
    covered = np.mean([one.low <= 0.5 <= one.high for one in found])
    assert covered > 0.9
    if rest >= 0.005:  # some eight samples or more: the intervals say something
        assert covered < 1.0
        assert np.median([one.high - one.low for one in found]) < 0.75


def test_no_more_pages_count_than_samples_are_accepted():
    policy = sure_policy(0.01)
    log = one_click_log(policy, 0)
    got = counterfactual_disagreement(log, SCORES, policy)
    accepted = log.clicks.sum() * (1.0 - got.rejected)
    assert accepted < 30
    assert got.effective_pages == pytest.approx(accepted)


def test_below_two_accepted_samples_nothing_is_known():
    policy = sure_policy(1e-4)
    rows = one_click_log(policy, 0)
    with pytest.warns(FewAccepted, match=r"of 8\d\d samples only 0\.\d+ are accepted on average"):
        got = counterfactual_disagreement(rows, SCORES, policy)
    assert (got.low, got.high) == (-np.inf, np.inf)
    assert got.effective_pages < 2


def test_a_mass_far_below_one_is_no_certainty():
    policy = policies.PlackettLuce([[1.0, 1e-200, 1e-300]], slots=3)
    log = ClickLog([0], [[0, 1, 2]], [[True, False, False]])
    with pytest.warns(FewAccepted, match="of 1 samples only 1e-200 are accepted"):
        got = counterfactual_disagreement(log, [[1.0, 1.0, 0.0]], policy)
    assert np.isinf(got.stderr)


def test_a_difference_of_two_functions_is_not_known_better():
    policy = sure_policy(1e-4)
    got = counterfactual_pairs(one_click_log(policy, 0), policy).difference(SCORES, -SCORES)
    assert (got.low, got.high) == (-np.inf, np.inf)


def test_whole_pages_warn_as_well():
    policy = sure_policy(1e-4)
    with pytest.warns(FewAccepted):
        got = page_disagreement(one_click_log(policy, 0), SCORES, policy)
    assert np.isinf(got.high)


def test_enough_accepted_samples_are_no_reason_to_warn():
    policy = sure_policy(0.03)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counterfactual_disagreement(one_click_log(policy, 0), SCORES, policy)
