"""Policies that keep their moments."""

from __future__ import annotations

import numpy as np
import pytest
from slates import POLICIES, RANKER, UNIFORM, Drawing, K, N, Q

from clickgym import policies
from clickgym.evaluation import PseudoinverseWeights
from clickgym.policies import Policy, Remembering

KNOWN = POLICIES["PlackettLuce"]
DRAWN = Drawing(KNOWN)


@pytest.fixture(scope="module")
def remembering():
    return Remembering(DRAWN, samples=500, seed=3)


def test_moments_are_drawn_once(remembering):
    one, again = (policies.slate_moments(remembering, 1) for _ in range(2))
    assert one is again
    expected = policies.slate_moments(DRAWN, 1, 500, 3)
    np.testing.assert_array_equal(one.pair, expected.pair)


def test_the_pseudoinverse_is_kept_for_the_next_target(remembering):
    table = policies.slate_moments(remembering, 0).table
    PseudoinverseWeights(remembering, RANKER, [0])
    kept = table.between
    PseudoinverseWeights(remembering, UNIFORM, [0])
    assert policies.slate_moments(remembering, 0).table.between is kept


def test_it_shows_what_the_policy_shows():
    keeping = Remembering(KNOWN)
    query = np.arange(Q)
    one, other = (policy.draw(query, np.random.default_rng(0)) for policy in (keeping, KNOWN))
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])
    np.testing.assert_array_equal(keeping.log_prob(query, one[0]), other[1])
    np.testing.assert_array_equal(keeping.greedy(query), KNOWN.greedy(query))
    assert (keeping.slots, keeping.shape) == (K, (Q, N))


def test_it_is_saved_with_its_policy(tmp_path):
    Remembering(KNOWN, 500, 3).save(tmp_path / "policy")
    loaded = Policy.load(tmp_path / "policy")
    assert (loaded.samples, loaded.seed) == (500, 3)
    np.testing.assert_array_equal(loaded.policy.weights, KNOWN.weights)


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match="samples"):
        Remembering(KNOWN, samples=1)
