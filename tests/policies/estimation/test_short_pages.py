"""Plackett-Luce pages of different lengths, and how lengths are estimated."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym.data import ClickLog, World
from clickgym.policies import PlackettLuce
from clickgym.policies.estimation.pages import LoggedPages
from clickgym.policies.estimation.short_pages import ShortPages, estimate_lengths

WORLD = World(np.array([[0, 0, 0], [0, 0, -1], [0, 0, 0]]))
DRAWING = PlackettLuce(np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]), slots=3)


def fold(query, ranking):
    ranking = np.array(ranking)
    log = ClickLog(query, ranking, np.zeros(ranking.shape, dtype=bool))
    return LoggedPages.from_log(log, WORLD)


def test_a_short_page_has_the_probability_of_its_length_times_its_documents():
    policy = ShortPages(DRAWING, [[0.1, 0.2, 0.3, 0.4], [0, 0.5, 0.5, 0], [0, 0, 0, 1]])
    asked = [0, 0, 0, 1], [[-1, -1, -1], [1, -1, -1], [1, 2, -1], [0, -1, -1]]
    expected = [0.1, 0.2 * 2 / 6, 0.3 * 2 / 6 * 3 / 4, 0.5 / 2]
    np.testing.assert_allclose(np.exp(policy.log_prob(*asked)), expected)
    assert policy.greedy([0, 1]).tolist() == [[2, 1, 0], [0, -1, -1]]


def test_lengths_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r"lengths\[0\] must sum to 1"):
        ShortPages(DRAWING, [[0.1, 0.2, 0.3, 0.1], [0, 0.5, 0.5, 0], [0, 0, 0, 1]])
    with pytest.raises(ValueError, match="longer than a query's candidates"):
        ShortPages(DRAWING, [[0, 0, 0, 1.0]] * 3)


def test_full_pages_have_no_lengths_to_estimate():
    pages = fold([0, 1], [[0, 1, 2], [1, 0, -1]])
    assert estimate_lengths(pages, pages, WORLD) is None


def test_lengths_are_shares_smoothed_by_one_impression_of_the_mean():
    pages = fold([0, 0, 1], [[0, 1, 2], [2, -1, -1], [1, 0, -1]])
    found = estimate_lengths(pages, pages, WORLD)
    third = 1 / 3
    expected = [
        [0, (1 + third) / 3, third / 3, (1 + third) / 3], [0, 0.25, 0.75, 0],
        [0, third, third, third],
    ]  # fmt: skip
    np.testing.assert_allclose(found, expected)
