"""Rankers: policies that show the same ranking every time."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym.data import World
from clickgym.policies import Policy, Ranker


def test_ranker_breaks_ties_by_index():
    assert Ranker([[1.0, 2.0, 2.0, 2.0]], 4).greedy([0]).tolist() == [[1, 2, 3, 0]]


def test_ranker_from_rankings_without_n_docs_fits_worlds_with_more_candidates():
    policy = Ranker.from_rankings([[1, 0]])
    assert policy.check_world(World([[0, 1, 2, 3]])) is None


def test_ranker_from_rankings_without_n_docs_gives_unheard_of_documents_probability_zero():
    policy = Ranker.from_rankings([[1, 0]])
    assert policy.log_prob([0, 0], [[1, 3], [1, 0]]).tolist() == [-np.inf, 0.0]


def test_ranker_from_rankings_does_not_fit_worlds_with_fewer_candidates():
    with pytest.raises(ValueError, match="1 queries of 4 candidates"):
        Ranker.from_rankings([[3, 0]]).check_world(World([[0, 1, 2]]))


def test_ranker_from_rankings_with_n_docs_fits_worlds_of_that_size_only():
    with pytest.raises(ValueError, match="1 queries of 2 candidates"):
        Ranker.from_rankings([[1, 0]], n_docs=2).check_world(World([[0, 1, 2]]))


def test_ranker_does_not_follow_the_callers_array():
    rankings = np.array([[1, 0]])
    policy = Ranker.from_rankings(rankings)
    rankings[:] = 0
    assert policy.greedy([0]).tolist() == [[1, 0]]


def test_a_loaded_ranker_without_n_docs_still_fits_larger_worlds(tmp_path):
    Ranker.from_rankings([[1, 0]]).save(tmp_path / "policy")
    assert Policy.load(tmp_path / "policy").check_world(World([[0, 1, 2, 3]])) is None


def test_bad_arguments_are_named():
    for argument, make in (
        ("scores", lambda: Ranker([1.0, 2.0])),
        ("scores", lambda: Ranker([[1.0, np.nan]])),
        ("scores", lambda: Ranker([[1.0, np.inf]])),
        ("slots", lambda: Ranker([[1.0]], slots=0)),
        ("rankings", lambda: Ranker.from_rankings([0, 1])),
        ("rankings", lambda: Ranker.from_rankings([[0.0]])),
        ("rankings", lambda: Ranker.from_rankings([[1, 1]])),
        ("rankings", lambda: Ranker.from_rankings([[-1, 1]])),
        ("rankings", lambda: Ranker.from_rankings([[-2, 1]])),
        ("rankings", lambda: Ranker.from_rankings([[0, 3]], 3)),
        ("rankings", lambda: Ranker.from_rankings([[]])),
        ("n_docs", lambda: Ranker.from_rankings([[0]], 1.5)),
        ("scores", lambda: Ranker([["a"]])),
    ):
        with pytest.raises(ValueError, match=rf"^{argument}\b"):
            make()
