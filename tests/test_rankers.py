"""The papers' rankers."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import data, evaluation, policies

FULL = data.synthetic_world(n_queries=120, seed=1)


def quality(name, **settings):
    return evaluation.ndcg(policies.ranker_scores(name, FULL, **settings), FULL, 10)


def test_the_oracle_is_ideal():
    assert quality("oracle") == pytest.approx(1.0)


def test_lambdamart_is_better_than_bm25_and_bm25_than_nothing():
    pytest.importorskip("lightgbm", reason="the rankers extra is not installed")
    noise = evaluation.ndcg(np.random.default_rng(0).random(FULL.gain.shape), FULL, 10)
    assert quality("LambdaMART") > quality("BM25") > noise


def test_no_query_is_scored_by_a_model_that_saw_it():
    pytest.importorskip("lightgbm", reason="the rankers extra is not installed")
    world = data.synthetic_world(n_queries=40, n_docs=10, seed=2)
    before = policies.ranker_scores("LambdaMART", world, trees=5)
    relevance = world.relevance.copy()
    relevance[7] = 4 - relevance[7]  # its own grades change, and nothing else
    changed = data.World(relevance, world.features, world.query_probs)
    after = policies.ranker_scores("LambdaMART", changed, trees=5)
    np.testing.assert_array_equal(after[7], before[7])
    assert not np.array_equal(after, before)


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


def test_bm25_needs_its_feature():
    with pytest.raises(ValueError, match="feature 110"):
        policies.ranker_scores("BM25", data.synthetic_world(n_queries=3, n_docs=5, n_features=20))


def test_an_unknown_name_is_an_error():
    with pytest.raises(ValueError, match="name must be one of"):
        policies.ranker_scores("bm25", FULL)
