"""Fast draws from a fixed distribution, and uniform numbers in blocks."""

from __future__ import annotations

import numpy as np
from looping import loop_over
from scipy.stats import chisquare

from clickgym.common.random import AliasTable, Uniforms


def rng(seed=0):
    return np.random.default_rng(seed)


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


@loop_over("one_by_one", [False, True])
@loop_over("name", DISTRIBUTIONS)
def test_alias_table_draws_with_the_given_probabilities(name, one_by_one):
    probs = np.asarray(DISTRIBUTIONS[name], dtype=float)
    drawn = draw_many(AliasTable(probs), 60_000, one_by_one)
    counts = np.bincount(drawn, minlength=len(probs))
    possible = probs > 0
    expected = probs[possible] / probs.sum() * 60_000
    assert counts[~possible].sum() == 0
    assert possible.sum() == 1 or chisquare(counts[possible], expected).pvalue > 1e-3


@loop_over("name", DISTRIBUTIONS)
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


@loop_over("n", [0, 1, 10, Uniforms.BLOCK, Uniforms.BLOCK + 1, 3 * Uniforms.BLOCK])
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
