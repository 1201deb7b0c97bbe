"""PI-OPT: learning to rank from the rewards of slates."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from clickgym import data, evaluation, policies
from clickgym.policies.rankers.boosting import fit_regression

pytest.importorskip("lightgbm", reason="the rankers extra is not installed")
FAST = {"n_estimators": 30, "num_leaves": 15, "learning_rate": 0.2, "min_child_samples": 5}


@pytest.fixture(scope="module")
def world():
    """Grades that the first feature tells; the others are noise."""
    rng = np.random.default_rng(0)
    relevance = rng.integers(0, 5, (60, 8))
    relevance[:, -1] = np.where(np.arange(60) % 3 == 0, -1, relevance[:, -1])  # shorter lists
    noise = rng.normal(size=(60, 8, 2))
    return data.World(relevance, np.concatenate([relevance[:, :, None], noise], axis=2))


def slates(world, policy, n, seed=0):
    rng = np.random.default_rng(seed)
    query = rng.integers(0, world.n_queries, n)
    ranking = policy.sample(query, rng)
    return data.ClickLog(query, ranking, np.zeros(ranking.shape, dtype=bool))


def linear_reward(world, query, ranking, by_slot=(1.0, 0.5, 0.25)):
    return world.gain[np.asarray(query)[:, None], ranking] @ np.array(by_slot)


def mean_reward(world, policy):
    query = np.arange(world.n_queries)
    return linear_reward(world, query, policy.greedy(query)).mean()


@pytest.fixture(scope="module")
def best(world):
    return mean_reward(world, policies.Ranker(world.gain, 3, world=world))


# Slates built greedily


def test_the_highest_pair_is_taken_first():
    scores = [[[1.0, 9.0, 2.0], [0.0, 8.0, 7.0]]]
    np.testing.assert_array_equal(policies.greedy_slates(scores), [[1, 2]])


def test_a_later_slot_may_be_filled_first():
    scores = [[[5.0, 4.0, 1.0], [9.0, 3.0, 2.0]]]
    np.testing.assert_array_equal(policies.greedy_slates(scores), [[1, 0]])


def test_greedy_slates_agree_with_one_query_at_a_time():
    scores = np.random.default_rng(1).random((20, 3, 6))
    for one, slate in zip(scores, policies.greedy_slates(scores), strict=True):
        pairs = sorted(itertools.product(range(3), range(6)), key=lambda at: -one[at])
        expected = {}
        for slot, action in pairs:
            if slot not in expected and action not in expected.values():
                expected[slot] = action
        assert slate.tolist() == [expected[slot] for slot in range(3)]


def test_a_short_query_fills_its_first_slots():
    scores = np.full((1, 3, 4), -np.inf)
    scores[0, :, [0, 2]] = [[1.0, 2.0, 9.0], [3.0, 1.0, 9.0]]
    np.testing.assert_array_equal(policies.greedy_slates(scores), [[2, 0, -1]])


def test_scores_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match=r"\(Q, K, N\)"):
        policies.greedy_slates([[[np.nan, 1.0]]])


# Imputed rewards


def test_with_every_slate_the_imputed_rewards_explain_a_linear_reward(world):
    """All slates as often as they are shown: what PI imputes adds up to each slate's reward."""
    every = np.array(list(itertools.permutations(range(5), 3)))
    query = np.full(len(every), 1)
    rewards = linear_reward(world, query, every)
    for alpha in (0.0, 1.0):
        policy = policies.p_alpha(world.gain[:, :5], alpha, 3)
        weight = np.exp(policy.log_prob(query, every))
        imputed = policies.slate_pseudoinverse(policy, 1).impute(every, rewards, weight)
        found = imputed[np.arange(3), every].sum(axis=1)
        np.testing.assert_allclose(found, rewards, atol=1e-9, err_msg=f"alpha {alpha}")


def test_averaging_samples_does_not_change_the_regression():
    """Squared loss on repeated rows and on their weighted mean grow the same trees."""
    rng = np.random.default_rng(2)
    features = rng.random((40, 3)).astype(np.float32)
    counts = rng.integers(1, 6, 40)
    single = np.repeat(np.arange(40), counts)
    noisy = features[single, 0] + rng.normal(0, 0.3, len(single))
    means = np.bincount(single, noisy) / counts
    settings = {"n_estimators": 5, "num_leaves": 4, "min_child_samples": 1, "min_data_in_bin": 1,
                "min_child_weight": 0.0}  # fmt: skip
    one = fit_regression(features[single], noisy, np.ones(len(single)), **settings)
    two = fit_regression(features, means, counts.astype(float), **settings)
    np.testing.assert_allclose(one.predict(features), two.predict(features), atol=1e-6)


# Learning


@pytest.mark.parametrize("alpha", [0.0, 1.0], ids=["uniform", "p_1 of a random order"])
def test_slate_rewards_alone_teach_to_rank(world, best, alpha):
    order = np.random.default_rng(3).random(world.gain.shape)
    logging = policies.p_alpha(order, alpha, 3, world=world)
    log = slates(world, logging, 20_000)
    rewards = linear_reward(world, log.query, log.ranking)
    learner = policies.fit_pi_opt(log, rewards, logging, world, **FAST)
    random = rewards.mean() if alpha == 0 else mean_reward(world, policies.Ranker(order, 3))
    assert mean_reward(world, learner.policy(world)) > random + 0.8 * (best - random)


