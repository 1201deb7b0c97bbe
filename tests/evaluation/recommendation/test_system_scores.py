"""Scores of systems: means, ranks, resampled users."""

from __future__ import annotations

import numpy as np
import pytest
from small_ratings import small_parts

from clickgym import clickmodels, evaluation, policies
from clickgym.evaluation.recommendation.system_scores import SystemScores


def made_scores(n_users: int = 400) -> SystemScores:
    rng = np.random.default_rng(0)
    per_user = rng.normal([[[1.0], [5.0]], [[3.0], [4.0]], [[2.0], [4.5]]], 1.0, (3, 2, n_users))
    return SystemScores(("a", "b", "c"), ("x", "y"), per_user, np.full(n_users, 1 / n_users))


def test_ranks_begin_with_the_best():
    np.testing.assert_array_equal(made_scores().ranks(), [[3, 1], [1, 3], [2, 2]])


def test_equal_means_share_a_rank():
    per_user = np.array([1.0, 1.0, 0.0])[:, None, None]
    scores = SystemScores(("a", "b", "c"), ("x",), per_user, np.ones(1))
    np.testing.assert_array_equal(scores.ranks()[:, 0], [1, 1, 3])


def test_means_are_weighted_and_leave_out_nan():
    per_user = np.array([[[1.0, 2.0, np.nan]]])
    scores = SystemScores(("a",), ("x",), per_user, np.array([0.2, 0.6, 0.2]))
    assert scores.of("x")[0] == pytest.approx(1.4 / 0.8)


def test_intervals_have_the_width_of_a_mean():
    scores = made_scores()
    found = scores.intervals(resamples=2000)["b"]["x"]
    stderr = scores.per_user[1, 0].std() / np.sqrt(400)
    assert found.mean == pytest.approx(scores.means()[1, 0])
    assert found.half_width == pytest.approx(1.96 * stderr, rel=0.1)


def test_all_systems_see_the_same_draws():
    scores = made_scores()
    twin = scores.with_measure("x + 1", scores.per_user[:, 0] + 1)
    drawn = twin.resample(20)
    np.testing.assert_allclose(drawn[..., 2], drawn[..., 0] + 1)
    assert drawn[:, 0, 0].std() > 0


def test_a_seed_decides_the_draws():
    scores = made_scores(50)
    np.testing.assert_array_equal(scores.resample(5, seed=1), scores.resample(5, seed=1))
    assert (scores.resample(5, seed=1) != scores.resample(5, seed=2)).any()


def test_a_measure_cannot_be_there_twice():
    scores = made_scores(5)
    with pytest.raises(ValueError, match="there is a measure 'x' already"):
        scores.with_measure("x", scores.per_user[:, 0])
    with pytest.raises(ValueError, match="per_user has shape"):
        SystemScores(("a",), ("x", "y"), scores.per_user, scores.weight)


def small_systems():
    train, world = small_parts()
    names = ("random", "popularity")
    systems = {name: policies.recommender(name, train, world, slots=5) for name in names}
    readers = ("no-bias", "cascade-low")
    users = {name: clickmodels.true_user(name, world, slots=5) for name in readers}
    return systems, users, world


def test_systems_are_scored_by_every_measure():
    systems, users, world = small_systems()
    scores = evaluation.score_systems(systems, users, world, gain="rating")
    assert scores.systems == ("random", "popularity")
    assert scores.measures == ("nDCG", "precision", "no-bias", "cascade-low")
    for place, policy in enumerate(systems.values()):
        expected = [
            evaluation.list_ndcg(policy, world, gain="rating").mean(),
            evaluation.list_precision(policy, world).mean(),
            *(float(evaluation.value(policy, user, world)) / 5 for user in users.values()),
        ]
        np.testing.assert_allclose(scores.means()[place], expected)


def test_simulated_rates_are_near_the_exact_ones_and_differ_by_seed():
    systems, users, world = small_systems()
    exact = evaluation.score_systems(systems, users, world).means()[:, 2:]
    drawn = [
        evaluation.score_systems(systems, users, world, repetitions=100, seed=seed).means()[:, 2:]
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).all()
    # Clicks of a page vary by less than its five places, 2,900 pages each.
    assert np.abs(drawn[0] - exact).max() < 4.5 * 0.5 / np.sqrt(100 * world.n_queries)


def test_names_of_metrics_are_not_for_users():
    systems, users, world = small_systems()
    with pytest.raises(ValueError, match="a user cannot be called precision"):
        evaluation.score_systems(systems, {"precision": users["no-bias"]}, world)
    with pytest.raises(ValueError, match="no systems"):
        evaluation.score_systems({}, users, world)
