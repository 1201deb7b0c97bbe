"""nDCG and recall: orders by score against grades."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import random_models, small_world
from judging import random_log
from looping import loop_over
from sklearn.metrics import ndcg_score

from clickgym import clickmodels, evaluation
from clickgym.clickmodels import ClickModel, NotCapable
from clickgym.data import ClickLog, World
from clickgym.evaluation import ndcg
from clickgym.evaluation.metrics.graded import dcg, discount, ideal_dcg


def random_world(seed=0, n_queries=30, n_docs=12):
    rng = np.random.default_rng(seed)
    relevance = rng.choice(5, size=(n_queries, n_docs), p=[0.5, 0.3, 0.1, 0.06, 0.04])
    relevance[:, :2] = (0, 1)
    return World(relevance)


# Against scikit-learn


@loop_over("k", [1, 3, 10, 12, 50])
@loop_over("seed", range(3))
def test_ndcg_is_scikit_learns(k, seed):
    world = random_world(seed)
    scores = np.random.default_rng(seed + 100).normal(size=world.relevance.shape)
    expected = ndcg_score(2.0**world.relevance - 1, scores, k=k)
    assert ndcg(scores, world, k) == pytest.approx(expected, abs=1e-12)


@loop_over("k", [1, 3, 10])
def test_ndcg_of_lists_of_different_lengths_is_scikit_learns(k):
    world = random_world()
    rng = np.random.default_rng(7)
    candidates = np.arange(12) < rng.integers(2, 13, size=(30, 1))
    short = World(np.where(candidates, world.relevance, -1))
    scores = rng.normal(size=short.relevance.shape)
    expected = np.mean([
        ndcg_score([2.0 ** world.relevance[q, shown] - 1], [scores[q, shown]], k=k)
        for q, shown in enumerate(candidates)
    ])  # fmt: skip
    assert ndcg(scores, short, k) == pytest.approx(expected, abs=1e-12)


def test_the_mean_over_tie_breaks_is_scikit_learns_average_over_ties():
    world = World([[0, 1, 2, 3, 4, 0]])
    scores = np.array([[1.0, 1.0, 0.0, 1.0, 0.0, 0.0]])
    values = [ndcg(scores, world, 3, seed=seed) for seed in range(2000)]
    expected = ndcg_score(2.0**world.relevance - 1, scores, k=3)
    assert np.mean(values) == pytest.approx(expected, abs=4 * np.std(values) / math.sqrt(2000))


# By hand


def test_ndcg_by_hand():
    world = World([[0, 1, 4]])
    got = (1 / math.log2(2) + 15 / math.log2(3)) / (15 / math.log2(2) + 1 / math.log2(3))
    assert ndcg([[0.0, 2.0, 1.0]], world, 2) == pytest.approx(got)


def test_ndcg_at_one_is_the_share_of_the_best_gain():
    assert ndcg([[0.0, 2.0, 1.0]], World([[0, 2, 3]]), 1) == pytest.approx(3 / 7)


def test_ndcg_does_not_depend_on_max_grade():
    scores = np.random.default_rng(0).normal(size=(1, 3))
    low, high = (World([[0, 2, 3]], max_grade=grade) for grade in (3, 8))
    assert ndcg(scores, low, 2) == pytest.approx(ndcg(scores, high, 2))


def test_the_reverse_ranking_is_worse_than_a_random_one():
    world = random_world()
    shuffled = np.random.default_rng(0).random(world.relevance.shape)
    assert ndcg(-world.gain, world, 5) < ndcg(shuffled, world, 5)


def test_queries_count_equally_whatever_their_frequency():
    relevance = [[0, 4], [4, 0]]
    scores = np.array([[1.0, 0.0], [1.0, 0.0]])
    uneven = World(relevance, query_probs=[0.99, 0.01])
    assert ndcg(scores, uneven, 1) == pytest.approx(0.5)


def test_queries_with_equal_grades_are_left_out():
    world = World([[0, 4], [2, 2], [0, 0]])
    assert ndcg([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], world, 1) == 1.0


def test_queries_whose_candidates_have_equal_grades_are_left_out():
    world = World([[0, 4, 4], [4, 2, 2]], candidates=[[1, 1, 0], [0, 1, 1]])
    assert ndcg([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], world, 1) == 0.0


def test_an_unjudged_candidate_counts_as_grade_zero():
    judged, unjudged = World([[0, 3]]), World([[-1, 3]], candidates=[[1, 1]])
    scores = [[1.0, 0.0]]
    assert ndcg(scores, unjudged, 2) == ndcg(scores, judged, 2)


def test_scores_of_non_candidates_do_not_matter():
    world = World([[4, 0, -1]])
    values = {ndcg([[0.5, 0.1, score]], world, 2) for score in (-9.0, 9.0, np.nan, np.inf)}
    assert values == {1.0}


def test_a_candidate_with_score_minus_infinity_still_comes_before_non_candidates():
    world = World([[4, 0, -1, -1, -1, -1]])
    scores = np.full((1, 6), -np.inf)
    scores[0, 1] = 1.0
    values = [ndcg(scores, world, 2, seed=seed) for seed in range(20)]
    assert values == pytest.approx([1 / math.log2(3)] * 20)


# Ties


def test_ties_are_broken_by_the_seed():
    world = World([[0, 4]])
    values = {ndcg([[1.0, 1.0]], world, 1, seed=seed) for seed in range(20)}
    assert values == {0.0, 1.0}


def test_ties_are_not_broken_by_index():
    """2000 queries of two documents, the better one always second: half of them go wrong."""
    world = World(np.tile([0, 4], (2000, 1)))
    assert ndcg(np.zeros((2000, 2)), world, 1) == pytest.approx(0.5, abs=3.3 * 0.5 / 2000**0.5)


def test_without_ties_the_seed_does_not_matter():
    world = random_world()
    scores = np.random.default_rng(1).normal(size=world.relevance.shape)
    assert ndcg(scores, world, 5, seed=0) == ndcg(scores, world, 5, seed=1)


# Models


@loop_over("name", sorted(random_models()))
def test_a_model_is_judged_by_its_relevance(name):
    model = random_models()[name]
    assert ndcg(model, small_world(), 5) == ndcg(model.relevance(), small_world(), 5)


@loop_over("name", clickmodels.user_names())
def test_a_true_user_ranks_ideally(name):
    world = small_world()
    assert ndcg(clickmodels.true_user(name, world), world, 5) == pytest.approx(1.0)


def test_a_model_that_does_not_rank_is_refused():
    class Blind(ClickModel):
        capabilities = frozenset({"generative"})
        shape = (6, 7)

    with pytest.raises(NotCapable, match="Blind is not rank"):
        ndcg(Blind(), small_world(), 5)


# The parts


def test_discount_is_one_over_the_logarithm_of_rank_plus_one():
    np.testing.assert_allclose(discount(3), [1, 1 / math.log2(3), 0.5])


def test_dcg_looks_no_deeper_than_k():
    assert dcg(np.array([[1.0, 0.0, 1.0]]), 2).tolist() == [1.0]


def test_ideal_dcg_is_over_candidates_only():
    world = World([[4, 4, 0]], candidates=[[0, 1, 1]])
    assert ideal_dcg(world, 3).tolist() == [1.0]


# Recall, and what both metrics have in common

METRICS = [evaluation.ndcg, evaluation.recall]


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


@loop_over("threshold", [0, 5])
def test_a_threshold_that_is_no_grade_is_an_error(threshold, world):
    with pytest.raises(ValueError, match="threshold"):
        evaluation.recall(scores_of(world), world, 3, threshold)


@loop_over("k", [1, 3, 100])
@loop_over("short", [False, True])
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


@loop_over("seen", [(0, 1), (1, 2), (0, 2)])
@loop_over("metric", METRICS)
def test_documents_that_a_log_never_showed_do_not_count(metric, seen):
    world = World([[4, 1, 0, 3]])
    log = ClickLog([0], [list(seen)], [[0, 0]], fingerprint=world.fingerprint)
    smaller = World(world.relevance[:, list(seen)])
    scores = np.array([[0.1, 0.5, 0.3, 0.9]])
    restricted = metric(scores, world.restricted_to(log), 1)
    assert restricted == metric(scores[:, list(seen)], smaller, 1)


@loop_over("metric", METRICS)
def test_queries_whose_seen_grades_are_equal_are_left_out(metric):
    world = World([[4, 0, 4], [3, 0, 1]])
    log = ClickLog([0, 1], [[0, 2], [0, 1]], [[0, 0], [0, 0]])
    scores = [[0.1, 0.9, 0.2], [0.3, 0.2, 0.9]]
    assert metric(scores, world.restricted_to(log), 1) == 1.0


@loop_over("metric", METRICS)
def test_a_model_ranks_the_documents_of_a_restricted_world(metric, short_world):
    model = clickmodels.true_user("PBM", short_world)
    log = random_log(short_world, model, n=5)
    restricted = short_world.restricted_to(log)
    assert restricted.candidates.sum() < short_world.candidates.sum()
    assert metric(model, restricted, 3) == metric(model.relevance(), restricted, 3)


@loop_over("metric", METRICS)
def test_another_worlds_model_is_an_error(metric, world):
    model = clickmodels.true_user("PBM", small_world(short=True))
    with pytest.raises(ValueError, match="another world"):
        metric(model, world, 3)


@loop_over("metric", METRICS)
def test_no_query_with_different_grades_is_nan(metric):
    assert np.isnan(metric(np.zeros((1, 3)), World([[2, 2, 2]]), 2))


@loop_over("metric", METRICS)
def test_the_true_order_is_perfect(metric, short_world):
    deep = short_world.n_docs
    assert metric(short_world.gain, short_world, deep) == 1.0


@loop_over("metric", METRICS)
def test_the_seed_breaks_ties_of_either_metric(metric, world):
    nothing = np.zeros(world.relevance.shape)
    assert metric(nothing, world, 2, seed=3) == metric(nothing, world, 2, seed=3)
    assert len({metric(nothing, world, 2, seed=seed) for seed in range(10)}) > 3


def test_ties_are_broken_at_random_not_by_index():
    world = World([[4, 0]])
    found = [evaluation.recall([[1.0, 1.0]], world, 1, seed=seed) for seed in range(400)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.1)


@loop_over("metric", METRICS)
def test_a_score_of_minus_infinity_still_comes_before_no_candidate(metric):
    world = World([[0, 4, -1]])
    assert metric([[1.0, -np.inf, 5.0]], world, 2) == metric([[1.0, 0.0, 0.0]], world, 2)


@loop_over("metric", METRICS)
def test_random_models_can_be_judged(metric, world):
    for model in random_models().values():
        assert 0.0 < metric(model, world, 3) <= 1.0


@loop_over("metric", METRICS)
@loop_over("k", [0, -1, 2.0, True])
def test_a_bad_k_is_named(metric, k):
    with pytest.raises(ValueError, match=r"^k\b"):
        metric([[1.0, 0.0]], World([[0, 4]]), k)


@loop_over("metric", METRICS)
@loop_over("scores", [[1.0, 0.0], [[1.0]], [[1.0, np.nan]]])
def test_bad_scores_are_named(metric, scores):
    with pytest.raises(ValueError, match="model_or_scores"):
        metric(scores, World([[0, 4]]), 1)
