"""The bandit agents: gradients, bounds, what they reach; test_contract has what all share."""

from __future__ import annotations

import itertools

import gymnasium as gym
import numpy as np
import pytest
from conftest import SLOTS, random_models, small_world
from looping import loop_over

from clickgym import agents, clickmodels, data, evaluation, policies
from clickgym.agents import Task
from clickgym.agents.bandits.cascading import kl_upper_bound
from clickgym.agents.policy_gradient import rank_gradient
from clickgym.envs.rewards import ExpectedClicks, Shown

TABULAR = ("CascadeUCB1", "CascadeKL-UCB")
AGENTS = {
    "PolicyGradient": ("PolicyGradient", {}),
    "PolicyGradient-features": ("PolicyGradient", {"features": True}),
    "CascadeUCB1": ("CascadeUCB1", {}),
    "CascadeKL-UCB": ("CascadeKL-UCB", {}),
    "EpsilonGreedy": ("EpsilonGreedy", {}),
}


def dbn_env(world, slots=SLOTS, user=None):
    user = clickmodels.true_user("DBN", world) if user is None else user
    return gym.make(
        "clickgym/Learned-v0", world=world, click_model=user, slots=slots, observation="ids"
    )


def start(name, settings, seed=0, world=None, slots=SLOTS, batch=32):
    world = small_world(short=True) if world is None else world
    task = Task.of(dbn_env(world, slots))
    return agents.agent_class(name)(task, seed, batch=batch, **settings)


# The gradient of the policy gradient


@loop_over("slots", [1, 3, 7])
def test_gradient_equals_finite_differences(slots):
    rng = np.random.default_rng(0)
    world = small_world(short=True)
    query = np.repeat(np.arange(world.n_queries), 2)
    logits = rng.normal(size=world.candidates.shape)

    def policy(values):
        return policies.PlackettLuce(np.where(world.candidates, np.exp(values), 0.0), slots=slots)

    ranking = policy(logits).sample(query, rng)
    gradient = rank_gradient(policy(logits).weights[query], ranking, np.ones(ranking.shape))
    step = 1e-6
    for doc in range(world.n_docs):
        up, down = logits.copy(), logits.copy()
        up[:, doc] += step
        down[:, doc] -= step
        rise = policy(up).log_prob(query, ranking) - policy(down).log_prob(query, ranking)
        np.testing.assert_allclose(gradient[:, doc], rise / (2 * step), atol=1e-8)


def test_gradient_has_no_direction_that_adds_the_same_to_all():
    weights = np.random.default_rng(1).random((50, 8))
    ranking = np.argsort(-weights, axis=1)[:, :4]
    worth = np.random.default_rng(2).normal(size=ranking.shape)
    gradient = rank_gradient(weights, ranking, worth)
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-12)


RANKINGS = np.array(list(itertools.permutations(range(4), 3)))  # all pages of 3 of 4 documents


def returns_of(shares):
    return np.cumsum(shares[:, ::-1], axis=1)[:, ::-1]


def credit(label):
    """The shares of each of RANKINGS in expected clicks, (24, 3), and P(click) on their slots."""
    model, n = random_models(n_docs=4)[label], len(RANKINGS)
    query, nothing = np.zeros(n, dtype=int), np.zeros((n, 3), dtype=bool)
    shown = Shown(query, RANKINGS, nothing, np.zeros(n), np.zeros(n, dtype=bool))
    reward = ExpectedClicks(small_world(n_docs=4), model, 3)
    return reward.shares(shown), model.click_probs(query, RANKINGS)


def exact_gradient(logits, rewards):
    """By finite differences of the mean reward over all rankings."""

    def mean_reward(values):
        policy = policies.PlackettLuce(np.exp(values)[None], slots=3)
        return np.exp(policy.log_prob(np.zeros(len(RANKINGS), dtype=int), RANKINGS)) @ rewards

    steps = 1e-6 * np.eye(4)
    return np.array([(mean_reward(logits + s) - mean_reward(logits - s)) / 2e-6 for s in steps])


