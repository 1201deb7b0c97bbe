"""Product policies: slots drawn independently of each other."""

from __future__ import annotations

import numpy as np
import pytest
from slates import product

from clickgym.policies import Policy, Product


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


def test_a_product_checks_its_probabilities():
    for probs, message in (
        ([[[0.5, 0.4]]], r"probs\[0, 0\] must sum to 1"),
        ([[[0.5, -0.5]]], "within"),
        ([[[0.0, 0.0], [0.5, 0.5]]], "empty slot"),
        (np.zeros((1, 0, 2)), "empty"),
    ):
        with pytest.raises(ValueError, match=message):
            Product(probs)
