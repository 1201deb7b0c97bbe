"""The pseudoinverse of Γ against that of dense matrices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from slates import POLICIES, WEIGHTS, K, N, Q, indicators, moments_of, pages_of

from clickgym import policies
from clickgym.policies import PlackettLuce, Ranker
from clickgym.policies.slates.document_types import TypeTable


def dense(operator):
    """An operator on (K, N) as a matrix."""
    size = N * K
    return operator(np.eye(size).reshape(size, K, N)).reshape(size, size)


def test_pseudoinverse_is_that_of_the_dense_matrix():
    for (name, policy), query in itertools.product(POLICIES.items(), range(Q)):
        gamma = moments_of(policy, query)[1].reshape(N * K, N * K)
        expected = np.linalg.pinv(gamma, rcond=1e-11, hermitian=True)
        operator = policies.slate_pseudoinverse(policy, query)
        error, label = 1e-9 * np.abs(expected).max(), f"{name}, query {query}"
        np.testing.assert_allclose(dense(operator.times), expected, 0, error, err_msg=label)
        onto = dense(operator.project)
        np.testing.assert_allclose(onto, gamma @ expected, atol=1e-9, err_msg=label)


def test_closed_form_of_uniform_is_that_of_its_moments():
    for slots in (1, 4, 5, 7):
        table = policies.slate_moments(PlackettLuce(np.ones((1, 5)), slots=slots), 0).table
        plain = TypeTable(table.counts, table.slot, table.joint)
        for one, other in ((table.between, plain.between), (table.within[0], plain.within[0])):
            np.testing.assert_allclose(one.inverse, other.inverse, atol=1e-9)
            np.testing.assert_allclose(one.projector, other.projector, atol=1e-9)


def test_weights_find_every_marginal_of_a_target():
    """E[1_s w(s)] under logging is q of the target: what makes PI unbiased.

    At 0.1 the rarest pages have probability 1e-13, and as many digits are lost.
    """
    wanted = policies.slate_marginals(POLICIES["PlackettLuce of equal weights"], 0)[0]
    for temperature, error in ((1.0, 1e-12), (0.3, 1e-11), (0.1, 1e-4)):
        logging = PlackettLuce(WEIGHTS, temperature, slots=K)
        pages, chance = pages_of(logging, 0)
        table = policies.slate_pseudoinverse(logging, 0).times(wanted)
        shown = indicators(pages)
        weights = np.einsum("pka,ka->p", shown, table)
        got = np.einsum("p,pka->ka", chance * weights, shown)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=error, err_msg=f"at {temperature}")


def test_pseudoinverse_of_the_papers_hundred_documents_solves():
    weights = 2.0 ** -np.floor(np.log2(np.arange(1, 101)))
    policy = PlackettLuce([np.random.default_rng(0).permutation(weights)], slots=10)
    operator = policies.slate_pseudoinverse(policy, 0)
    target = policies.slate_marginals(Ranker([np.arange(100.0)], slots=10), 0)[0]
    pair = policies.slate_marginals(policy, 0)[1]
    got = np.einsum("kalb,lb->ka", pair, operator.times(target))
    np.testing.assert_allclose(got, target, atol=1e-9)


def test_imputed_rewards_are_the_mean_over_pages():
    for name, policy in POLICIES.items():
        operator = policies.slate_pseudoinverse(policy, 2)
        pages, _ = pages_of(policy, 2)
        rewards = np.random.default_rng(0).random(len(pages))
        rows = operator.times(indicators(pages) * rewards[:, None, None])
        got = operator.impute(pages, rewards)
        np.testing.assert_allclose(got, rows.mean(axis=0), atol=1e-9, err_msg=name)
        weight = np.arange(1.0, len(pages) + 1.0)
        expected = np.average(rows, axis=0, weights=weight)
        got = operator.impute(pages, rewards, weight)
        np.testing.assert_allclose(got, expected, atol=1e-9, err_msg=name)


def test_imputed_rewards_of_all_pages_are_their_slots_rewards():
    """With rewards that are sums over slots, every page's imputed sum is its reward."""
    policy = POLICIES["Uniform"]
    pages, _ = pages_of(policy, 0)
    rewards = (np.random.default_rng(1).random((K, N)) * indicators(pages)).sum(axis=(1, 2))
    imputed = policies.slate_pseudoinverse(policy, 0).impute(pages, rewards)
    np.testing.assert_allclose((imputed * indicators(pages)).sum(axis=(1, 2)), rewards, atol=1e-9)


def test_imputing_checks():
    operator = policies.slate_pseudoinverse(POLICIES["Uniform"], 0)
    for pages, rewards, message in (
        ([[0, 1]], [1.0], "rankings has shape"),
        ([[0, 1, 9]], [1.0], "rankings"),
        ([[0, 1, 2]], [np.nan], "rewards"),
        ([[0, 1, 2]], [1.0, 2.0], "rewards has shape"),
        (np.zeros((0, 3), dtype=int), [], "no pages"),
    ):
        with pytest.raises(ValueError, match=message):
            operator.impute(pages, rewards)


def test_vectors_of_another_shape_are_an_error():
    with pytest.raises(ValueError, match="vectors has shape"):
        policies.slate_pseudoinverse(POLICIES["Uniform"], 0).times(np.zeros((N, K)))
