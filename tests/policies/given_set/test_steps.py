"""Policies whose next document depends on which came before, beyond what can be enumerated."""

from __future__ import annotations

import numpy as np
import pytest
from saved_files import find

from clickgym.policies import PlackettLuce, Product, marginals_given_set
from clickgym.policies.given_set.steps import steps_given_set


def assert_doubly_stochastic(given):
    for axis in (1, 2):
        np.testing.assert_allclose(given.probabilities.sum(axis=axis), 1.0, rtol=0, atol=1e-12)


def test_the_recursion_gives_what_the_lemmas_give():
    weights = 100.0 ** np.random.default_rng(0).random((3, 14))
    shown = np.tile(np.arange(9), (3, 1))

    def following(rows, placed):
        left = np.where(placed[:, :, None], 0.0, weights[rows, :9].T)
        return weights[rows, :9].T / (left.sum(axis=1) + weights[rows, 9:].sum(axis=1))[:, None]

    found = steps_given_set(following, np.ones(3, dtype=bool), np.full(3, 9), 9)
    expected = marginals_given_set(PlackettLuce(weights, slots=9), [0, 1, 2], shown)
    np.testing.assert_allclose(found.probabilities, expected.probabilities, rtol=1e-10)
    np.testing.assert_allclose(found.log_probability, expected.log_probability, rtol=1e-10)


def test_slots_of_one_distribution_have_every_order_equally_often():
    share = np.random.default_rng(0).dirichlet(np.ones(12))
    policy = Product(np.tile(share, (1, 10, 1)))
    given = marginals_given_set(policy, [0], [np.arange(10)])
    np.testing.assert_allclose(given.probabilities, 0.1, rtol=1e-12)
    factorial = np.log(np.arange(1, 11)).sum()
    assert given.log_probability[0] == pytest.approx(factorial + np.log(share[:10]).sum())


def test_tiny_probabilities_do_not_underflow():
    probs = np.full((1, 11, 12), 1e-60)
    probs[0, :, 11] = 1.0
    probs[0, 0, 3] = 1e-50
    given = marginals_given_set(Product(probs), [0], [np.arange(11)])
    assert_doubly_stochastic(given)
    assert given.probabilities[0, 3, 0] == pytest.approx(1e10 / (1e10 + 10), rel=1e-9)


def test_a_slot_policy_is_exact_on_pages_of_ten():
    rng = np.random.default_rng(0)
    shapes = ((2, 12, 3), (2, 12, 3), (2, 12), (3, 7), (3,))
    arrays = [rng.normal(size=shape) for shape in shapes]
    policy = find("agents", "SlotPolicy")(*arrays, np.ones((2, 12), dtype=bool), 10)
    shown = policy.greedy([0, 1])
    given = marginals_given_set(policy, [0, 1], shown)
    assert given.standard_error is None
    assert_doubly_stochastic(given)
    drawn = policy.sample(np.zeros(40_000, dtype=int), rng)
    same = (np.sort(drawn, axis=1) == np.sort(shown[0])).all(axis=1)
    assert same.sum() > 500
    first = [(drawn[same, 0] == document).mean() for document in shown[0]]
    error = np.sqrt(0.25 / same.sum())
    assert np.abs(first - given.probabilities[0, :, 0]).max() < 4 * error
