"""Where policies of all kinds put documents, given which are displayed.

Against enumeration they are compared in ``test_contract``.
"""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over

from clickgym import policies
from clickgym.data import World
from clickgym.policies import PlackettLuce, Policy, Ranker, Uniform, marginals_given_set
from clickgym.policies.given_set import conditional

WORLD = World(np.random.default_rng(0).integers(0, 5, (3, 12)))
WEIGHTS = 30.0 ** np.random.default_rng(1).random((3, 12))
STEEP = PlackettLuce(WEIGHTS, slots=4)


class OnlySamples(Policy):
    """Draws like another policy, and cannot say more."""

    has_log_prob = False

    def __init__(self, policy):
        self.known, self.slots, self.shape = policy, policy.slots, policy.shape

    def sample(self, query, rng):
        return self.known.sample(query, rng)


class WithLogProbs(OnlySamples):
    """The same, with log-probabilities."""

    has_log_prob = True

    def log_prob(self, query, ranking):
        return self.known.log_prob(query, ranking)


def likeliest_sets(policy, query):
    """The documents of each query's greedy page, in ascending order."""
    return np.sort(policy.greedy(query), axis=1)


def test_uniform_pages_have_every_order_equally_often():
    given = marginals_given_set(
        Uniform(WORLD, slots=5), [0, 2], [[3, 1, 7, 0, 11], [0, 1, 2, 3, 4]]
    )
    np.testing.assert_allclose(given.probabilities, 0.2, rtol=1e-12)


def test_a_shuffled_share_weighs_as_much_as_it_shows_the_set():
    uniform = Uniform(WORLD, slots=4)
    query, shown = np.array([1]), likeliest_sets(STEEP, [1])
    parts = [marginals_given_set(policy, query, shown) for policy in (STEEP, uniform)]
    mixed = marginals_given_set(policies.epsilon_uniform(STEEP, WORLD, 0.3), query, shown)
    steep, flat = 0.7 * np.exp(parts[0].log_probability), 0.3 * np.exp(parts[1].log_probability)
    expected = (steep * parts[0].probabilities + flat * 0.25) / (steep + flat)
    np.testing.assert_allclose(mixed.probabilities, expected, rtol=1e-12)
    np.testing.assert_allclose(mixed.log_probability, np.log(steep + flat), rtol=1e-12)


def test_a_part_that_never_shows_the_set_does_not_count():
    ranker = Ranker(np.tile(np.arange(12.0), (3, 1)), slots=4)
    mixed = policies.Mixture([STEEP, ranker], [0.5, 0.5])
    shown = np.array([[0, 1, 2, 3]])
    np.testing.assert_array_equal(
        marginals_given_set(mixed, [0], shown).probabilities,
        marginals_given_set(STEEP, [0], shown).probabilities,
    )


def test_a_deterministic_policy_has_one_order():
    ranker = Ranker.from_rankings([[2, 0, 1], [5, 3, -1]])
    given = marginals_given_set(ranker, [0, 1], [[0, 1, 2], [3, 5, -1]])
    assert given.probabilities[0].tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert given.probabilities[1].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert (given.log_probability.tolist(), given.standard_error) == ([0.0, 0.0], None)


def test_all_orders_of_a_short_page_are_scored_for_a_policy_of_ones_own():
    query = np.array([0, 1, 2, 0])
    shown = np.concatenate([likeliest_sets(STEEP, query[:3]), [[11, 0, 5, 2]]])
    exact, found = (marginals_given_set(p, query, shown) for p in (STEEP, WithLogProbs(STEEP)))
    assert found.standard_error is None
    np.testing.assert_allclose(found.probabilities, exact.probabilities, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.log_probability, exact.log_probability, rtol=1e-10)


def test_drawn_pages_are_within_their_standard_errors():
    query = np.array([0, 1, 2, 1])
    shown = likeliest_sets(STEEP, query)
    shown[3] = shown[3, ::-1]
    exact, found = (marginals_given_set(p, query, shown) for p in (STEEP, OnlySamples(STEEP)))
    error = (found.probabilities - exact.probabilities) / found.standard_error
    assert (np.abs(error) < 5).all()
    assert 0.5 < np.sqrt((error**2).mean()) < 1.5
    assert found.standard_error.max() < 0.02
    np.testing.assert_allclose(found.log_probability, exact.log_probability, rtol=0, atol=0.05)


