"""Marginals of policies and the pseudoinverse of Γ, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from slates import (
    EQUAL,
    POLICIES,
    RANKER,
    WEIGHTS,
    K,
    N,
    Q,
    indicators,
    moments_of,
    pages_of,
)

from clickgym import evaluation, policies
from clickgym.common import checks
from clickgym.policies import PlackettLuce, Policy, Ranker, SlateMoments
from clickgym.policies.slates import draws
from clickgym.policies.slates.document_types import TypeTable

every_policy = pytest.mark.parametrize("name", POLICIES)
every_query = pytest.mark.parametrize("query", range(Q))


def dense(operator):
    """An operator on (K, N) as a matrix."""
    size = N * K
    return operator(np.eye(size).reshape(size, K, N)).reshape(size, size)


# Marginals


@every_policy
@every_query
def test_marginals_are_those_of_enumeration(name, query):
    single, pair = policies.slate_marginals(POLICIES[name], query)
    expected = moments_of(POLICIES[name], query)
    np.testing.assert_allclose(single, expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(pair, expected[1], rtol=0, atol=1e-12)


@every_policy
def test_marginals_say_that_they_are_exact(name):
    moments = policies.slate_moments(POLICIES[name], 0)
    assert (moments.exact, moments.stderr, moments.samples) == (True, 0.0, 0)


def test_evaluation_has_the_same_marginals():
    assert evaluation.slate_marginals is policies.slate_marginals


@pytest.mark.parametrize("slots", [1, 2, 5, 7])
@pytest.mark.parametrize("weights", [WEIGHTS, EQUAL], ids=["distinct", "equal"])
@every_query
def test_marginals_of_other_lengths(slots, weights, query):
    """Up to pages with more slots than there are candidates."""
    policy = PlackettLuce(weights, slots=min(slots, 5))
    single, pair = moments_of(policy, query)
    longer = PlackettLuce(weights, slots=slots)
    got = policies.slate_marginals(longer, query)
    shown = slice(0, min(slots, 5))
    np.testing.assert_allclose(got[0][shown], single, atol=1e-12)
    np.testing.assert_allclose(got[1][shown, :, shown], pair, atol=1e-12)
    assert not got[0][5:].any()
    assert not got[1][5:].any()


@every_policy
@every_query
def test_slots_that_stay_empty_show_nothing(name, query):
    single, _ = policies.slate_marginals(POLICIES[name], query)
    filled = moments_of(POLICIES[name], query)[0].sum(axis=1)
    np.testing.assert_allclose(single.sum(axis=1), filled, atol=1e-12)


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


# Monte Carlo


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


@pytest.mark.parametrize("form", ["moments", "arrays"])
def test_a_policy_of_ones_own_can_give_its_marginals(form):
    arrays = moments_of(RANKER, 0)

    class Own(OwnPolicy):
        def marginals(self, query):
            return arrays if form == "arrays" else SlateMoments.from_arrays(*arrays)

    single, pair = policies.slate_marginals(Own(), 0)
    assert policies.slate_moments(Own(), 0).exact
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


@pytest.mark.parametrize("case", NO_POLICYS)
def test_marginals_that_are_no_policys_are_refused(case):
    given, message = NO_POLICYS[case]
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


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("query", range(Q))
def test_repeats_are_those_of_enumeration(name, query):
    expected = checks.find_repeats(pages_of(POLICIES[name], query)[0]).any()
    assert policies.slate_moments(POLICIES[name], query).repeats == expected


@pytest.mark.parametrize("query", [-1, Q, 0.5])
def test_an_unknown_query_is_an_error(query):
    with pytest.raises(ValueError, match="query"):
        policies.slate_moments(RANKER, query)


# The pseudoinverse


@every_policy
@every_query
def test_pseudoinverse_is_that_of_the_dense_matrix(name, query):
    gamma = moments_of(POLICIES[name], query)[1].reshape(N * K, N * K)
    expected = np.linalg.pinv(gamma, rcond=1e-11, hermitian=True)
    operator = policies.slate_pseudoinverse(POLICIES[name], query)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(dense(operator.times), expected, rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(dense(operator.projected), gamma @ expected, atol=1e-9)


@pytest.mark.parametrize("slots", [1, 4, 5, 7])
def test_closed_form_of_uniform_is_that_of_its_moments(slots):
    table = policies.slate_moments(PlackettLuce(np.ones((1, 5)), slots=slots), 0).table
    plain = TypeTable(table.counts, table.slot, table.joint)
    for one, other in ((table.between, plain.between), (table.within[0], plain.within[0])):
        np.testing.assert_allclose(one.inverse, other.inverse, atol=1e-9)
        np.testing.assert_allclose(one.projector, other.projector, atol=1e-9)


@pytest.mark.parametrize(("temperature", "error"), [(1.0, 1e-12), (0.3, 1e-11), (0.1, 1e-4)])
def test_weights_find_every_marginal_of_a_target(temperature, error):
    """E[1_s w(s)] under logging is q of the target: what makes PI unbiased.

    At 0.1 the rarest pages have probability 1e-13, and as many digits are lost.
    """
    logging = PlackettLuce(WEIGHTS, temperature, slots=K)
    pages, chance = pages_of(logging, 0)
    wanted = policies.slate_marginals(POLICIES["PlackettLuce of equal weights"], 0)[0]
    table = policies.slate_pseudoinverse(logging, 0).times(wanted)
    shown = indicators(pages)
    weights = np.einsum("pka,ka->p", shown, table)
    got = np.einsum("p,pka->ka", chance * weights, shown)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=error)


def test_pseudoinverse_of_the_papers_hundred_documents_solves():
    weights = 2.0 ** -np.floor(np.log2(np.arange(1, 101)))
    policy = PlackettLuce([np.random.default_rng(0).permutation(weights)], slots=10)
    operator = policies.slate_pseudoinverse(policy, 0)
    target = policies.slate_marginals(Ranker([np.arange(100.0)], slots=10), 0)[0]
    pair = policies.slate_marginals(policy, 0)[1]
    got = np.einsum("kalb,lb->ka", pair, operator.times(target))
    np.testing.assert_allclose(got, target, atol=1e-9)


@every_policy
def test_imputed_rewards_are_the_mean_over_pages(name):
    policy = POLICIES[name]
    operator = policies.slate_pseudoinverse(policy, 2)
    pages, _ = pages_of(policy, 2)
    rewards = np.random.default_rng(0).random(len(pages))
    rows = operator.times(indicators(pages) * rewards[:, None, None])
    np.testing.assert_allclose(operator.imputed(pages, rewards), rows.mean(axis=0), atol=1e-9)
    weight = np.arange(1.0, len(pages) + 1.0)
    expected = np.average(rows, axis=0, weights=weight)
    np.testing.assert_allclose(operator.imputed(pages, rewards, weight), expected, atol=1e-9)


def test_imputed_rewards_of_all_pages_are_their_slots_rewards():
    """With rewards that are sums over slots, every page's imputed sum is its reward."""
    policy = POLICIES["Uniform"]
    pages, _ = pages_of(policy, 0)
    rewards = (np.random.default_rng(1).random((K, N)) * indicators(pages)).sum(axis=(1, 2))
    imputed = policies.slate_pseudoinverse(policy, 0).imputed(pages, rewards)
    np.testing.assert_allclose((imputed * indicators(pages)).sum(axis=(1, 2)), rewards, atol=1e-9)


@pytest.mark.parametrize(
    ("pages", "rewards", "message"),
    [
        ([[0, 1]], [1.0], "rankings has shape"),
        ([[0, 1, 9]], [1.0], "rankings"),
        ([[0, 1, 2]], [np.nan], "rewards"),
        ([[0, 1, 2]], [1.0, 2.0], "rewards has shape"),
        (np.zeros((0, 3), dtype=int), [], "no pages"),
    ],
)
def test_imputing_checks(pages, rewards, message):
    with pytest.raises(ValueError, match=message):
        policies.slate_pseudoinverse(POLICIES["Uniform"], 0).imputed(pages, rewards)


def test_vectors_of_another_shape_are_an_error():
    with pytest.raises(ValueError, match="vectors has shape"):
        policies.slate_pseudoinverse(POLICIES["Uniform"], 0).times(np.zeros((N, K)))