def estimates(logits, worth):
    """The gradient's estimate from each ranking, (24, 4), and P(ranking)."""
    weights = np.tile(np.exp(logits), (len(RANKINGS), 1))
    policy = policies.PlackettLuce(weights[:1], slots=3)
    probs = np.exp(policy.log_prob(np.zeros(len(RANKINGS), dtype=int), RANKINGS))
    return rank_gradient(weights, RANKINGS, worth), probs


@loop_over("label", ["PBM", "UBM", "DBN", "CCM", "CoCM", "Ensemble"])
def test_the_mean_of_the_rank_gradient_is_the_gradient_of_expected_clicks(label):
    logits = np.random.default_rng(3).normal(size=4)
    shares, probs = credit(label)
    exact = exact_gradient(logits, probs.sum(axis=1))
    for baseline in (0.0, np.array([0.7, 0.4, 0.2])):
        each, chances = estimates(logits, returns_of(shares) - baseline)
        np.testing.assert_allclose(chances @ each, exact, atol=1e-8)
    each, chances = estimates(logits, returns_of(probs))
    biased = np.abs(chances @ each - exact).max() > 1e-3
    assert biased == (label == "CoCM")  # there documents change clicks above them


def test_credit_by_rank_is_less_noisy_than_the_reward_of_the_page():
    logits = np.zeros(4)
    noise = {}
    for label, (shares, _) in {name: credit(name) for name in ("PBM", "UBM")}.items():
        returns, total = returns_of(shares), shares.sum(axis=1, keepdims=True)
        for by, worth in ("rank", returns), ("page", np.repeat(total, 3, axis=1)):
            mean = worth.mean(axis=0)
            each, chances = estimates(logits, worth - mean)
            noise[label, by] = chances @ ((each - chances @ each) ** 2).sum(axis=1)
        assert noise[label, "rank"] < 0.8 * noise[label, "page"]


# KL bounds


def test_kl_bound_of_zero_clicks_is_known():
    # KL(0, q) = -log(1 - q)
    divergence = np.array([0.0, 0.1, 2.0])
    bounds = kl_upper_bound(0.0, divergence)
    np.testing.assert_allclose(bounds, 1 - np.exp(-divergence), atol=1e-8)


def test_kl_bound_has_the_divergence_asked_for():
    mean = np.array([0.1, 0.5, 0.9])
    q = kl_upper_bound(mean, 0.05)
    found = mean * np.log(mean / q) + (1 - mean) * np.log((1 - mean) / (1 - q))
    np.testing.assert_allclose(found, 0.05, atol=1e-7)
    assert (q > mean).all()


def test_kl_bound_of_only_clicks_is_one():
    assert kl_upper_bound(1.0, 0.3) == 1.0


# What counts as examined


def test_everything_down_to_the_last_click_is_examined():
    agent = start("CascadeUCB1", {}, world=small_world())
    ranking = np.array([[4, 3, 2, 1, 0], [4, 3, 2, 1, 0]])
    clicks = np.zeros((2, SLOTS), dtype=bool)
    clicks[0, [0, 2]] = True
    agent.update(np.array([2, 3]), ranking, clicks, clicks.sum(axis=1))
    assert agent.examined[2].tolist() == [0, 0, 1, 1, 1, 0, 0]
    assert agent.clicked[2].tolist() == [0, 0, 1, 0, 1, 0, 0]
    assert agent.examined[3].tolist() == [1, 1, 1, 1, 1, 0, 0]  # no click: the whole page


# What they reach on a small true world, within their budgets


@pytest.fixture(scope="module")
def small():
    world = data.synthetic_world(n_queries=20, n_docs=10)
    env = gym.make("clickgym/DBN-v0", world=world, slots=10)
    user = env.unwrapped.settings.model
    random = evaluation.value(policies.Uniform(world), user, world, samples=200_000).value
    return world, env, user, random


