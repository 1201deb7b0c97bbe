"""Mixtures of policies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clickgym import data, policies

SMALL = data.synthetic_world(n_queries=3, n_docs=5, n_features=4)
EVERY = np.array(list(itertools.permutations(range(5), 3)))


def probabilities(policy, query=1):
    return np.exp(policy.log_prob(np.full(len(EVERY), query), EVERY))


@pytest.fixture(scope="module")
def mixture():
    first = policies.stochastic(SMALL.gain, 0.5, 3, world=SMALL)
    return policies.Mixture([first, policies.Ranker(SMALL.gain, 3, world=SMALL)], [0.7, 0.3])


def test_a_mixtures_probabilities_are_mixed(mixture):
    first, second = (probabilities(policy) for policy in mixture.policies)
    np.testing.assert_allclose(probabilities(mixture), 0.7 * first + 0.3 * second)


def test_a_mixture_draws_by_its_probabilities(mixture):
    n = 40_000
    rng = np.random.default_rng(0)
    ranking, log_prob = mixture.draw(np.ones(n, dtype=np.int64), rng)
    expected = probabilities(mixture)
    code = EVERY @ [25, 5, 1]
    found = np.array([(ranking @ [25, 5, 1] == one).mean() for one in code])
    error = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(found - expected) < 5 * error + 1e-12).all()
    np.testing.assert_allclose(log_prob, mixture.log_prob(np.ones(n, dtype=int), ranking))


def test_a_mixture_is_greedy_as_its_largest_part(mixture):
    query = np.arange(3)
    np.testing.assert_array_equal(mixture.greedy(query), mixture.policies[0].greedy(query))


def test_a_saved_mixture_is_the_same(mixture, tmp_path):
    mixture.save(tmp_path / "mixture")
    loaded = policies.Policy.load(tmp_path / "mixture")
    assert loaded.fingerprint == SMALL.fingerprint
    np.testing.assert_array_equal(probabilities(loaded), probabilities(mixture))


def test_a_mixture_of_mixtures_is_saved_too(mixture, tmp_path):
    policies.epsilon_uniform(mixture, SMALL, 0.2).save(tmp_path / "twice")
    loaded = policies.Policy.load(tmp_path / "twice")
    np.testing.assert_allclose(probabilities(loaded), 0.8 * probabilities(mixture) + 0.2 / 60)


def test_a_mixtures_marginals_are_those_of_its_slates(mixture):
    assert policies.slate_moments(mixture, 1).exact
    single, pair = policies.slate_marginals(mixture, 1)
    weights = probabilities(mixture)
    shown = np.zeros((len(EVERY), 3, 5))
    shown[np.arange(len(EVERY))[:, None], np.arange(3), EVERY] = 1.0
    np.testing.assert_allclose(single, np.einsum("s,ska->ka", weights, shown), atol=1e-12)
    expected = np.einsum("s,ska,slb->kalb", weights, shown, shown)
    np.testing.assert_allclose(pair, expected, atol=1e-12)


def test_weights_are_a_distribution(mixture):
    for weights, message in (
        ([0.5, 0.4], "sum to 1"), ([1.0], "weights has shape"), ([1.5, -0.5], "within"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            policies.Mixture(mixture.policies, weights)


def test_policies_of_a_mixture_have_the_same_slots():
    parts = [policies.Uniform(SMALL, slots) for slots in (2, 3)]
    with pytest.raises(ValueError, match="do not fit together"):
        policies.Mixture(parts, [0.5, 0.5])


def test_policies_of_a_mixture_belong_to_one_world():
    parts = [policies.Uniform(data.synthetic_world(3, 5, seed=seed), 2) for seed in (0, 1)]
    with pytest.raises(ValueError, match="different worlds"):
        policies.Mixture(parts, [0.5, 0.5])
