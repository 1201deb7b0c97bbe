"""Values of policies against enumeration and against long simulations."""

from __future__ import annotations

import functools
import itertools

import gymnasium as gym
import numpy as np
import pytest
from conftest import random_models, small_world
from looping import loop_over

from clickgym import clickmodels, data, envs, evaluation, policies
from clickgym.clickmodels import registry
from clickgym.evaluation import values as pages

SLOTS = 3
RANDOM = random_models()
GENERATIVE = [
    name
    for name in clickmodels.registered()
    if "generative" in registry.registered_class(name).capabilities
]
PAGES = 60_000


def policies_of(world):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(world.n_queries, world.n_docs))
    return {
        "deterministic": policies.Ranker(scores, SLOTS, world=world),
        "stochastic": policies.stochastic(scores, 0.5, SLOTS, world=world),
    }


@functools.cache
def model_of(name):
    """The model with random parameters, or fitted to a log where those are too many to draw."""
    if name in RANDOM:
        return RANDOM[name]
    world = small_world()
    log = envs.collect(world, RANDOM["CoCM"], policies.Uniform(world, SLOTS), 600, seed=0)
    settings = {"epochs": 2, "check_every": 10} if name == "NCM" else {}
    return clickmodels.fit(name, log, world, **settings)


@pytest.mark.parametrize("name", GENERATIVE)
@loop_over("kind", ["deterministic", "stochastic"])
def test_value_agrees_with_a_long_simulation(name, kind):
    world, model = small_world(), model_of(name)
    policy = policies_of(world)[kind]
    got = evaluation.value(policy, model, world)
    assert got.method == "exact"
    assert got.stderr == 0.0
    clicks = envs.collect(world, model, policy, PAGES, seed=5).clicks.sum(axis=1)
    assert abs(clicks.mean() - got) < 4.5 * clicks.std() / PAGES**0.5


@loop_over("name", ["DBN", "CoCM", "NCM"])
def test_value_agrees_with_the_environment_itself(name):
    world, model = small_world(), model_of(name)
    policy = policies_of(world)["deterministic"]
    env = gym.make_vec(
        "clickgym/Learned-v0", num_envs=500, vectorization_mode="vector_entry_point", world=world,
        click_model=model, action="ranking", observation="ids", slots=SLOTS,
    )  # fmt: skip
    query, _ = env.reset(seed=1)
    rewards = []
    for _ in range(40):
        query, reward, *_ = env.step(policy.greedy(query))
        rewards.append(reward)
    clicks = np.concatenate(rewards)
    got = evaluation.value(policy, model, world)
    assert abs(clicks.mean() - got) < 4.5 * clicks.std() / len(clicks) ** 0.5


def test_a_stochastic_policy_is_the_sum_over_its_pages():
    world, model = small_world(), model_of("CoCM")
    policy = policies_of(world)["stochastic"]
    total = 0.0
    for query in range(world.n_queries):
        orders = np.array(list(itertools.permutations(range(world.n_docs), SLOTS)))
        asked = np.full(len(orders), query)
        chance = np.exp(policy.log_prob(asked, orders))
        total += world.query_probs[query] * (chance @ model.expected_clicks(asked, orders))
    assert evaluation.value(policy, model, world) == pytest.approx(total, abs=1e-12)


def test_sampled_values_lie_within_their_error(monkeypatch):
    world, model = small_world(), model_of("DBN")
    policy = policies_of(world)["stochastic"]
    exact = evaluation.value(policy, model, world)
    monkeypatch.setattr(pages, "MOST_PAGES", 0)
    found = [evaluation.value(policy, model, world, samples=200, seed=s) for s in range(300)]
    assert {one.method for one in found} == {"sampled rankings"}
    inside = np.mean([one.low <= exact <= one.high for one in found])
    assert 0.91 <= inside <= 0.98
    spread = np.std([one.value for one in found])
    assert spread == pytest.approx(np.mean([one.stderr for one in found]), rel=0.15)


class NoExpectations(clickmodels.DBN):
    """A user that can be watched but not computed."""

    def expected_clicks(self, query, ranking):
        raise clickmodels.NotExact("not here")


@loop_over("kind", ["deterministic", "stochastic"])
def test_clicks_are_drawn_where_they_cannot_be_expected(kind):
    world, model = small_world(), model_of("DBN")
    blind = NoExpectations(model.attractiveness, model.satisfaction, model.continuation)
    policy = policies_of(world)[kind]
    exact = evaluation.value(policy, model, world)
    got = evaluation.value(policy, blind, world, samples=20_000)
    drawn = {"deterministic": "sampled clicks", "stochastic": "sampled rankings and clicks"}
    assert got.method == drawn[kind]
    assert got.stderr > 0.0
    assert abs(got - exact) < 4.5 * got.stderr


def test_seeds_draw_different_rankings(monkeypatch):
    world, model = small_world(), model_of("DBN")
    policy = policies_of(world)["stochastic"]
    monkeypatch.setattr(pages, "MOST_PAGES", 0)
    one, same, other = (evaluation.value(policy, model, world, 50, seed) for seed in (0, 0, 1))
    assert one == same != other


def test_short_pages_and_queries_never_asked():
    relevance = np.array([[4, 0, -1], [1, 3, 0], [2, 2, 2]])
    world = data.World(relevance, query_probs=[0.5, 0.5, 0.0])
    user = clickmodels.true_user("CoCM", world)
    value = evaluation.value(policies.Uniform(world, SLOTS), user, world)
    by_hand = [
        user.expected_clicks([0, 0], [[0, 1, -1], [1, 0, -1]]).mean(),
        user.expected_clicks([1] * 6, list(itertools.permutations(range(3)))).mean(),
    ]
    assert value == pytest.approx(np.mean(by_hand), abs=1e-12)


def test_a_policy_with_shorter_pages_than_the_world_allows():
    world = data.World(np.array([[4, 2, 0, 1, 3]]))
    user = clickmodels.true_user("CoCM", world)
    value = evaluation.value(policies.PlackettLuce([[1.0, 2.0, 0, 0, 0]], slots=3), user, world)
    pages_of = user.expected_clicks([0, 0], [[0, 1, -1], [1, 0, -1]])
    assert abs(value - pages_of @ [1 / 3, 2 / 3]) < 4.5 * value.stderr


def test_expensive_models_are_sampled_before_they_are_enumerated():
    world, model = small_world(), model_of("NCM")
    policy = policies_of(world)["stochastic"]
    exact = evaluation.value(policy, model, world)
    sampled = evaluation.value(policy, model, world, samples=400)
    assert (exact.method, sampled.method) == ("exact", "sampled rankings")
    assert abs(sampled - exact) < 4.5 * sampled.stderr


def test_a_policy_of_other_candidates_is_refused():
    world = small_world(short=True)
    policy = policies.Ranker(np.ones(world.candidates.shape), SLOTS)
    with pytest.raises(ValueError, match="not a candidate"):
        evaluation.value(policy, clickmodels.true_user("DBN", world), world)


def test_more_slots_than_the_user_knows_are_refused():
    world = small_world()
    user = clickmodels.PBM(np.full((6, 7), 0.5), [1.0, 0.5])
    with pytest.raises(ValueError, match="shows 3 slots, the PBM knows 2"):
        evaluation.value(policies.Uniform(world, SLOTS), user, world)
