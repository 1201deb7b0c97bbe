"""Recall and nDCG: orders by score against grades."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_models, small_world
from judging import random_log
from sklearn.metrics import ndcg_score

from clickgym import clickmodels, evaluation
from clickgym.data import ClickLog, World

METRICS = {"ndcg": evaluation.ndcg, "recall": evaluation.recall}


@pytest.fixture(params=METRICS)
def metric(request):
    return METRICS[request.param]


def scores_of(world: World, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(world.relevance.shape)


def test_recall_by_hand():
    world = World([[4, 0, 1, 2], [0, 3, 0, 0]])
    scores = [[0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.6]]
    assert evaluation.recall(scores, world, 1) == pytest.approx((1 / 3 + 0) / 2)
    assert evaluation.recall(scores, world, 2) == pytest.approx((1 / 3 + 1) / 2)
    assert evaluation.recall(scores, world, 3) == pytest.approx((2 / 3 + 1) / 2)


def test_the_threshold_says_what_is_relevant():
    world = World([[4, 0, 1, 2], [0, 1, 0, 0]])  # nothing in the second list is a 2
    scores = [[0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.6]]
    assert evaluation.recall(scores, world, 1, threshold=2) == pytest.approx(1 / 2)
    assert evaluation.recall(scores, world, 1, threshold=4) == pytest.approx(1.0)


def test_no_relevant_document_is_nan():
    world = World([[1, 0, 1]])
    assert np.isnan(evaluation.recall(np.zeros((1, 3)), world, 2, threshold=2))


@pytest.mark.parametrize("threshold", [0, 5])
def test_a_threshold_that_is_no_grade_is_an_error(threshold, world):
    with pytest.raises(ValueError, match="threshold"):
        evaluation.recall(scores_of(world), world, 3, threshold)


@pytest.mark.parametrize("k", [1, 3, 100])
@pytest.mark.parametrize("short", [False, True])
def test_recall_equals_a_plain_loop(k, short):
    world = small_world(n_queries=30, short=short)
    scores = scores_of(world)
    shares = []
    for query in range(world.n_queries):
        documents = np.flatnonzero(world.candidates[query])
        relevant = {d for d in documents if world.relevance[query, d] >= 2}
        top = sorted(documents, key=lambda d: -scores[query, d])[:k]
        shares.append(len(relevant & set(top)) / len(relevant))
    assert evaluation.recall(scores, world, k, threshold=2) == pytest.approx(np.mean(shares))


@pytest.mark.parametrize("k", [1, 3, 100])
@pytest.mark.parametrize("short", [False, True])
def test_ndcg_equals_scikit_learns(k, short):
    world = small_world(n_queries=30, short=short)
    scores = scores_of(world)
    expected = [
        ndcg_score([world.gain[query, c]], [scores[query, c]], k=k)
        for query, c in enumerate(world.candidates)
    ]
    assert evaluation.ndcg(scores, world, k) == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("seen", [(0, 1), (1, 2), (0, 2)])
def test_documents_that_a_log_never_showed_do_not_count(metric, seen):
    world = World([[4, 1, 0, 3]])
    log = ClickLog([0], [list(seen)], [[0, 0]], fingerprint=world.fingerprint)
    smaller = World(world.relevance[:, list(seen)])
    scores = np.array([[0.1, 0.5, 0.3, 0.9]])
    restricted = metric(scores, world.restricted_to(log), 1)
    assert restricted == metric(scores[:, list(seen)], smaller, 1)


def test_queries_whose_seen_grades_are_equal_are_left_out(metric):
    world = World([[4, 0, 4], [3, 0, 1]])
    log = ClickLog([0, 1], [[0, 2], [0, 1]], [[0, 0], [0, 0]])
    scores = [[0.1, 0.9, 0.2], [0.3, 0.2, 0.9]]
    assert metric(scores, world.restricted_to(log), 1) == 1.0


def test_a_model_ranks_the_documents_of_a_restricted_world(metric, short_world):
    model = clickmodels.true_user("PBM", short_world)
    log = random_log(short_world, model, n=5)
    restricted = short_world.restricted_to(log)
    assert restricted.candidates.sum() < short_world.candidates.sum()
    assert metric(model, restricted, 3) == metric(model.relevance(), restricted, 3)


def test_another_worlds_model_is_an_error(metric, world):
    model = clickmodels.true_user("PBM", small_world(short=True))
    with pytest.raises(ValueError, match="another world"):
        metric(model, world, 3)


def test_no_query_with_different_grades_is_nan(metric):
    assert np.isnan(metric(np.zeros((1, 3)), World([[2, 2, 2]]), 2))


def test_the_true_order_is_perfect(metric, short_world):
    deep = short_world.n_docs
    assert metric(short_world.gain, short_world, deep) == 1.0


def test_ties_are_broken_by_the_seed(metric, world):
    nothing = np.zeros(world.relevance.shape)
    assert metric(nothing, world, 2, seed=3) == metric(nothing, world, 2, seed=3)
    assert len({metric(nothing, world, 2, seed=seed) for seed in range(10)}) > 3


def test_ties_are_broken_at_random_not_by_index():
    world = World([[4, 0]])
    found = [evaluation.recall([[1.0, 1.0]], world, 1, seed=seed) for seed in range(400)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.1)


def test_a_score_of_minus_infinity_still_comes_before_no_candidate(metric):
    world = World([[0, 4, -1]])
    assert metric([[1.0, -np.inf, 5.0]], world, 2) == metric([[1.0, 0.0, 0.0]], world, 2)


def test_a_nan_is_an_error(metric, world):
    scores = scores_of(world)
    scores[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        metric(scores, world, 3)


def test_scores_of_another_shape_are_an_error(metric, world):
    with pytest.raises(ValueError, match="model_or_scores"):
        metric(scores_of(world)[:, :-1], world, 3)


def test_k_must_be_positive(metric, world):
    with pytest.raises(ValueError, match="k must be"):
        metric(scores_of(world), world, 0)


def test_random_models_can_be_judged(metric, world):
    for model in random_models().values():
        assert 0.0 < metric(model, world, 3) <= 1.0
