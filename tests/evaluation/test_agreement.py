"""Agreement of two rankings, against scipy and cases with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from clickgym import evaluation

EVERY = np.ones((2, 4), bool)
HALF = np.array([0.5, 0.5])


def test_the_same_order_agrees_and_the_reverse_does_not():
    scores = np.array([[0.1, 0.4, 0.3, 0.2], [3.0, 1.0, 2.0, 4.0]])
    assert evaluation.rank_agreement(scores, scores**3, EVERY, HALF) == pytest.approx((1, 1, 1))
    found = evaluation.rank_agreement(scores, -scores, EVERY, HALF)
    assert found == pytest.approx((-1, 0, 1))


def test_queries_count_by_their_frequency():
    first = np.array([[1.0, 2, 3, 4], [1, 2, 3, 4]])
    second = np.array([[1.0, 2, 3, 4], [4, 3, 2, 1]])
    found = evaluation.rank_agreement(first, second, EVERY, np.array([0.9, 0.1]))
    assert found == pytest.approx((0.8, 0.9, 1.0))


@pytest.mark.filterwarnings("ignore::scipy.stats.ConstantInputWarning")
def test_ties_and_missing_candidates_are_as_in_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 5, (2, 30, 9)).astype(float)
    there = rng.random((30, 9)) < 0.7
    probs = rng.dirichlet(np.ones(30))
    known = np.array(
        [spearmanr(a[c], b[c]).statistic for a, b, c in zip(first, second, there, strict=True)]
    )
    compared = np.isfinite(known)
    expected = probs[compared] @ known[compared] / probs[compared].sum()
    found = evaluation.rank_agreement(first, second, there, probs)
    assert found.correlation == pytest.approx(expected)
    assert found.compared == pytest.approx(probs[compared].sum())


def test_queries_that_cannot_be_compared_are_left_out():
    first, second = np.array([[1.0, 2], [1, 1]]), np.array([[1.0, 2], [1, 2]])
    found = evaluation.rank_agreement(first, second, np.ones((2, 2), bool), HALF)
    assert found == pytest.approx((1.0, 1.0, 0.5))
    none = evaluation.rank_agreement(first, second, np.eye(2, dtype=bool), HALF)
    assert np.isnan(none.correlation)
    assert none.compared == 0.0
