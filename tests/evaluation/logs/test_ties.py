"""Ranks that documents tie together, against graphs that one can draw."""

from __future__ import annotations

import numpy as np

from clickgym import data, evaluation


def log_of(*rankings):
    ranking = np.array(rankings)
    return data.ClickLog(np.zeros(len(ranking), int), ranking, np.zeros(ranking.shape, bool))


def test_a_fixed_ranking_ties_nothing():
    found = evaluation.tied_ranks(log_of([0, 1, 2], [0, 1, 2]))
    assert found.groups == ((1,), (2,), (3,))
    assert not found.connected
    assert found.weakest == 0
    assert found.documents.tolist() == np.eye(3, dtype=int).tolist()


def test_ranks_are_tied_through_others():
    found = evaluation.tied_ranks(log_of([0, 1, 2], [1, 0, 2], [3, 2, 1]))
    assert found.documents.tolist() == [[3, 2, 1], [2, 3, 2], [1, 2, 2]]
    assert found.connected
    assert found.weakest == 2


def test_groups_that_nothing_ties_are_told_apart():
    found = evaluation.tied_ranks(log_of([0, 1, 2, 3], [1, 0, 3, 2]))
    assert found.groups == ((1, 2), (3, 4))
    assert found.weakest == 2


def test_the_same_document_of_another_query_ties_nothing():
    log = data.ClickLog([0, 1], [[0, 1], [1, 0]], np.zeros((2, 2), bool))
    assert evaluation.tied_ranks(log).groups == ((1,), (2,))


def test_ranks_that_no_page_has_and_rows_of_weight_zero_are_left_out():
    log = data.ClickLog([0, 0], [[0, 1, -1], [1, 0, -1]], np.zeros((2, 3), bool), None, [1.0, 0.0])
    assert evaluation.tied_ranks(log).groups == ((1,), (2,))


def test_a_weak_bridge_is_named():
    many = [[d, d + 1, -1] for d in range(0, 20, 2)] + [[d + 1, d, -1] for d in range(0, 20, 2)]
    found = evaluation.tied_ranks(log_of(*many, [30, 31, 0]))
    assert found.connected
    assert found.documents[0, 1] == 20
    assert found.weakest == 1
