"""Orders by scores and by random keys, against plain sorts."""

from __future__ import annotations

import itertools

import numpy as np
from looping import loop_over
from scipy.stats import chisquare

from clickgym.common.ordering import order_by_keys, order_by_scores

LENGTHS = [1, 2, 10, 64, 65, 300]  # lists longer than 64 are sorted in part
SLOTS = [1, 2, 10, 63, 64, 65, 299, 300]
SIZES = [(n, k) for n, k in itertools.product(LENGTHS, SLOTS) if k <= max(n, 10)]


def rng(seed=0):
    return np.random.default_rng(seed)


def distinct_scores(rows, length, seed=0):
    """Scores of all signs and magnitudes, no two of a row equal, also not in float32."""
    generator = rng(seed)
    base = np.linspace(-1, 1, length) ** 3 * 10.0 ** generator.integers(-3, 6, size=(rows, 1))
    return generator.permuted(base, axis=1)


def plain_order(scores, slots):
    return np.argsort(-scores, axis=1, kind="stable")[:, :slots]


# By scores


@loop_over(("length", "slots"), SIZES)
@loop_over("dtype", [np.float32, np.float64])
def test_distinct_scores_are_ordered_as_by_a_plain_sort(length, slots, dtype):
    scores = distinct_scores(50, length).astype(dtype)
    got = order_by_scores(scores, slots, rng())
    np.testing.assert_array_equal(got, plain_order(scores, slots))


@loop_over(("length", "slots"), SIZES)
def test_tied_scores_come_out_in_descending_order(length, slots):
    scores = rng().integers(-2, 3, size=(50, length)).astype(float)
    got = np.take_along_axis(scores, order_by_scores(scores, slots, rng()), axis=1)
    np.testing.assert_array_equal(got, -np.sort(-scores, axis=1)[:, :slots])


@loop_over(("length", "slots"), SIZES)
def test_no_document_is_shown_twice_among_ties(length, slots):
    scores = rng().integers(-2, 3, size=(50, length)).astype(float)
    shown = np.sort(order_by_scores(scores, slots, rng()), axis=1)
    assert (np.diff(shown, axis=1) > 0).all()


@loop_over(("length", "slots"), SIZES)
@loop_over("tied", [False, True])
def test_only_candidates_are_shown_and_empty_slots_trail(length, slots, tied):
    scores = distinct_scores(50, length)
    if tied:
        scores = np.round(scores / np.abs(scores).max())
    candidates = rng(1).random((50, length)) < 0.5
    got = order_by_scores(scores, slots, rng(), candidates)
    for row in range(50):
        best = np.sort(scores[row, candidates[row]])[::-1][:slots]
        shown = got[row, got[row] >= 0]
        assert candidates[row, shown].all()
        np.testing.assert_array_equal(scores[row, shown], best)
        assert (got[row, len(best) :] == -1).all()


def test_the_lowest_score_still_comes_before_non_candidates():
    scores = np.array([[0.0, -np.finfo(np.float32).max, 5.0]])
    got = order_by_scores(scores, 3, rng(), np.array([[False, True, False]]))
    assert got.tolist() == [[1, -1, -1]]


def test_scores_that_differ_in_the_last_bit_are_told_apart():
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    scores = np.array([[low, high, low - 1, -high, -low]], dtype=np.float32)
    assert order_by_scores(scores, 5, rng()).tolist() == [[1, 0, 2, 4, 3]]


def test_the_scores_are_not_changed():
    scores = distinct_scores(20, 70).astype(np.float32)
    before = scores.copy()
    order_by_scores(scores, 5, rng())
    np.testing.assert_array_equal(scores, before)


def test_scores_in_another_memory_order_give_the_same_ranking():
    scores = distinct_scores(20, 70)
    np.testing.assert_array_equal(
        order_by_scores(np.asfortranarray(scores), 5, rng()), order_by_scores(scores, 5, rng())
    )


def test_no_random_number_is_drawn_without_a_tie():
    generator = rng()
    order_by_scores(distinct_scores(20, 10), 5, generator)
    assert generator.random() == rng().random()


def test_the_same_generator_breaks_ties_alike():
    first, second = (order_by_scores(np.zeros((20, 10)), 5, rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_all_orders_of_ties_are_equally_likely():
    ranking = order_by_scores(np.zeros((24_000, 4)), 4, rng())
    codes = ranking @ [64, 16, 4, 1]
    assert chisquare(np.unique(codes, return_counts=True)[1], [1000] * 24).pvalue > 1e-3


def test_negative_zero_ties_with_zero():
    scores = np.tile([0.0, -0.0, -0.0, 0.0], (8000, 1))
    first = order_by_scores(scores, 1, rng())[:, 0]
    assert chisquare(np.bincount(first, minlength=4)).pvalue > 1e-3


@loop_over("length", [10, 65, 300])
def test_a_tie_cut_by_the_end_of_the_page_is_broken_evenly(length):
    """One document is best; which of three equal ones gets the second and last slot is open."""
    scores = np.tile(-np.arange(length, dtype=float), (9000, 1))
    tied = [4, length // 2, length - 1]
    scores[:, tied] = -0.5
    ranking = order_by_scores(scores, 2, rng())
    assert (ranking[:, 0] == 0).all()
    counts = [(ranking[:, 1] == document).sum() for document in tied]
    assert chisquare(counts, [3000] * 3).pvalue > 1e-3


@loop_over("length", [10, 65, 300])
def test_every_document_of_a_long_tie_is_equally_likely_in_every_slot(length):
    ranking = order_by_scores(np.zeros((40 * length, length)), 3, rng())
    for slot in range(3):
        counts = np.bincount(ranking[:, slot], minlength=length)
        assert chisquare(counts).pvalue > 1e-3


def test_ties_among_candidates_are_broken_evenly():
    candidates = np.tile([True, False, True, False, True], (9000, 1))
    ranking = order_by_scores(np.zeros((9000, 5)), 3, rng(), candidates)
    counts = np.bincount(ranking[:, 0], minlength=5)
    assert chisquare(counts[[0, 2, 4]], [3000] * 3).pvalue > 1e-3


# By keys


@loop_over(("length", "slots"), SIZES)
def test_random_keys_are_ordered_as_by_a_plain_sort(length, slots):
    keys = rng().standard_exponential((50, length)) * 10.0 ** rng(1).integers(-200, 200, (50, 1))
    got = order_by_keys(keys.copy(), slots)
    np.testing.assert_array_equal(got, np.argsort(keys, axis=1)[:, :slots])


@loop_over("length", [5, 70])
def test_infinite_keys_come_last(length):
    keys = rng().standard_exponential((50, length))
    keys[:, 1::2] = np.inf
    assert (order_by_keys(keys, length)[:, : (length + 1) // 2] % 2 == 0).all()
