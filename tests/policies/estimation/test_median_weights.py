"""Log-weights in the middle of their posterior, against integrals over all of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import gammaincinv

from clickgym.data import ClickLog, World
from clickgym.policies import PlackettLuce
from clickgym.policies.estimation import median_weights
from clickgym.policies.estimation.median_weights import median_log_weights
from clickgym.policies.estimation.pages import LoggedPages
from clickgym.policies.estimation.plackett_luce_fit import fit_log_weights, page_log_probs

SPREAD = 6.0


def fold(pages, counts, candidates):
    """Pages of one query, each shown so often."""
    ranking = np.repeat(np.array(pages), counts, axis=0)
    log = ClickLog(np.zeros(len(ranking), int), ranking, np.zeros(ranking.shape, dtype=bool))
    return LoggedPages.from_log(log, World(np.zeros((1, candidates), dtype=int)))


def find_medians(pages):
    fitted = fit_log_weights(pages, SPREAD)
    return fitted[0], median_log_weights(pages, fitted, SPREAD)[0]


def median_of(values, density):
    mass = np.cumsum(density)
    return values[np.searchsorted(mass, mass[-1] / 2)]


def test_without_a_prior_rates_have_the_median_of_a_gamma_distribution():
    events = np.array([0.3, 1.0, 2.0, 10.0, 200.0, 5000.0])
    expected = np.log(events) - np.log(gammaincinv(events, 0.5))
    found = median_weights._median_shift(events, np.full(events.shape, 1e4))
    np.testing.assert_allclose(found, expected, rtol=0.01)


@pytest.mark.parametrize("times", [0, 1, 2, 5, 200])
def test_two_documents_and_one_slot(times):
    pages = fold([[0], [1]], [1000 - times, times], 2)
    gap = np.linspace(-1.0, 60.0, 20_001)
    height = -times * gap - 1000 * np.log1p(np.exp(-gap)) - gap**2 / (4 * SPREAD**2)
    expected = median_of(gap, np.exp(height - height.max()))
    found = find_medians(pages)[1]
    assert found[0] - found[1] == pytest.approx(expected, rel=0.02)


def test_three_documents_in_all_orders():
    orders = list(itertools.permutations(range(3)))
    for counts in ([400, 2, 1, 0, 0, 0], [380, 20, 0, 0, 0, 0], [200, 180, 1, 0, 0, 0]):
        pages = fold(orders, counts, 3)
        first, second = np.meshgrid(np.linspace(-2, 40, 421), np.linspace(-2, 40, 421))
        log_weights = np.stack([np.zeros(first.shape), -first, -first - second])
        log_weights -= log_weights.mean(axis=0)
        height = -0.5 * (log_weights**2).sum(axis=0) / SPREAD**2
        weights = np.exp(log_weights)
        for (a, b, c), count in zip(orders, counts, strict=True):
            rest = weights[b] + weights[c]
            chance = weights[a] / (weights[a] + rest) * weights[b] / rest
            height += count * np.log(np.maximum(chance, 1e-300))
        density = np.exp(height - height.max())
        found = find_medians(pages)[1]
        gaps = found[:-1] - found[1:]
        assert gaps[0] == pytest.approx(median_of(first[0], density.sum(axis=0)), abs=0.4), counts
        assert gaps[1] == pytest.approx(median_of(second[:, 0], density.sum(axis=1)), abs=0.4)


def test_documents_that_are_often_shown_keep_their_most_probable_weights():
    rng = np.random.default_rng(0)
    policy = PlackettLuce(np.array([[1.0, 0.8, 0.5, 0.4, 0.2]]), slots=3)
    ranking = policy.sample(np.zeros(20_000, int), rng)
    log = ClickLog(np.zeros(20_000, int), ranking, np.zeros(ranking.shape, dtype=bool))
    pages = LoggedPages.from_log(log, World(np.zeros((1, 5), dtype=int)))
    fitted, found = find_medians(pages)
    np.testing.assert_allclose(found - found[0], fitted - fitted[0], atol=0.001)


def test_documents_that_were_never_shown_stay_alike():
    pages = fold([[0, 1], [1, 0]], [700, 300], 6)
    fitted, found = find_medians(pages)
    assert np.ptp(found[2:]) == pytest.approx(0.0, abs=1e-3)
    assert found[2] - found[0] < fitted[2] - fitted[0] - 1.0


def test_weights_of_a_more_random_target_are_nearer_to_a_mean_of_one():
    rng = np.random.default_rng(1)
    n_queries, n = 300, 90_000
    scores = np.sort(rng.normal(0.0, SPREAD, (n_queries, 4)), axis=1)
    policy = PlackettLuce(np.exp(scores), slots=4)
    query = rng.integers(0, n_queries, n)
    ranking = policy.sample(query, rng)
    log = ClickLog(query, ranking, np.zeros(ranking.shape, dtype=bool))
    pages = LoggedPages.from_log(log, World(np.zeros((n_queries, 4), dtype=int)))
    fitted = fit_log_weights(pages, SPREAD)
    asked = page_log_probs(pages, scores / 1.5)
    off = [
        abs(pages.counts @ np.exp(asked - page_log_probs(pages, found)) / n - 1.0)
        for found in (fitted, median_log_weights(pages, fitted, SPREAD))
    ]
    assert off[1] < 0.6 * off[0]


def test_queries_with_fewer_candidates_than_slots():
    world = World(np.array([[0, 0, 0], [0, 0, -1], [0, -1, -1]]))
    ranking = np.array([[0, 1, 2]] * 20 + [[1, 0, -1]] * 20 + [[0, -1, -1]] * 5)
    log = ClickLog(np.repeat([0, 1, 2], [20, 20, 5]), ranking, np.zeros(ranking.shape, dtype=bool))
    pages = LoggedPages.from_log(log, world)
    found = median_log_weights(pages, fit_log_weights(pages, SPREAD), SPREAD)
    assert (np.isfinite(found) == world.candidates).all()
    assert found[0, 0] > found[0, 1] > found[0, 2]
    assert found[1, 1] > found[1, 0]
