"""Rank marginals of Plackett-Luce pages, given which documents are displayed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from looping import loop_over

from clickgym import evaluation, policies
from clickgym.policies import log_set_probability, rank_marginals
from clickgym.policies.given_set.quadrature import quadrature_marginals
from clickgym.policies.given_set.subsets import subset_marginals


def enumerate_marginals(weights, shown):
    """Marginals given the set and P(set), by adding up all orders."""
    shown = list(shown)
    k = len(shown)
    rest = np.delete(weights, shown).sum()
    marginals = np.zeros((k, k))
    for order in itertools.permutations(range(k)):
        chosen = np.asarray(weights)[[shown[i] for i in order]]
        remaining = np.cumsum([rest, *chosen[::-1]])[:0:-1]
        marginals[list(order), range(k)] += np.prod(chosen / remaining)
    total = marginals[:, 0].sum()
    return marginals / total, total


def spread_weights(ratio, shape, seed=0):
    """Weights between 1 and ``ratio``, evenly spread in logs."""
    return ratio ** np.random.default_rng(seed).random(shape)


@loop_over("ratio", [1.0, 10.0, 1e6, 1e12])
def test_marginals_agree_with_enumeration(ratio):
    for n_docs, k in ((9, 7), (7, 7), (9, 4), (2, 1), (1, 1), (9, 1), (3, 2)):
        weights = spread_weights(ratio, n_docs, seed=n_docs + k)
        shown = np.random.default_rng(k).permutation(n_docs)[:k]
        expected, total = enumerate_marginals(weights, shown)
        found = rank_marginals(weights, shown)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=0)
        assert log_set_probability(weights, shown) == pytest.approx(np.log(total), abs=1e-10)


def test_heavy_and_light_sets_agree_with_enumeration():
    weights = np.array([1e12, 1e8, 3e11, 1.0, 2.0, 1e-3, 5.0, 1e12, 4.0])
    for shown in ([0, 1, 2, 7], [3, 4, 5, 6, 8], [5], [5, 7, 3], [1, 3, 5, 6, 4, 8, 0]):
        expected, total = enumerate_marginals(weights, shown)
        np.testing.assert_allclose(rank_marginals(weights, shown), expected, rtol=1e-10, atol=0)
        assert log_set_probability(weights, shown) == pytest.approx(np.log(total), abs=1e-10)


@loop_over("ratio", [1.0, 100.0, 1e12])
def test_quadrature_agrees_with_enumeration(ratio):
    for k in (1, 2, 5):
        weights = spread_weights(ratio, 8, seed=k)
        for rest in (weights[k:].sum(), 0.0, 1e-9, 1e15):
            whole = np.append(weights[:k], rest)
            expected, total = enumerate_marginals(whole, range(k))
            with np.errstate(divide="ignore"):
                logs, log_rest = np.log(whole[None, :k]), np.log([rest])
            found, log_probability = quadrature_marginals(logs, log_rest)
            np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-12)
            assert log_probability[0] == pytest.approx(np.log(total), abs=1e-10)


@loop_over("span", [0.0, 1.0, 10.0, 100.0])
def test_quadrature_agrees_with_the_lemmas(span):
    rng = np.random.default_rng(1)
    logs = rng.uniform(-span, 0.0, (5, 12))
    log_rest = np.array([-np.inf, -span - 20.0, 0.0, 4.0, span + 40.0])
    by_subsets, probability = subset_marginals(logs, log_rest)
    by_quadrature, again = quadrature_marginals(logs, log_rest)
    np.testing.assert_allclose(by_quadrature, by_subsets, rtol=0, atol=1e-12)
    np.testing.assert_allclose(again, probability, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("k", [16, 40, 100])
def test_rows_and_columns_sum_to_one(k):
    for ratio, n_docs in ((20.0, k + 30), (1e12, k + 1), (1.0, 2 * k), (20.0, k)):
        found = rank_marginals(spread_weights(ratio, n_docs), np.arange(k))
        assert np.abs(found.sum(axis=0) - 1.0).max() < 1e-9, (ratio, n_docs)
        assert np.abs(found.sum(axis=1) - 1.0).max() < 1e-9, (ratio, n_docs)
        assert (found >= 0).all()


def test_weights_beyond_the_range_of_floats_keep_their_ratios():
    steep = policies.PlackettLuce([[1.0, 1e-290, 1e-290, 2e-290, 1e-290]], 0.5, slots=3)
    given = policies.marginals_given_set(steep, [0], [[0, 1, 3]])
    order, total = enumerate_marginals([1.0, 1.0, 4.0, 1.0], [0, 2])  # below the heavy document
    np.testing.assert_allclose(given.probabilities[0, 0], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(given.probabilities[0, 1:, 1:], order, rtol=0, atol=1e-12)
    assert given.log_probability[0] == pytest.approx(np.log(total), abs=1e-10)


def test_a_set_of_all_candidates_is_plain_plackett_luce():
    weights = np.array([5.0, 1.0, 0.0, 2.0])
    found = rank_marginals(weights, [3, 0, 1])
    np.testing.assert_allclose(found[:, 0], np.array([2.0, 5.0, 1.0]) / 8.0, rtol=1e-13)
    assert log_set_probability(weights, [3, 0, 1]) == 0.0


def test_documents_of_weight_zero_are_no_candidates():
    weights = spread_weights(30.0, 8)
    padded = np.insert(weights, 3, 0.0)
    np.testing.assert_array_equal(
        rank_marginals(padded, [0, 4, 6, 8]), rank_marginals(weights, [0, 3, 5, 7])
    )


def test_only_ratios_of_weights_count():
    weights = spread_weights(30.0, 9)
    expected = rank_marginals(weights, [0, 2, 4, 6])
    for factor in (1e-300, 1e-5, 1e290):
        found = rank_marginals(weights * factor, [0, 2, 4, 6])
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rows_follow_the_order_of_shown():
    weights = spread_weights(30.0, 9)
    shown, order = np.array([7, 0, 3, 5]), np.array([2, 0, 3, 1])
    np.testing.assert_allclose(
        rank_marginals(weights, shown[order]), rank_marginals(weights, shown)[order], rtol=1e-12
    )


@loop_over("k", [4, 20])
def test_a_batch_has_what_its_pages_have_alone(k):
    weights = spread_weights(50.0, (5, 30))
    shown = np.array([np.random.default_rng(page).permutation(30)[:k] for page in range(5)])
    lengths = [k, 1, k - 1, 0, k]
    for row, length in zip(shown, lengths, strict=True):
        row[length:] = -1
    found = rank_marginals(weights, shown)
    chances = log_set_probability(weights, shown)
    for page, length in enumerate(lengths):
        alone = np.zeros((k, k))
        if length:
            alone[:length, :length] = rank_marginals(weights[page], shown[page, :length])
            expected = log_set_probability(weights[page], shown[page, :length])
            assert chances[page] == pytest.approx(expected, abs=1e-10)
        np.testing.assert_allclose(found[page], alone, rtol=0, atol=1e-13)


def test_many_pages_do_not_depend_on_how_they_are_cut_into_chunks():
    weights, shown = spread_weights(50.0, (3000, 6)), np.tile([4, 1, 3], (3000, 1))
    found = rank_marginals(weights, shown)
    for page in (0, 1234, 2999):
        np.testing.assert_allclose(found[page], rank_marginals(weights[page], [4, 1, 3]), 1e-12)
    chances = log_set_probability(weights, shown)
    assert chances[2999] == pytest.approx(log_set_probability(weights[2999], [4, 1, 3]), abs=1e-10)


def test_no_pages_give_no_marginals():
    assert rank_marginals(np.ones((0, 5)), np.zeros((0, 3), dtype=int)).shape == (0, 3, 3)


def test_evaluation_has_them_too():
    assert evaluation.rank_marginals is policies.rank_marginals


BAD = {
    "weight 0": ([[1, 1, 1], [1, 0, 1]], [[0, 1], [0, 1]], r"shown\[1\] has document 1, .* 0"),
    "negative": ([[1, 1, 1], [1, -2, 1]], [[0, 1], [0, 2]], r"weights\[1, 1\] is -2"),
    "not a number": ([[1, 1, np.nan]], [[0, 1]], r"weights .* not finite .*\(0, 2\)"),
    "infinite": ([[1, 1, np.inf]], [[0, 1]], r"weights .* not finite .*\(0, 2\)"),
    "twice": ([[1, 1, 1]] * 3, [[0, 1], [0, 2], [2, 2]], r"shown\[2\] has document 2 twice"),
    "out of range": ([[1, 1, 1]] * 2, [[0, 1], [0, 3]], r"shown\[1, 1\] is 3"),
    "below -1": ([[1, 1, 1]] * 2, [[0, 1], [-2, 1]], r"shown\[1, 0\] is -2"),
    "a gap": ([[1, 1, 1]] * 2, [[0, 1], [-1, 1]], r"shown\[1, 0\] is empty"),
    "other pages": ([[1, 1, 1]] * 2, [[0, 1]], r"weights has shape \(2, 3\)"),
    "no integers": ([[1, 1, 1]], [[0.0, 1.0]], r"shown must hold integers"),
    "one page of weights": ([1, 1, 1], [[0, 1]], r"weights must have 2 dim"),
    "one page shown": ([[1, 1, 1]], [0, 1], r"weights must have 1 dim"),
}


@loop_over("case", BAD)
def test_bad_input_is_named(case):
    weights, shown, message = BAD[case]
    for function in (rank_marginals, log_set_probability):
        with pytest.raises(ValueError, match=message):
            function(weights, shown)