def test_what_no_drawn_page_shows_is_not_taken_for_certain():
    policy = OnlySamples(PlackettLuce([[1e12, 1.0]], slots=2))
    found = marginals_given_set(policy, [0], [[0, 1]])
    assert found.probabilities[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert found.standard_error.min() > 0


def test_drawn_pages_come_from_the_seed():
    shown, policy = likeliest_sets(STEEP, [0]), OnlySamples(STEEP)
    one, again, other = (
        marginals_given_set(policy, [0], shown, seed).probabilities for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_a_set_that_no_drawn_page_has_is_named():
    policy = OnlySamples(PlackettLuce([[1e9, 1e9, 1.0, 1.0]], slots=2))
    with pytest.raises(ValueError, match=r"page 1 \(query 0\).*\[2, 3\].*none of 100,000 drawn"):
        marginals_given_set(policy, [0, 0], [[0, 1], [2, 3]])


def test_long_pages_are_exact_for_mixtures_too():
    weights = 30.0 ** np.random.default_rng(1).random((2, 60))
    world = World(np.zeros((2, 60), dtype=int))
    policy = policies.epsilon_uniform(PlackettLuce(weights, slots=30), world, 0.2)
    given = marginals_given_set(policy, [1], [np.arange(30)])
    assert given.standard_error is None
    for axis in (1, 2):
        np.testing.assert_allclose(given.probabilities.sum(axis=axis), 1.0, rtol=0, atol=1e-12)


def test_many_pages_do_not_depend_on_how_they_are_cut_into_chunks():
    query, rng = np.arange(20_001) % 3, np.random.default_rng(0)
    shown = rng.permuted(np.tile(np.arange(12), (len(query), 1)), axis=1)[:, :4]
    given = marginals_given_set(STEEP, query, shown)
    few = [0, 8191, 8192, 20_000]
    expected = marginals_given_set(STEEP, query[few], shown[few])
    np.testing.assert_allclose(given.probabilities[few], expected.probabilities, rtol=1e-12)
    np.testing.assert_allclose(given.log_probability[few], expected.log_probability, rtol=1e-12)


BAD = {
    "no candidate": ([0, 1], [[0, 1], [2, 0]], r"page 1 \(query 1\).*document 2 has weight 0"),
    "too short": ([0], [[0, -1]], r"page 0 .* have 2 documents, not 1"),
    "too long": ([0], [[0, 1, 2]], r"page 0 .* have 2 documents, not 3"),
    "twice": ([0, 0], [[0, 1], [1, 1]], r"shown\[1\] has document 1 twice"),
    "out of range": ([0], [[0, 4]], r"shown\[0, 1\] is 4"),
    "unknown query": ([2], [[0, 1]], r"query\[0\] is 2"),
    "a page too many": ([0], [[0, 1], [0, 1]], r"shown has 2 pages, but query 1"),
}


@loop_over("case", BAD)
def test_bad_input_is_named(case):
    query, shown, message = BAD[case]
    policy = PlackettLuce([[1.0, 1.0, 2.0, 1.0], [1.0, 1.0, 0.0, 3.0]], slots=2)
    for ask in (
        lambda: marginals_given_set(policy, query, shown),
        lambda: marginals_given_set(policies.Remembering(policy), query, shown),
        lambda: policy.sample_given_set(query, shown, np.random.default_rng(0)),
    ):
        with pytest.raises(ValueError, match=message):
            ask()


def test_a_bad_seed_is_named():
    with pytest.raises(ValueError, match="seed"):
        marginals_given_set(STEEP, [0], [[0, 1, 2, 3]], seed=-1)


def test_a_page_that_a_ranker_never_shows_is_named():
    with pytest.raises(ValueError, match=r"page 1 \(query 0\).*\[0, 2\].*never shows exactly them"):
        marginals_given_set(Ranker.from_rankings([[0, 1]]), [0, 0], [[1, 0], [0, 2]])


def test_known_pages_are_counted_by_set_and_rank():
    known = (np.array([0, 0, 0, 1]), np.array([[3, 1, -1], [1, 3, -1], [1, 3, 2], [1, 3, -1]]))
    counts = np.array([5.0, 2.0, 7.0, 11.0])
    places, total = conditional.count_orders(
        (*known, counts), np.array([0, 0, 1]), np.array([[1, 3], [3, 1], [2, 3]])
    )
    assert total.tolist() == [7.0, 7.0, 0.0]
    assert places.tolist() == [[[2, 5], [5, 2]], [[5, 2], [2, 5]], [[0, 0], [0, 0]]]