def share_of_gap(small, name, best, seed=0, **settings):
    world, env, user, random = small
    pages = min(agents.agent_class(name).budget, 600_000)
    policy = agents.train(name, env, pages, seed=seed, **settings)
    high = evaluation.value(best, user, world).value
    return (evaluation.value(policy, user, world).value - random) / (high - random)


@loop_over("features", [False, True])
def test_policy_gradient_closes_the_gap_to_the_best(small, features):
    best = evaluation.best_policy(small[2], small[0], 10)
    assert share_of_gap(small, "PolicyGradient", best, features=features) >= 0.85


@loop_over("name", TABULAR)
@loop_over("seed", [0, 1])
def test_cascade_closes_the_gap_to_top_down(small, name, seed):
    best = policies.top_down(small[2], small[0])
    assert 0.9 <= share_of_gap(small, name, best, seed) <= 1.1  # above: a mistake that pays


# Ten of ten slots say nothing about a linear ranker: Top-Down is 0.005 clicks above random there,
# less than a mistake can gain or lose, and even least squares on the true attractiveness falls
# below random. With three slots the gap is 0.33 clicks.


@loop_over("seed", [0, 1])
def test_epsilon_greedy_comes_near_top_down_where_linear_scores_can(small, seed):
    world, _, user, _ = small
    env = gym.make("clickgym/DBN-v0", world=world, slots=3)
    policy = agents.train("EpsilonGreedy", env, agents.agent_class("EpsilonGreedy").budget, seed)
    values = [
        evaluation.value(one, user, world).value
        for one in (policies.Uniform(world, 3), policy, policies.top_down(user, world, 3))
    ]
    assert values[1] - values[0] >= 0.8 * (values[2] - values[0])


def test_epsilon_greedy_closes_the_gap_where_clicks_are_linear():
    rng = np.random.default_rng(0)
    features = rng.uniform(-1, 1, size=(20, 10, 5)).astype(np.float32)
    world = data.World(np.zeros((20, 10), dtype=int), features)
    user = clickmodels.PBM(0.5 + features @ np.array([0.2, -0.1, 0.1, 0.0, 0.05]), np.full(5, 0.9))
    policy = agents.train("EpsilonGreedy", dbn_env(world, user=user), 20_000)
    values = [
        evaluation.value(one, user, world).value
        for one in (policies.Uniform(world, 5), policy, policies.top_down(user, world, 5))
    ]
    assert values[1] - values[0] >= 0.9 * (values[2] - values[0])


# States and names


def test_a_state_with_other_settings_is_refused():
    for name, settings in AGENTS.values():
        state = start(name, settings).state()
        with pytest.raises(ValueError, match="settings"):
            start(name, settings, batch=16).restore(state)


def test_wrappers_that_would_be_lost_are_refused():
    env = gym.make("clickgym/DBN-v0", world=small_world(), slots=SLOTS, observation="ids")
    wrapped = gym.wrappers.TransformReward(env, lambda reward: -reward)
    with pytest.raises(ValueError, match="TransformReward around it would have no effect"):
        agents.train("PolicyGradient", wrapped, 100)


def test_a_name_is_not_taken_over():
    class Other(agents.Agent):
        pass

    with pytest.raises(ValueError, match="'PolicyGradient' is taken"):
        agents.register("PolicyGradient")(Other)


def test_an_unknown_user_best_leaves_the_regret_out():
    class NoExpectations(clickmodels.DBN):
        def expected_clicks(self, query, ranking):
            raise clickmodels.NotExact("not here")

        def score_columns(self, query, columns):
            raise clickmodels.NotExact("not here")

    world = small_world()
    known = clickmodels.true_user("DBN", world)
    blind = NoExpectations(known.attractiveness, known.satisfaction, known.continuation)
    watch = agents.CurseWatch(known, blind, world)
    found = watch.measure(policies.Uniform(world, SLOTS), 0)
    assert found.regret is None
    assert found.deployed is not None
