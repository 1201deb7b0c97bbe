"""The distinct pages of a log."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym.data import ClickLog, World
from clickgym.policies.estimation.pages import LoggedPages

WORLD = World(np.zeros((3, 4), dtype=int))


def fold(query, ranking, weight=None):
    ranking = np.array(ranking)
    log = ClickLog(query, ranking, np.zeros(ranking.shape, dtype=bool), weight=weight)
    return LoggedPages.from_log(log, WORLD)


def test_equal_pages_are_folded_and_sorted_by_query():
    pages = fold([2, 0, 2, 2], [[1, 0], [3, -1], [1, 0], [0, 1]], [1.0, 2.0, 0.5, 0.0])
    assert pages.queries.tolist() == [0, 2]
    assert pages.place.tolist() == [0, 1]
    assert pages.ranking.tolist() == [[3, -1], [1, 0]]
    assert pages.counts.tolist() == [2.0, 1.5]
    assert pages.lengths.tolist() == [1, 2]


def test_a_split_deals_out_impressions_one_by_one():
    pages = fold([0, 1], [[0, 1], [2, 3]], [1000.0, 500.0])
    kept, left_out = pages.split(0.2, seed=0)
    np.testing.assert_allclose(kept.counts + left_out.counts, pages.counts)
    assert 0.15 < left_out.counts.sum() / 1500 < 0.25
    assert (left_out.counts == np.rint(left_out.counts)).all()
    again = pages.split(0.2, seed=0)[1]
    assert again.counts.tolist() == left_out.counts.tolist()


def test_pages_with_broken_counts_stay_whole():
    pages = fold([0, 0, 1], [[0, 1], [1, 2], [0, 3]], [0.3, 0.6, 1.0])
    kept, left_out = pages.split(0.5, seed=1)
    assert sorted([*kept.counts, *left_out.counts]) == [0.3, 0.6, 1.0]


def test_impossible_pages_are_named():
    with pytest.raises(ValueError, match="row 1 of the log shows a document twice"):
        fold([0, 0], [[0, 1], [2, 2]])
    few = World(np.array([[0, 0, -1, -1]]))
    log = ClickLog([0, 0], [[0, 1], [0, 3]], np.zeros((2, 2), dtype=bool))
    with pytest.raises(ValueError, match="row 1 of the log shows document 3, which is no cand"):
        LoggedPages.from_log(log, few)
    empty = ClickLog(
        np.zeros(0, dtype=int), np.zeros((0, 2), dtype=int), np.zeros((0, 2), dtype=bool)
    )
    with pytest.raises(ValueError, match="no impressions"):
        LoggedPages.from_log(empty, few)
