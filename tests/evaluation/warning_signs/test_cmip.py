"""CMIP: nothing where there is nothing, and the known information of normal scores."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import data, evaluation, policies


def graded_world(n_queries, n_docs=10, seed=0):
    rng = np.random.default_rng(seed)
    return data.World(rng.integers(0, 5, (n_queries, n_docs)))


def scores_with(world, correlation, seed=0):
    """Return scores of model and logging that are correlated within grades, and by them."""
    rng = np.random.default_rng(seed)
    first, noise = rng.normal(size=(2, *world.relevance.shape))
    second = correlation * first + np.sqrt(1.0 - correlation**2) * noise
    return np.exp(first + world.relevance), second + 0.5 * world.relevance


def cmip(*arguments, **settings):
    return evaluation.cmip(*arguments, **{"repeats": 2, "folds": 3} | settings)


def test_scores_that_share_only_the_grade_share_no_information():
    world = graded_world(300)
    found = cmip(*scores_with(world, 0.0), world)
    assert abs(found.value) < 0.01
    assert found.correlation < 0.15
    assert found.warning is None


@pytest.mark.parametrize("correlation", [0.5, -0.8])
def test_normal_scores_have_the_information_that_theory_says(correlation):
    world = graded_world(1_000)
    found = cmip(*scores_with(world, correlation), world)
    information = -0.5 * np.log(1.0 - correlation**2)
    assert 0.8 * information < found.value < information + 2.0 * found.stderr
    assert found.correlation == pytest.approx(abs(correlation), abs=0.08)
    assert "correlated by" in found.warning


def test_dependence_without_correlation_is_seen():
    world = graded_world(500)
    first = np.random.default_rng(0).normal(size=world.relevance.shape)
    assert cmip(first, np.abs(first), world).value > 0.3


def test_the_standard_error_is_that_of_repeated_worlds():
    worlds = [graded_world(100, seed=seed) for seed in range(12)]
    found = [cmip(*scores_with(world, 0.6, seed), world) for seed, world in enumerate(worlds)]
    spread = np.std([one.value for one in found], ddof=1)
    assert 0.5 * spread < np.mean([one.stderr for one in found]) < 2.0 * spread


def test_the_seed_decides():
    world = graded_world(50)
    scores = scores_with(world, 0.5)
    assert cmip(*scores, world, seed=1) == cmip(*scores, world, seed=1)
    assert cmip(*scores, world, seed=1) != cmip(*scores, world, seed=2)


def test_pairs_are_drawn_from_large_worlds():
    world = graded_world(200)
    found = cmip(*scores_with(world, 0.8), world, most_pairs=500)
    assert found.n == 500


def test_only_candidates_with_grades_and_scores_count():
    rng = np.random.default_rng(0)
    relevance = rng.integers(0, 2, (100, 5))
    relevance[:, 4] = -1
    world = data.World(relevance, candidates=np.ones((100, 5), bool))
    own, logged = rng.normal(size=(2, 100, 5))
    logged[0] = -np.inf
    assert cmip(own, logged, world).n == 99 * 4


def test_a_policys_scores_are_taken():
    world = graded_world(60)
    own, logged = scores_with(world, 0.5)
    logging = policies.stochastic(logged, 0.1, slots=5, world=world)
    assert cmip(own, logging, world) == cmip(own, logging.weights, world)
    ranker = policies.Ranker(logged, slots=5, world=world)
    with pytest.raises(ValueError, match="has no scores of documents"):
        cmip(own, ranker, world)


def test_what_it_needs_is_named():
    world = data.World(np.full((3, 4), -1), candidates=np.ones((3, 4), bool))
    scores = np.zeros((3, 4))
    with pytest.raises(ValueError, match="CMIP needs grades, and this world has none"):
        cmip(scores, scores, world)
    with pytest.raises(ValueError, match="CMIP needs 200 documents"):
        cmip(scores, scores, graded_world(3, 4))
    with pytest.raises(ValueError, match="logging_scores has shape"):
        cmip(scores, scores[:2], graded_world(3, 4))
    with pytest.raises(ValueError, match="folds must be at least 2"):
        cmip(scores, scores, graded_world(3, 4), folds=1)
    with pytest.raises(TypeError):
        cmip(scores, scores, graded_world(3, 4), fold=1)
