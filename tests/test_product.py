"""Product policies: slots drawn independently of each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare
from slates import (
    Q,
    pages_of,
    product,
)

from clickgym.policies import Policy, Product

every_query = pytest.mark.parametrize("query", range(Q))


@every_query
def test_a_product_draws_what_its_probabilities_say(query):
    policy = product()
    pages, chance = pages_of(policy, query)
    drawn, log_prob = policy.draw(np.full(20_000, query), np.random.default_rng(0))
    match = (drawn[:, None] == pages).all(axis=2)
    assert match.any(axis=1).all()
    np.testing.assert_allclose(np.exp(log_prob), chance[match.argmax(axis=1)], rtol=1e-12)
    expected = chance * len(drawn)
    often = expected > 5
    seen = np.append(match.sum(axis=0)[often], match.sum(axis=0)[~often].sum())
    hoped = np.append(expected[often], expected[~often].sum())
    assert chisquare(seen[hoped > 0], hoped[hoped > 0]).pvalue > 1e-4


def test_a_product_with_many_queries_draws_each_querys_documents():
    rng = np.random.default_rng(0)
    probs = np.zeros((500, 2, 40))
    documents = rng.integers(0, 40, (500, 2))
    np.put_along_axis(probs, documents[:, :, None], 1.0, axis=2)
    drawn = Product(probs).sample(np.arange(500), rng)
    np.testing.assert_array_equal(drawn, documents)
    np.testing.assert_array_equal(Product(probs).greedy(np.arange(500)), documents)


def test_a_product_is_saved_and_loaded(tmp_path):
    policy = product()
    policy.save(tmp_path / "policy")
    again = Policy.load(tmp_path / "policy")
    assert isinstance(again, Product)
    np.testing.assert_array_equal(again.probs, policy.probs)


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        ([[[0.5, 0.4]]], r"probs\[0, 0\] must sum to 1"),
        ([[[0.5, -0.5]]], "within"),
        ([[[0.0, 0.0], [0.5, 0.5]]], "empty slot"),
        (np.zeros((1, 0, 2)), "empty"),
    ],
)
def test_a_product_checks_its_probabilities(probs, message):
    with pytest.raises(ValueError, match=message):
        Product(probs)
