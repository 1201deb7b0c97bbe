"""Orders drawn given which documents are displayed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chi2, chisquare

from clickgym.policies import PlackettLuce, rank_marginals

DRAWS = 40_000


def draw(policy, shown, n=DRAWS, seed=0):
    rows = np.tile(shown, (n, 1))
    return policy.sample_given_set(np.zeros(n, dtype=int), rows, np.random.default_rng(seed))


def rank_counts(ranking, shown):
    """How often shown[i] stands at rank r, (k, k)."""
    return np.array([(ranking == document).sum(axis=0) for document in shown])


def rest_weights(k):
    """Weights of k + 20 candidates: mild, steep with heavy others, with light others, with none."""
    weights = 20.0 ** np.random.default_rng(k).random(k + 20)
    for scale in (1.0, 100.0, 1e-6, 0.0):
        yield np.append(weights[:k], weights[k:] * scale)
    yield 1e6 ** np.random.default_rng(k).random(k + 20)


@pytest.mark.parametrize("k", [5, 16, 60])
def test_drawn_ranks_fit_the_marginals(k):
    for number, weights in enumerate(rest_weights(k)):
        shown = np.random.default_rng(1).permutation(k)
        n = 4 * DRAWS // k
        counts = rank_counts(draw(PlackettLuce(weights[None], slots=k), shown, n), shown)
        expected = rank_marginals(weights, shown) * n
        for document in range(k):  # whose rank is one draw on each page
            often = expected[document] >= 5
            seen = np.append(counts[document, often], counts[document, ~often].sum())
            hoped = np.append(expected[document, often], expected[document, ~often].sum())
            seen, hoped = seen[hoped > 0.5], hoped[hoped > 0.5]
            if len(hoped) > 1:
                statistic = ((seen - hoped) ** 2 / hoped).sum()
                assert chi2.sf(statistic, len(hoped) - 1) > 1e-5, (number, document)


def test_drawn_orders_fit_their_probabilities():
    weights = np.array([[3.0, 1.0, 0.2, 5.0, 0.0, 8.0]])
    policy = PlackettLuce(weights, 0.7, slots=4)
    shown = [3, 1, 2, 0]
    orders = np.array(list(itertools.permutations(shown)))
    chances = np.exp(policy.log_prob(np.zeros(len(orders), dtype=int), orders))
    ranking = draw(policy, shown)
    counts = (ranking[:, None] == orders).all(axis=2).sum(axis=0)
    assert chisquare(counts, DRAWS * chances / chances.sum()).pvalue > 1e-3


def test_weights_beyond_the_range_of_floats_keep_their_ratios():
    policy = PlackettLuce([[1.0, 1e-290, 1e-290, 2e-290, 1e-290]], 0.5, slots=3)
    ranking = draw(policy, [0, 1, 3])
    assert (ranking[:, 0] == 0).all()
    first = rank_marginals([1.0, 1.0, 4.0, 1.0], [0, 2])[1, 0] * DRAWS
    counts = rank_counts(ranking, [3, 1])[:, 1]
    assert chisquare(counts, [first, DRAWS - first]).pvalue > 1e-3


def test_each_page_is_drawn_given_its_own_set_and_query():
    weights = 20.0 ** np.random.default_rng(0).random((2, 6))
    policy = PlackettLuce(weights, slots=3)
    query = np.tile([0, 1, 1], DRAWS)
    sets = np.array([[0, 1, 2], [0, 1, 2], [5, 3, 2]])
    ranking = policy.sample_given_set(query, np.tile(sets, (DRAWS, 1)), np.random.default_rng(0))
    for number, (which, shown) in enumerate(zip([0, 1, 1], sets, strict=True)):
        counts = rank_counts(ranking[number::3], shown)
        expected = rank_marginals(weights[which], shown) * DRAWS
        assert chisquare(counts[:, 0], expected[:, 0]).pvalue > 1e-3, number
        assert chisquare(counts[:, 2], expected[:, 2]).pvalue > 1e-3, number


def test_pages_of_short_lists_keep_their_empty_slots_last():
    policy = PlackettLuce([[1.0, 2.0, 0.0, 3.0], [0.0, 1.0, 1.0, 0.0], [0.0] * 4], slots=3)
    shown = np.tile([[3, 0, 1], [2, 1, -1], [-1, -1, -1]], (500, 1))
    query = np.tile([0, 1, 2], 500)
    ranking = policy.sample_given_set(query, shown, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(ranking, axis=1), np.sort(shown, axis=1))
    assert (ranking[1::3, 2] == -1).all()
    assert 180 < (ranking[1::3, 0] == 1).sum() < 320


def test_the_seed_decides():
    policy = PlackettLuce([[1.0, 2.0, 3.0, 4.0]], slots=3)
    first, again, other = (draw(policy, [0, 1, 2], 100, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_no_pages_give_no_orders():
    policy = PlackettLuce([[1.0, 2.0, 3.0]], slots=2)
    assert draw(policy, [0, 1], 0).shape == (0, 2)
