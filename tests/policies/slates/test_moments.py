"""Moments of what policies show: exact against enumeration, drawn, and given by policies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from slates import (
    EQUAL,
    POLICIES,
    RANKER,
    WEIGHTS,
    Q,
    moments_of,
    pages_of,
)

from clickgym import evaluation, policies
from clickgym.common import checks
from clickgym.policies import PlackettLuce, Policy, SlateMoments
from clickgym.policies.slates import draws

# Marginals


def test_moments_are_those_of_enumeration():
    for (name, policy), query in itertools.product(POLICIES.items(), range(Q)):
        label = f"{name}, query {query}"
        moments = policies.slate_moments(policy, query)
        assert (moments.exact, moments.stderr, moments.samples) == (True, 0.0, 0), label
        single, pair = moments_of(policy, query)
        np.testing.assert_allclose(moments.single, single, rtol=0, atol=1e-12, err_msg=label)
        np.testing.assert_allclose(moments.pair, pair, rtol=0, atol=1e-12, err_msg=label)
        filled = single.sum(axis=1)  # slots that stay empty show nothing
        np.testing.assert_allclose(moments.single.sum(axis=1), filled, atol=1e-12, err_msg=label)
        assert moments.repeats == checks.find_repeats(pages_of(policy, query)[0]).any(), label


def test_marginals_are_the_moments():
    for name, policy in POLICIES.items():
        moments = policies.slate_moments(policy, 0)
        single, pair = policies.slate_marginals(policy, 0)
        np.testing.assert_array_equal(single, moments.single, err_msg=name)
        np.testing.assert_array_equal(pair, moments.pair, err_msg=name)


def test_evaluation_has_the_same_marginals():
    assert evaluation.slate_marginals is policies.slate_marginals


def test_moments_of_other_lengths():
    """Up to pages with more slots than there are candidates."""
    for slots, weights, query in itertools.product((1, 2, 5, 7), (WEIGHTS, EQUAL), range(Q)):
        single, pair = moments_of(PlackettLuce(weights, slots=min(slots, 5)), query)
        got = policies.slate_marginals(PlackettLuce(weights, slots=slots), query)
        shown, label = slice(0, min(slots, 5)), f"{slots} slots, query {query}"
        np.testing.assert_allclose(got[0][shown], single, atol=1e-12, err_msg=label)
        np.testing.assert_allclose(got[1][shown, :, shown], pair, atol=1e-12, err_msg=label)
        assert not got[0][5:].any(), label
        assert not got[1][5:].any(), label


def test_a_query_without_candidates_has_zeros():
    policy = PlackettLuce([[0.0, 0.0], [1.0, 2.0]], slots=2)
    moments = policies.slate_moments(policy, 0)
    assert not moments.single.any()
    assert not moments.pair.any()
    assert not policies.slate_pseudoinverse(policy, 0).times(np.ones((2, 2))).any()


def test_low_temperatures_lose_no_digits():
    """The second slot decides between weights of 1e-3 and 0.5 to the power of 100."""
    policy = PlackettLuce([[1.0, 0.5, 1e-3]], temperature=0.01, slots=2)
    single, pair = policies.slate_marginals(policy, 0)
    assert pair[0, 0, 1, 1] == pytest.approx(1.0, rel=1e-12)
    assert single[0, 2] == pytest.approx(1e-300, rel=1e-9)
    assert pair[0, 0, 1, 2] == pytest.approx((1e-3 / 0.5) ** 100, rel=1e-9)


def test_types_and_subsets_agree():
    """Equal weights as one type, or told apart by a last digit as types of their own."""
    weights = 2.0 ** -np.floor(np.log2(np.arange(1, 11)))
    apart = weights * (1.0 + 1e-14 * np.arange(10))
    one, other = (policies.slate_moments(PlackettLuce([w], slots=5), 0) for w in (weights, apart))
    assert (len(one.table.counts), len(other.table.counts)) == (4, 10)
    np.testing.assert_allclose(one.single, other.single, atol=1e-12)
    np.testing.assert_allclose(one.pair, other.pair, atol=1e-12)


def test_marginals_of_the_papers_hundred_documents_sum_to_one():
    weights = 2.0 ** -np.floor(np.log2(np.arange(1, 101)))
    single, pair = policies.slate_marginals(PlackettLuce([weights], slots=10), 0)
    np.testing.assert_allclose(single.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(pair.sum(axis=3), np.repeat(single[:, :, None], 10, 2), atol=1e-12)
    np.testing.assert_allclose(single[0], weights / weights.sum(), rtol=1e-12)


def test_states_are_counted_without_making_them():
    counts = (1, 2, 4, 3)
    numbers = draws.count_states(counts, 6)
    assert [len(layer.left) for layer in draws.list_layers(counts, 6)] == numbers


# Moments of drawn pages


class OwnPolicy(Policy):
    """Draws like Plackett-Luce, and cannot say more."""

    has_log_prob = False

    def __init__(self):
        self.known = POLICIES["PlackettLuce"]
        self.slots, self.shape = self.known.slots, self.known.shape

    def sample(self, query, rng):
        return self.known.sample(query, rng)


class OwnDraws(OwnPolicy):
    """The same, with log-probabilities."""

    has_log_prob = True

    def log_prob(self, query, ranking):
        return self.known.log_prob(query, ranking)


def test_sampled_marginals_say_so_and_are_near():
    moments = policies.slate_moments(OwnPolicy(), 0, samples=40_000)
    single, pair = moments_of(POLICIES["PlackettLuce"], 0)
    assert (moments.exact, moments.samples) == (False, 40_000)
    assert 0 < moments.stderr <= 0.0025
    assert np.abs(moments.single - single).max() < 5 * moments.stderr
    assert np.abs(moments.pair - pair).max() < 5 * moments.stderr


def test_sampled_marginals_come_from_the_seed():
    one, again, other = (
        policies.slate_moments(OwnPolicy(), 0, samples=1000, seed=seed).single for seed in (1, 1, 2)
    )
    assert (one == again).all()
    assert (one != other).any()


def test_too_many_states_are_sampled(monkeypatch):
    monkeypatch.setattr(draws, "MOST_WORK", 10)
    assert not policies.slate_moments(POLICIES["PlackettLuce"], 0, samples=100).exact


def test_a_mixture_with_a_sampled_part_says_so(monkeypatch):
    mixture = policies.Mixture([POLICIES["PlackettLuce"], POLICIES["Uniform"]], [0.5, 0.5])
    assert policies.slate_moments(mixture, 0).exact
    monkeypatch.setattr(draws, "MOST_WORK", 0)
    assert policies.slate_moments(mixture, 0, samples=100).samples == 100


def test_a_policy_of_ones_own_can_give_its_marginals():
    arrays = moments_of(RANKER, 0)
    for given in (arrays, SlateMoments.from_arrays(*arrays)):
        single, pair = policies.slate_marginals(own_policy(given), 0)
        assert policies.slate_moments(own_policy(given), 0).exact
        np.testing.assert_array_equal(single, arrays[0])
        np.testing.assert_array_equal(pair, arrays[1])


SINGLE, PAIR = moments_of(POLICIES["PlackettLuce"], 0)
TILTED = PAIR.copy()
TILTED[0, 0, 1, 1] += 0.01
CROWDED = PAIR.copy()
CROWDED[0, :, 1], CROWDED[1, :, 0] = 0.3, 0.3
NO_POLICYS = {
    "no arrays": (SINGLE, "two arrays, not ndarray"),
    "another shape": ((SINGLE[:2], PAIR), r"has shape \(2, 5\)"),
    "two documents in a slot": ((SINGLE + 0.1, PAIR), "sums to 1.5, more than 1"),
    "not symmetric": ((SINGLE, TILTED), "pair is not symmetric"),
    "another diagonal": ((0.9 * SINGLE, PAIR), "must be single"),
    "no probability": ((SINGLE - 0.5, PAIR), r"within \[0, 1\]"),
    "more than it shows": ((SINGLE, CROWDED), "sums to more than single"),
}


def own_policy(given):
    class Own(OwnPolicy):
        def marginals(self, query):
            return given

    return Own()


def test_marginals_that_are_no_policys_are_refused():
    for given, message in NO_POLICYS.values():
        with pytest.raises(ValueError, match=message) as error:
            policies.slate_moments(own_policy(given), 0)
        assert "Own.marginals" in str(error.value)


def test_marginals_may_be_off_by_rounding():
    given = [SINGLE.astype(np.float32) * np.float32(1 + 1e-7), PAIR.astype(np.float32) - 1e-9]
    moments = policies.slate_moments(own_policy(given), 0)
    assert moments.exact
    np.testing.assert_allclose(moments.single, SINGLE, atol=1e-6)


def test_a_policy_with_parts_is_not_taken_for_a_mixture():
    """An ensemble may do anything with its policies; only its own marginals or draws say what."""
    own = OwnPolicy()
    own.policies, own.weights = [RANKER, POLICIES["Uniform"]], [0.5, 0.5]
    moments = policies.slate_moments(own, 0, samples=2000)
    assert not moments.exact
    assert np.abs(moments.single - SINGLE).max() < 5 * moments.stderr


def test_a_part_that_is_never_drawn_changes_nothing():
    mixture = policies.Mixture([POLICIES["Uniform"], policies.Remembering(OwnDraws())], [1.0, 0.0])
    moments = policies.slate_moments(mixture, 0, samples=100)
    assert moments.exact
    np.testing.assert_allclose(moments.pair, policies.slate_moments(POLICIES["Uniform"], 0).pair)


def test_an_unknown_query_is_an_error():
    for query in (-1, Q, 0.5):
        with pytest.raises(ValueError, match="query"):
            policies.slate_moments(RANKER, query)


def test_drawn_moments_are_the_mean_of_their_halves():
    whole = policies.slate_moments(OwnDraws(), 0, samples=1000)
    first, second = whole.halves
    assert (first.samples, second.samples) == (500, 500)
    np.testing.assert_allclose(whole.pair, (first.pair + second.pair) / 2, atol=1e-12)
    assert (first.pair != second.pair).any()


def test_the_halves_of_a_mixture_are_mixtures():
    drawn = OwnDraws()
    mixture = policies.Mixture([drawn, POLICIES["Uniform"]], [0.7, 0.3])
    whole = policies.slate_moments(mixture, 0, samples=1000)
    for half, part in zip(whole.halves, policies.slate_moments(drawn, 0, 1000).halves, strict=True):
        expected = 0.7 * part.pair + 0.3 * policies.slate_moments(POLICIES["Uniform"], 0).pair
        np.testing.assert_allclose(half.pair, expected, atol=1e-12)
