"""Orders by scores and by random keys against plain sorts; fast draws against probabilities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from clickgym.common.ordering import order_by_keys, order_by_scores
from clickgym.common.random import AliasTable, Uniforms

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


@pytest.mark.parametrize(("length", "slots"), SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distinct_scores_are_ordered_as_by_a_plain_sort(length, slots, dtype):
    scores = distinct_scores(50, length).astype(dtype)
    got = order_by_scores(scores, slots, rng())
    np.testing.assert_array_equal(got, plain_order(scores, slots))


@pytest.mark.parametrize(("length", "slots"), SIZES)
def test_tied_scores_come_out_in_descending_order(length, slots):
    scores = rng().integers(-2, 3, size=(50, length)).astype(float)
    got = np.take_along_axis(scores, order_by_scores(scores, slots, rng()), axis=1)
    np.testing.assert_array_equal(got, -np.sort(-scores, axis=1)[:, :slots])


@pytest.mark.parametrize(("length", "slots"), SIZES)
def test_no_document_is_shown_twice_among_ties(length, slots):
    scores = rng().integers(-2, 3, size=(50, length)).astype(float)
    shown = np.sort(order_by_scores(scores, slots, rng()), axis=1)
    assert (np.diff(shown, axis=1) > 0).all()


@pytest.mark.parametrize(("length", "slots"), SIZES)
@pytest.mark.parametrize("tied", [False, True], ids=["distinct", "tied"])
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


@pytest.mark.parametrize("length", [10, 65, 300])
def test_a_tie_cut_by_the_end_of_the_page_is_broken_evenly(length):
    """One document is best; which of three equal ones gets the second and last slot is open."""
    scores = np.tile(-np.arange(length, dtype=float), (9000, 1))
    tied = [4, length // 2, length - 1]
    scores[:, tied] = -0.5
    ranking = order_by_scores(scores, 2, rng())
    assert (ranking[:, 0] == 0).all()
    counts = [(ranking[:, 1] == document).sum() for document in tied]
    assert chisquare(counts, [3000] * 3).pvalue > 1e-3


@pytest.mark.parametrize("length", [10, 65, 300])
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


@pytest.mark.parametrize(("length", "slots"), SIZES)
def test_random_keys_are_ordered_as_by_a_plain_sort(length, slots):
    keys = rng().standard_exponential((50, length)) * 10.0 ** rng(1).integers(-200, 200, (50, 1))
    got = order_by_keys(keys.copy(), slots)
    np.testing.assert_array_equal(got, np.argsort(keys, axis=1)[:, :slots])


@pytest.mark.parametrize("length", [5, 70])
def test_infinite_keys_come_last(length):
    keys = rng().standard_exponential((50, length))
    keys[:, 1::2] = np.inf
    assert (order_by_keys(keys, length)[:, : (length + 1) // 2] % 2 == 0).all()


# Draws from a fixed distribution

DISTRIBUTIONS = {
    "one": [1.0],
    "uniform": [1 / 7] * 7,
    "power law": np.arange(1, 101) ** -1.12,
    "with zeros": [0.0, 0.5, 0.0, 0.2, 0.3, 0.0],
    "nearly all on one": [0.001] * 20 + [0.98],
    "counts": [1, 2, 3, 4],
    "all but one zero": [0.0, 0.0, 1.0, 0.0],
}


def draw_many(table, n, one_by_one):
    if one_by_one:
        return [table.draw_one(uniform) for uniform in rng(2).random(n).tolist()]
    return table.draw(n, rng(2))


@pytest.mark.parametrize("one_by_one", [False, True], ids=["draw", "draw_one"])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_alias_table_draws_with_the_given_probabilities(name, one_by_one):
    probs = np.asarray(DISTRIBUTIONS[name], dtype=float)
    drawn = draw_many(AliasTable(probs), 60_000, one_by_one)
    counts = np.bincount(drawn, minlength=len(probs))
    possible = probs > 0
    expected = probs[possible] / probs.sum() * 60_000
    assert counts[~possible].sum() == 0
    assert possible.sum() == 1 or chisquare(counts[possible], expected).pvalue > 1e-3


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_alias_table_columns_hold_exactly_the_given_probabilities(name):
    probs = np.asarray(DISTRIBUTIONS[name], dtype=float)
    table = AliasTable(probs)
    held = table.keep.copy()
    np.add.at(held, table.alias, 1 - table.keep)
    np.testing.assert_allclose(held / len(probs), probs / probs.sum(), atol=1e-14)


def test_the_largest_uniform_number_draws_an_index_that_exists():
    last = np.nextafter(1.0, 0.0)
    drawn = [AliasTable(np.ones(n)).draw_one(last) for n in range(1, 200)]
    assert drawn == list(range(199))


def test_one_and_many_draws_agree_for_the_same_numbers():
    table = AliasTable(np.asarray(DISTRIBUTIONS["power law"]))
    np.testing.assert_array_equal(draw_many(table, 1000, True), draw_many(table, 1000, False))


# Uniform numbers in blocks


def test_uniforms_are_the_generators_numbers():
    uniforms = Uniforms(rng())
    got = [uniforms.one(), *uniforms.take(5), uniforms.one()]
    np.testing.assert_array_equal(got, rng().random(7))


def test_uniforms_are_plain_floats():
    assert {type(number) for number in Uniforms(rng()).take(10)} == {float}


@pytest.mark.parametrize("n", [0, 1, 10, Uniforms.BLOCK, Uniforms.BLOCK + 1, 3 * Uniforms.BLOCK])
def test_take_gives_as_many_as_asked_for(n):
    uniforms = Uniforms(rng())
    uniforms.take(7)
    assert len(uniforms.take(n)) == n


def test_no_number_is_given_twice():
    uniforms = Uniforms(rng())
    numbers = [number for n in [700] * 20 + [5000, 3, 4096] for number in uniforms.take(n)]
    assert len(set(numbers)) == len(numbers)


def test_uniforms_are_uniform_across_blocks():
    uniforms = Uniforms(rng())
    numbers = np.concatenate([uniforms.take(11) for _ in range(3000)])
    counts = np.histogram(numbers, bins=50, range=(0, 1))[0]
    assert counts.sum() == 33_000
    assert chisquare(counts).pvalue > 1e-3


def test_same_seed_gives_the_same_uniforms():
    assert Uniforms(rng(5)).take(20) == Uniforms(rng(5)).take(20)
