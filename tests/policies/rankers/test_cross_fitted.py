"""Rankers learned from grades, and the groups of features that they see."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import data, evaluation, policies

WORLD = data.synthetic_world(n_queries=60, seed=1)
SMALL = data.synthetic_world(n_queries=3, n_docs=5, n_features=4)
GROUP_RANKERS = ("tree-title", "tree-body", "lasso-title", "lasso-body")


def test_the_groups_of_mslr_are_the_statistics_of_their_field():
    np.testing.assert_array_equal(policies.feature_group(WORLD, "body"), np.arange(0, 125, 5))
    np.testing.assert_array_equal(policies.feature_group(WORLD, "title"), np.arange(2, 125, 5))


def test_other_features_are_dealt_out():
    found = [policies.feature_group(SMALL, group).tolist() for group in ("title", "body")]
    assert found == [[0, 2], [1, 3]]


def test_groups_need_two_features():
    world = data.synthetic_world(n_queries=3, n_docs=5, n_features=1)
    with pytest.raises(ValueError, match="at least two features"):
        policies.feature_group(world, "title")


def test_rankers_of_groups_know_something():
    noise = evaluation.ndcg(np.random.default_rng(0).random(WORLD.gain.shape), WORLD, 10)
    for name in GROUP_RANKERS:
        found = evaluation.ndcg(policies.ranker_scores(name, WORLD), WORLD, 10)
        assert found > noise + 0.01, name


def test_a_ranker_sees_its_group_only():
    changed = WORLD.features.copy()
    changed[:, :, policies.feature_group(WORLD, "body")] = 0.0
    other = data.World(WORLD.relevance, changed, WORLD.query_probs)
    for name in GROUP_RANKERS:
        before, after = (policies.ranker_scores(name, world) for world in (WORLD, other))
        assert np.array_equal(before, after) == name.endswith("title"), name


def assert_cross_fitted(name, world, **settings):
    """Assert that a change of a query's grades changes others' scores, and not its own."""
    relevance = world.relevance.copy()
    relevance[7] = np.where(relevance[7] >= 0, 4 - relevance[7], -1)
    changed = data.World(relevance, world.features, world.query_probs)
    before, after = (policies.ranker_scores(name, w, **settings) for w in (world, changed))
    np.testing.assert_array_equal(after[7], before[7], err_msg=name)
    assert not np.array_equal(after, before), name


def test_no_query_is_scored_by_a_model_that_saw_it():
    for name in ("tree-title", "lasso-title"):
        assert_cross_fitted(name, WORLD)


def test_no_query_is_scored_by_a_lambdamart_that_saw_it():
    pytest.importorskip("lightgbm", reason="the rankers extra is not installed")
    assert_cross_fitted("LambdaMART", data.synthetic_world(40, 10, seed=2), trees=5)
