"""The papers' rankers and logging policies by name."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clickgym import data, evaluation, policies

FULL = data.synthetic_world(n_queries=120, seed=1)
SMALL = data.synthetic_world(n_queries=3, n_docs=5, n_features=4)


def quality(name, **settings):
    return evaluation.ndcg(policies.ranker_scores(name, FULL, **settings), FULL, 10)


def test_the_oracle_is_ideal():
    assert quality("oracle") == pytest.approx(1.0)


def test_lambdamart_is_better_than_bm25_and_bm25_than_nothing():
    pytest.importorskip("lightgbm", reason="the rankers extra is not installed")
    noise = evaluation.ndcg(np.random.default_rng(0).random(FULL.gain.shape), FULL, 10)
    assert quality("LambdaMART") > quality("BM25") > noise


def test_less_noise_makes_a_better_epsilon_oracle():
    assert quality("epsilon-oracle") > quality("epsilon-oracle", noise_sd=0.15**0.5)


def test_epsilon_oracle_is_near_optimal_by_default():
    assert 0.7 < quality("epsilon-oracle") < 1.0


def test_noise_is_drawn_once_from_the_seed():
    first, second, other = (
        policies.ranker_scores("epsilon-oracle", FULL, seed=seed) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("name", policies.ranker_names())
def test_every_name_gives_both_policies_of_candidates_only(name):
    world = data.synthetic_world(n_queries=30, seed=3)
    rng = np.random.default_rng(0)
    query = np.arange(30)
    for make in (policies.named_ranker, policies.logging_policy):
        policy = make(name, world, 5)
        ranking = policy.sample(query, rng)
        assert world.candidates[query[:, None], ranking].all()
        assert policy.fingerprint == world.fingerprint


def test_the_papers_temperatures():
    world = data.synthetic_world(n_queries=3, n_docs=10)
    found = {n: policies.logging_policy(n, world).temperature for n in ("epsilon-oracle", "BM25")}
    assert found == {"epsilon-oracle": 0.1, "BM25": 0.03}


def test_gains_are_taken_as_they_are_and_other_scores_are_scaled():
    world = data.synthetic_world(n_queries=10, n_docs=10)
    for name in ("oracle", "epsilon-oracle", "BM25", "LambdaMART"):
        scores = policies.ranker_scores(name, world)
        weights = policies.logging_policy(name, world).weights
        as_they_are = np.where(world.candidates, scores + 0.01, 0.0)
        equal = bool(np.allclose(weights, as_they_are))
        assert equal == (name in ("oracle", "epsilon-oracle")), name
        if not equal:
            assert np.allclose(weights.max(axis=1), 1.01), name


def test_bm25_needs_its_feature():
    with pytest.raises(ValueError, match="feature 110"):
        policies.ranker_scores("BM25", data.synthetic_world(n_queries=3, n_docs=5, n_features=20))


def test_an_unknown_name_is_an_error():
    with pytest.raises(ValueError, match="name must be one of"):
        policies.ranker_scores("bm25", FULL)


# p_alpha


def test_p_alpha_has_the_papers_weights():
    scores = -np.arange(9.0)[None]
    policy = policies.p_alpha(scores, 2.0)
    np.testing.assert_allclose(policy.weights[0], [1, *2 * [1 / 4], *4 * [1 / 16], *2 * [1 / 64]])


def test_p_alpha_follows_the_order_of_scores():
    policy = policies.p_alpha([[0.2, 5.0, -1.0]], 1.0)
    np.testing.assert_allclose(policy.weights[0], [0.5, 1.0, 0.5])


def test_p_alpha_of_hundred_documents_has_seven_weights():
    policy = policies.p_alpha(np.random.default_rng(0).random((2, 100)), 1.0)
    assert [len(np.unique(row)) for row in policy.weights] == [7, 7]


def test_p_0_is_uniform():
    policy = policies.p_alpha(SMALL.gain, 0.0, 3)
    pages = np.array(list(itertools.permutations(range(5), 3)))
    np.testing.assert_allclose(np.exp(policy.log_prob(np.ones(60, dtype=int), pages)), 1 / 60)


def test_p_alpha_shows_candidates_only():
    policy = policies.p_alpha(np.zeros(FULL.gain.shape), 1.0, world=FULL)
    np.testing.assert_array_equal(policy.weights > 0, FULL.candidates)
    assert policy.fingerprint == FULL.fingerprint


def test_p_alpha_does_not_turn_the_order_around():
    with pytest.raises(ValueError, match="alpha must be at least 0"):
        policies.p_alpha(SMALL.gain, -1.0)
