"""Gini and coverage, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import data, envs, evaluation, policies
from clickgym.evaluation.warning_signs.concentration import gini


def gini_by_pairs(values):
    """Half the mean absolute difference of all pairs, relative to the mean."""
    values = np.asarray(values, float)
    return np.abs(values[:, None] - values).mean() / values.mean() / 2.0


def test_gini_is_the_mean_difference_of_pairs():
    rng = np.random.default_rng(0)
    values = rng.gamma(0.5, size=(5, 9))
    counted = rng.random((5, 9)) < 0.7
    expected = [gini_by_pairs(row[kept]) for row, kept in zip(values, counted, strict=True)]
    assert gini(values, counted) == pytest.approx(expected)


def test_gini_knows_its_ends():
    everything = np.ones((3, 4), bool)
    found = gini(np.array([[1.0, 1, 1, 1], [0, 0, 0, 5], [0, 0, 0, 0]]), everything)
    assert found[:2].tolist() == [0.0, 0.75]
    assert np.isnan(found[2])


@pytest.fixture
def two_queries():
    return data.World(np.zeros((2, 4), np.int8), query_probs=[0.5, 0.5])


@pytest.fixture
def log():
    clicks = np.zeros((3, 2), bool)
    return data.ClickLog([0, 0, 1], [[0, 1], [2, 0], [3, 1]], clicks, weight=[4.0, 2.0, 2.0])


def test_exposure_of_ranker_and_log_is_counted_by_hand(log, two_queries):
    policy = policies.Ranker.from_rankings([[0, 1], [2, 3]], world=two_queries)
    looks = [1.0, 0.5]
    found = evaluation.concentration(policy, log, two_queries, looks)
    own = np.array([[6, 3, 0, 0], [0, 0, 2, 1]])
    logged = np.array([[5, 2, 2, 0], [0, 1, 0, 2]])
    assert found.gini == pytest.approx(gini_by_pairs(own.ravel()))
    assert found.log_gini == pytest.approx(gini_by_pairs(logged.ravel()))
    by_query = [0.75 * gini_by_pairs(each[0]) + 0.25 * gini_by_pairs(each[1])
                for each in (own, logged)]  # fmt: skip
    assert (found.query_gini, found.log_query_gini) == pytest.approx(by_query)
    assert (found.coverage, found.log_coverage) == (0.5, 0.625)
    assert found.documents == 8


def test_documents_of_several_queries_are_one_in_the_catalogue(log):
    ids = [["a", "b", "c", "d"], ["d", "a", "b", "e"]]
    world = data.World(np.zeros((2, 4), np.int8), doc_ids=ids)
    policy = policies.Ranker.from_rankings([[0, 1], [2, 3]], world=world)  # a b, b e
    found = evaluation.concentration(policy, log, world)
    assert found.documents == 5
    assert found.gini == pytest.approx(gini_by_pairs([6, 6 + 2, 0, 0, 2]))
    assert found.log_gini == pytest.approx(gini_by_pairs([6 + 2, 4, 2, 0, 2]))  # a b c d e
    assert (found.coverage, found.log_coverage) == (0.6, 0.8)


def test_a_uniform_policy_is_not_concentrated(two_queries):
    policy = policies.Uniform(two_queries, slots=2)
    log = data.ClickLog([0, 1], [[0, 1], [0, 1]], np.zeros((2, 2), bool), weight=[10.0, 10.0])
    found = evaluation.concentration(policy, log, two_queries)
    assert found.gini == pytest.approx(0.0, abs=1e-9)
    assert found.coverage == 1.0
    assert found.warning is None


def test_it_speaks_where_half_of_the_documents_get_lost(two_queries):
    from clickgym.clickmodels import PBM

    log = envs.collect(
        two_queries, PBM(np.full((2, 4), 0.5), np.ones(1)), policies.Uniform(two_queries, 1), 400, 0
    )
    narrow = policies.Ranker.from_rankings([[0], [0]], world=two_queries)
    found = evaluation.concentration(narrow, log, two_queries)
    assert (found.coverage, found.log_coverage) == (0.25, 1.0)
    assert "shows 25% of the catalogue where the log showed 100%" in found.warning


def test_bad_examination_is_named(log, two_queries):
    policy = policies.Uniform(two_queries, slots=2)
    for wrong, message in (([1.0], "examination has shape"), ([-1.0, 2.0], "at least 0")):
        with pytest.raises(ValueError, match=message):
            evaluation.concentration(policy, log, two_queries, wrong)
