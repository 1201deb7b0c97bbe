"""The slates paper's policies: rankers of feature groups, p_alpha, mixtures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clickgym import data, evaluation, policies

WORLD = data.synthetic_world(n_queries=60, seed=1)
SMALL = data.synthetic_world(n_queries=3, n_docs=5, n_features=4)
EVERY = np.array(list(itertools.permutations(range(5), 3)))
GROUP_RANKERS = ("tree-title", "tree-body", "lasso-title", "lasso-body")


def probabilities(policy, query=1):
    return np.exp(policy.log_prob(np.full(len(EVERY), query), EVERY))


# Groups of features


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


@pytest.mark.parametrize("name", GROUP_RANKERS)
def test_rankers_of_groups_know_something(name):
    noise = evaluation.ndcg(np.random.default_rng(0).random(WORLD.gain.shape), WORLD, 10)
    assert evaluation.ndcg(policies.ranker_scores(name, WORLD), WORLD, 10) > noise + 0.01


@pytest.mark.parametrize("kind", ["tree", "lasso"])
def test_a_ranker_sees_its_group_only(kind):
    changed = WORLD.features.copy()
    changed[:, :, policies.feature_group(WORLD, "body")] = 0.0
    other = data.World(WORLD.relevance, changed, WORLD.query_probs)
    for group, equal in (("title", True), ("body", False)):
        name = f"{kind}-{group}"
        before, after = (policies.ranker_scores(name, world) for world in (WORLD, other))
        assert np.array_equal(before, after) == equal


@pytest.mark.parametrize("kind", ["tree", "lasso"])
def test_no_query_is_scored_by_a_model_that_saw_it(kind):
    relevance = WORLD.relevance.copy()
    relevance[7] = np.where(relevance[7] >= 0, 4 - relevance[7], -1)
    changed = data.World(relevance, WORLD.features, WORLD.query_probs)
    before, after = (policies.ranker_scores(f"{kind}-title", w) for w in (WORLD, changed))
    np.testing.assert_array_equal(after[7], before[7])
    assert not np.array_equal(after, before)


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
    np.testing.assert_allclose(probabilities(policies.p_alpha(SMALL.gain, 0.0, 3)), 1 / 60)


def test_p_alpha_shows_candidates_only():
    policy = policies.p_alpha(np.zeros(WORLD.gain.shape), 1.0, world=WORLD)
    np.testing.assert_array_equal(policy.weights > 0, WORLD.candidates)
    assert policy.fingerprint == WORLD.fingerprint


def test_p_alpha_does_not_turn_the_order_around():
    with pytest.raises(ValueError, match="alpha must be at least 0"):
        policies.p_alpha(SMALL.gain, -1.0)


# Mixtures


@pytest.fixture(scope="module")
def mixture():
    first = policies.stochastic(SMALL.gain, 0.5, 3, world=SMALL)
    return policies.Mixture([first, policies.Ranker(SMALL.gain, 3, world=SMALL)], [0.7, 0.3])


def test_a_mixtures_probabilities_are_mixed(mixture):
    first, second = (probabilities(policy) for policy in mixture.policies)
    np.testing.assert_allclose(probabilities(mixture), 0.7 * first + 0.3 * second)


def test_a_mixture_draws_by_its_probabilities(mixture):
    n = 40_000
    rng = np.random.default_rng(0)
    ranking, log_prob = mixture.draw(np.ones(n, dtype=np.int64), rng)
    expected = probabilities(mixture)
    code = EVERY @ [25, 5, 1]
    found = np.array([(ranking @ [25, 5, 1] == one).mean() for one in code])
    error = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(found - expected) < 5 * error + 1e-12).all()
    np.testing.assert_allclose(log_prob, mixture.log_prob(np.ones(n, dtype=int), ranking))


def test_a_mixture_is_greedy_as_its_largest_part(mixture):
    query = np.arange(3)
    np.testing.assert_array_equal(mixture.greedy(query), mixture.policies[0].greedy(query))


def test_a_saved_mixture_is_the_same(mixture, tmp_path):
    mixture.save(tmp_path / "mixture")
    loaded = policies.Policy.load(tmp_path / "mixture")
    assert loaded.fingerprint == SMALL.fingerprint
    np.testing.assert_array_equal(probabilities(loaded), probabilities(mixture))


def test_a_mixture_of_mixtures_is_saved_too(mixture, tmp_path):
    policies.epsilon_uniform(mixture, SMALL, 0.2).save(tmp_path / "twice")
    loaded = policies.Policy.load(tmp_path / "twice")
    np.testing.assert_allclose(probabilities(loaded), 0.8 * probabilities(mixture) + 0.2 / 60)


def test_a_mixtures_marginals_are_those_of_its_slates(mixture):
    assert policies.slate_moments(mixture, 1).exact
    single, pair = policies.slate_marginals(mixture, 1)
    weights = probabilities(mixture)
    shown = np.zeros((len(EVERY), 3, 5))
    shown[np.arange(len(EVERY))[:, None], np.arange(3), EVERY] = 1.0
    np.testing.assert_allclose(single, np.einsum("s,ska->ka", weights, shown), atol=1e-12)
    expected = np.einsum("s,ska,slb->kalb", weights, shown, shown)
    np.testing.assert_allclose(pair, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [([0.5, 0.4], "sum to 1"), ([1.0], "weights has shape"), ([1.5, -0.5], "within")],
)
def test_weights_are_a_distribution(mixture, weights, message):
    with pytest.raises(ValueError, match=message):
        policies.Mixture(mixture.policies, weights)


def test_policies_of_a_mixture_have_the_same_slots():
    parts = [policies.Uniform(SMALL, slots) for slots in (2, 3)]
    with pytest.raises(ValueError, match="do not fit together"):
        policies.Mixture(parts, [0.5, 0.5])


def test_policies_of_a_mixture_belong_to_one_world():
    parts = [policies.Uniform(data.synthetic_world(3, 5, seed=seed), 2) for seed in (0, 1)]
    with pytest.raises(ValueError, match="different worlds"):
        policies.Mixture(parts, [0.5, 0.5])
