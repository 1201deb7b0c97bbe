"""Policies that leave each query to one of several others."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import evaluation
from clickgym.policies import ByQuery, PlackettLuce, Ranker, Uniform, marginals_given_set

RNG = np.random.default_rng(0)
SHARP = PlackettLuce(RNG.random((4, 5)) + 0.1, 0.3, 3)
FIXED = Ranker(RNG.random((4, 5)), 3)
WHICH = np.array([0, 1, 0, 1])
POLICY = ByQuery([SHARP, FIXED], WHICH)
QUERY = np.arange(4).repeat(5)


def test_every_query_is_shown_what_its_policy_shows():
    pages, log_prob = POLICY.draw(QUERY, np.random.default_rng(0))
    for number, part in enumerate((SHARP, FIXED)):
        rows = WHICH[QUERY] == number
        np.testing.assert_allclose(log_prob[rows], part.log_prob(QUERY[rows], pages[rows]))
    np.testing.assert_array_equal(POLICY.greedy(QUERY)[5:10], FIXED.greedy(QUERY)[5:10])


def test_moments_and_marginals_are_those_of_the_querys_policy():
    shown = np.array([[0, 1, 2], FIXED.greedy([1])[0]])
    found = marginals_given_set(POLICY, [0, 1], shown)
    for row, part in enumerate((SHARP, FIXED)):
        wanted = marginals_given_set(part, [row], shown[[row]])
        np.testing.assert_allclose(found.probabilities[row], wanted.probabilities[0])
        np.testing.assert_allclose(found.log_probability[row], wanted.log_probability[0])
        single = evaluation.slate_marginals(POLICY, row)[0]
        np.testing.assert_allclose(single, evaluation.slate_marginals(part, row)[0])


def test_only_policies_that_are_used_decide_whether_it_is_deterministic():
    assert not POLICY.deterministic
    assert ByQuery([SHARP, FIXED], [1, 1, 1, 1]).deterministic


@pytest.mark.parametrize(
    ("parts", "which", "error"),
    [
        ([], [0], "policies is empty"),
        ([SHARP, PlackettLuce(np.ones((4, 5)), slots=2)], WHICH, "do not fit together"),
        ([SHARP, FIXED], [0, 1], "which has shape"),
        ([SHARP, FIXED], [0, 1, 2, 0], "which must hold numbers from 0 to 1"),
        ([SHARP, FIXED], [0.5, 1, 1, 0], "which must hold integers"),
    ],
)
def test_bad_arguments_are_named(parts, which, error):
    with pytest.raises(ValueError, match=error):
        ByQuery(parts, which)


def test_policies_of_different_worlds_do_not_mix(world, short_world):
    with pytest.raises(ValueError, match="different worlds"):
        ByQuery([Uniform(world, 3), Uniform(short_world, 3)], np.zeros(6, dtype=int))
