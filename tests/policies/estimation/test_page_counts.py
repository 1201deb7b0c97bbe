"""Pages as often as a log showed them, smoothed by another policy."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym.policies import PlackettLuce, Ranker
from clickgym.policies.estimation.page_counts import PageCounts, look_up_counts

SMOOTH = PlackettLuce(np.ones((2, 3)), slots=2)
PAGES = ([0, 0], [[0, 1], [1, 0]], [3.0, 1.0])


def test_probabilities_are_smoothed_counts():
    policy = PageCounts(SMOOTH, *PAGES, prior=2.0)
    asked = [0, 0, 0, 1], [[0, 1], [1, 0], [2, 0], [0, 1]]
    expected = [(3 + 2 / 6) / 6, (1 + 2 / 6) / 6, (2 / 6) / 6, 1 / 6]
    np.testing.assert_allclose(np.exp(policy.log_prob(*asked)), expected)


def test_greedy_is_the_most_frequent_page_or_the_smoother_policys():
    assert PageCounts(SMOOTH, *PAGES, prior=2.0).greedy([0, 1]).tolist() == [[0, 1], [0, 1]]
    rare = PageCounts(SMOOTH, [0], [[2, 1]], [1.0], prior=2.0)
    assert rare.greedy([0]).tolist() == [[0, 1]]
    frequent = PageCounts(SMOOTH, [0], [[2, 1]], [5.0], prior=2.0)
    assert frequent.greedy([0]).tolist() == [[2, 1]]


def test_counts_are_found_for_asked_pages_of_their_query_only():
    known = np.array([0, 1]), np.array([[0, 1], [0, 1]]), np.array([4.0, 7.0])
    asked = np.array([1, 0, 0]), np.array([[0, 1], [0, 1], [1, 0]])
    assert look_up_counts(*known, *asked).tolist() == [7.0, 4.0, 0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": [3.0, 0.0]}, "above 0"),
        ({"query": [1, 0]}, "ascending"),
        ({"counts": [3.0]}, "counts has shape"),
        ({"prior": 0.0}, "prior must be above 0"),
        ({"ranking": [[0, 3], [1, 0]]}, "ranking"),
    ],
)
def test_bad_arguments_are_named(change, message):
    given = dict(zip(("query", "ranking", "counts"), PAGES, strict=True)) | {"prior": 1.0} | change
    with pytest.raises(ValueError, match=message):
        PageCounts(SMOOTH, **given)


def test_a_smoother_without_probabilities_is_refused():
    ranker = Ranker(np.ones((2, 3)), slots=2)
    ranker.has_log_prob = False
    with pytest.raises(ValueError, match="no log-probabilities"):
        PageCounts(ranker, *PAGES, prior=1.0)