def test_pi_opt_learns_what_slots_are_worth(world):
    """Where only the last slot pays, the best document goes there."""
    logging = policies.Uniform(world, 3)
    log = slates(world, logging, 20_000)
    rewards = linear_reward(world, log.query, log.ranking, (0.0, 0.0, 1.0))
    policy = policies.fit_pi_opt(log, rewards, logging, world, **FAST).policy(world)
    query = np.arange(world.n_queries)
    shown = world.gain[query[:, None], policy.greedy(query)].mean(axis=0)
    assert shown[2] > 0.9 * world.gain.max(axis=1).mean()
    assert shown[2] > shown[:2].max() + 0.1


def test_pi_opt_ranks_queries_that_it_never_saw(world, best):
    logging = policies.Uniform(world, 3)
    log = slates(world, logging, 20_000)
    log = log[log.query < 40]
    rewards = linear_reward(world, log.query, log.ranking)
    policy = policies.fit_pi_opt(log, rewards, logging, world, **FAST).policy(world)
    query = np.arange(40, 60)
    found = linear_reward(world, query, policy.greedy(query)).mean()
    ideal = policies.Ranker(world.gain, 3, world=world).greedy(query)
    assert found > 0.9 * linear_reward(world, query, ideal).mean()


def test_learners_from_grades_rank_well(world, best):
    for learn in (policies.fit_supervised, policies.fit_lambdamart):
        policy = learn(world, 3, **FAST).policy(world)
        assert policy.fingerprint == world.fingerprint
        assert mean_reward(world, policy) > 0.95 * best, learn


def test_only_candidates_are_shown(world):
    logging = policies.Uniform(world, 3)
    log = slates(world, logging, 2_000)
    rewards = linear_reward(world, log.query, log.ranking)
    policy = policies.fit_pi_opt(log, rewards, logging, world, **FAST).policy(world)
    assert world.candidates[np.arange(60)[:, None], policy.rankings].all()


def test_the_same_seed_learns_the_same(world):
    logging = policies.Uniform(world, 3)
    log = slates(world, logging, 2_000)
    rewards = linear_reward(world, log.query, log.ranking)
    one, two = (policies.fit_pi_opt(log, rewards, logging, world, **FAST) for _ in range(2))
    np.testing.assert_array_equal(one.scores(world), two.scores(world))


def test_a_reward_a_slate_is_needed(world):
    logging = policies.Uniform(world, 3)
    log = slates(world, logging, 20)
    with pytest.raises(ValueError, match="rewards has shape"):
        policies.fit_pi_opt(log, np.ones(19), logging, world)


def test_a_setting_that_trees_do_not_have_is_an_error(world):
    for learn in (policies.fit_supervised, policies.fit_lambdamart):
        with pytest.raises(TypeError, match="no argument 'n_estimatorss'"):
            learn(world, 3, n_estimatorss=3)
    logging = policies.Uniform(world, 3)
    log = slates(world, logging, 20)
    with pytest.raises(TypeError, match="no argument 'leaves'"):
        policies.fit_pi_opt(log, np.ones(20), logging, world, leaves=3)


def test_pi_opt_needs_impressions(world):
    logging = policies.Uniform(world, 3)
    log = slates(world, logging, 20)
    with pytest.raises(ValueError, match="no impressions"):
        policies.fit_pi_opt(log[:0], [], logging, world)


def test_rows_that_count_nothing_teach_nothing(world):
    logging = policies.Uniform(world, 3)
    log = slates(world, logging, 2_000)
    rewards = linear_reward(world, log.query, log.ranking)
    some = log.query > 5
    weighted = replace(log, weight=some.astype(float))
    one = policies.fit_pi_opt(log[some], rewards[some], logging, world, **FAST)
    two = policies.fit_pi_opt(weighted, rewards, logging, world, **FAST)
    np.testing.assert_array_equal(one.scores(world), two.scores(world))


def test_a_log_that_logging_cannot_have_made_is_refused(world):
    log = replace(slates(world, policies.Uniform(world, 3), 20), log_propensity=None)
    logging = policies.Ranker(world.gain, 3, world=world)
    with pytest.raises(ValueError, match=r"row 0 shows .* which the logging policy never does"):
        policies.fit_pi_opt(log, np.ones(20), logging, world)


def test_a_log_of_another_policy_is_warned_about(world):
    made, logging = policies.Uniform(world, 3), policies.p_alpha(world.gain, 1.0, 3, world=world)
    log = slates(world, made, 2_000)
    log = replace(log, log_propensity=made.log_prob(log.query, log.ranking))
    with pytest.warns(evaluation.WrongLogging, match="row 0 has log-propensity"):
        policies.fit_pi_opt(log, np.ones(2_000), logging, world, **FAST)


def test_a_log_of_other_slots_is_refused(world):
    log = slates(world, policies.Uniform(world, 3), 20)
    with pytest.raises(ValueError, match="logging shows 5 slots, the log has 3"):
        policies.fit_pi_opt(log, np.ones(20), policies.Uniform(world, 5), world)


def test_a_world_of_other_features_is_refused(world):
    logging = policies.Uniform(world, 3)
    log = slates(world, logging, 200)
    wider = data.World(world.relevance, np.zeros((*world.relevance.shape, 9)))
    message = f"this world has 9 features, {world.features.shape[2]} were learned"
    for learner in (
        policies.fit_pi_opt(log, np.ones(200), logging, world, **FAST),
        policies.fit_supervised(world, 3, **FAST),
    ):
        with pytest.raises(ValueError, match=message):
            learner.policy(wider)


def test_features_are_needed():
    bare = data.World(np.array([[0, 1, 2]]))
    with pytest.raises(ValueError, match="needs a world with features"):
        policies.fit_supervised(bare)
