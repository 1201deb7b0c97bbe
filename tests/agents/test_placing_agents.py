"""Agents that place vertical blocks in Federated-v0: what they deploy, and what they learn."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from conftest import SLOTS, small_vertical_world
from looping import loop_over

from clickgym import agents, clickmodels, data, envs, evaluation, policies
from clickgym.agents.block_places import PlaceLogits, best_places
from clickgym.agents.checkpoints import load_checkpoint, save_checkpoint
from clickgym.policies import Policy

pytest.importorskip("sb3_contrib", reason="needs pip install 'clickgym[agents]'")

WORLD = small_vertical_world(short=True)
SMALL = {
    "PolicyGradient": {"batch": 32},
    "PPO": {"num_envs": 16, "batch_size": 16, "steps": 1, "hidden": 8},
}
PLACING = sorted(SMALL)
PAGES = 160


def make(model=None, world=WORLD, slots=SLOTS, **settings):
    source = {"user": "FCM"} if model is None else {"click_model": model}
    settings = {"world": world, "slots": slots, "observation": "ids"} | source | settings
    return gym.make("clickgym/Federated-v0", **settings)


def start(name, seed=0, **settings):
    return agents.agent_class(name)(agents.Task.of(make(**settings)), seed, **SMALL[name])


def test_agents_declare_whether_they_place():
    able = [name for name in agents.names() if agents.agent_class(name).places_blocks]
    assert sorted(able) == PLACING


@loop_over("name", [name for name in agents.names() if name not in PLACING])
def test_an_agent_that_does_not_place_is_refused_in_one_sentence(name):
    with pytest.raises(ValueError, match=rf"^{name} does not decide where a vertical block [^.]*$"):
        agents.train(name, make(), PAGES)


@loop_over("name", PLACING)
def test_the_policy_places_blocks_where_there_are_some(name):
    policy = agents.train(name, make(), PAGES, **SMALL[name])
    assert isinstance(policy, policies.Placed)
    assert policy.fingerprint == WORLD.fingerprint
    places = policy.places.argmax(axis=1) - 1
    assert (places[WORLD.vertical < 0] == -1).all()
    assert (places <= WORLD.n_candidates).all()
    assert policy.places_blocks
    user = clickmodels.true_user("FCM", WORLD, slots=SLOTS)
    with_blocks, without = (evaluation.value(p, user, WORLD) for p in (policy, policy.policy))
    assert with_blocks != without


@loop_over("name", PLACING)
def test_agents_learn_over_learned_models(name):
    user = clickmodels.true_user("FCM", WORLD, slots=SLOTS)
    shown = policies.Placed(policies.Uniform(WORLD, SLOTS), np.full(SLOTS + 2, 1 / 7), WORLD)
    log = envs.collect(WORLD, user, shown, 300, seed=0)
    for kind in ("UBM", "FCM", "VCM"):
        model = clickmodels.fit(kind, log, WORLD)
        run = agents.TrainingRun(name, make(model), PAGES, deploy=user, every=80, **SMALL[name])
        run.finish()
        assert isinstance(run.policy(), policies.Placed)
        assert all(np.isfinite([m.promised, m.deployed, m.regret]).all() for m in run.history)


@loop_over("name", PLACING)
def test_every_reward_is_learned_from(name):
    for reward in ("expected_clicks", "satisfied"):
        assert agents.train(name, make(reward=reward), PAGES, **SMALL[name]).slots == SLOTS


@loop_over("name", PLACING)
def test_a_seed_gives_its_policy(name):
    first, again, other = (start(name, seed) for seed in (1, 1, 2))
    for agent in (first, again, other):
        agent.learn(PAGES)
    states = [agent.policy().state() for agent in (first, again, other)]
    same, differ = (_equal(states[0], state) for state in states[1:])
    assert same
    assert not differ


@loop_over("name", PLACING)
def test_a_run_that_is_taken_up_again_equals_one_that_was_never_stopped(name, tmp_path):
    whole, half = start(name), start(name)
    whole.learn(2 * PAGES)
    half.learn(PAGES)
    save_checkpoint(half, tmp_path / name)
    resumed = start(name)
    load_checkpoint(resumed, tmp_path / name)
    resumed.learn(2 * PAGES)
    assert resumed.pages == whole.pages
    assert _equal(whole.state(), resumed.state())


@loop_over("name", PLACING)
def test_the_policy_survives_saving(name, tmp_path):
    agent = start(name)
    agent.learn(PAGES)
    policy = agent.policy()
    policy.save(tmp_path / name)
    loaded = Policy.load(tmp_path / name)
    np.testing.assert_array_equal(loaded.places, policy.places)
    query = np.arange(6)
    np.testing.assert_array_equal(loaded.greedy(query), policy.greedy(query))


def _equal(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_equal, one, other))
    return np.array_equal(one, other)


def test_the_gradient_of_places_is_that_of_differences():
    types, allowed = np.array([0, 1, 0, -1]), np.ones((4, 5), dtype=bool)
    allowed[2, 4] = False
    allowed[3, 1:] = False
    logits = PlaceLogits(types, allowed)
    rng = np.random.default_rng(0)
    logits.of_type[:] = rng.normal(size=(3, 5))
    logits.own[:] = rng.normal(size=(4, 5))
    query = np.array([0, 1, 2, 2, 3, 0])
    worth = rng.normal(size=6)
    places = logits.draw(query, rng)
    assert allowed[query, places + 1].all()

    def total():
        given = logits.logits(query)
        logs = given[np.arange(6), places + 1] - np.logaddexp.reduce(given, axis=1)
        return worth @ logs

    found = []
    for adam in logits._adams:  # which then move nothing
        adam.step = lambda gradient, rows: found.append((gradient, rows)) or 0.0 * gradient
    logits.ascend(query, places, worth, 0.1)
    asked = (logits.of_type, types[query]), (logits.own, query)
    for (table, rows), (gradients, moved) in zip(asked, found, strict=True):
        times = np.unique(rows, return_counts=True)[1]
        for row, gradient, count in zip(moved, gradients, times, strict=True):
            for place in range(5):
                before, values = table[row, place], []
                for step in (1e-5, -1e-5):
                    table[row, place] = before + step
                    values.append(total())
                table[row, place] = before
                difference = (values[0] - values[1]) / 2e-5 / np.sqrt(count)
                assert gradient[place] == pytest.approx(difference, abs=1e-6)


def test_the_best_place_is_one_that_there_is():
    scores = np.array([[0.1, 0.5, 0.9], [0.2, 0.9, 0.1]])
    allowed = np.array([[True, True, False], [True, True, True]])
    assert best_places(scores, allowed).tolist() == [0, 0]


@loop_over("action", ["scores", "ranking", "slots"])
def test_a_stable_baselines_model_of_ones_own_is_deployed_with_its_places(action):
    import sb3_contrib
    import stable_baselines3

    env = make(action=action, invalid="repair")
    settings = {"n_steps": 64, "batch_size": 64, "device": "cpu", "seed": 0}
    kind = sb3_contrib.MaskablePPO if action == "slots" else stable_baselines3.PPO
    model = kind("MlpPolicy", env, **settings)
    policy = agents.deployed_policy(model, agents.Task.of(env))
    assert isinstance(policy, policies.Placed)
    batch = gym.make_vec(
        "clickgym/Federated-v0", num_envs=6, vectorization_mode="vector_entry_point", world=WORLD,
        slots=SLOTS, observation="ids", action=action, invalid="repair",
    )  # fmt: skip
    seen, _ = batch.reset(seed=0, options={"query": np.arange(6)})
    places, open_pages = np.full(6, -1), np.ones(6, dtype=bool)
    while open_pages.any():
        masks = {"action_masks": batch.action_masks()} if action == "slots" else {}
        seen, _, done, _, info = batch.step(model.predict(seen, deterministic=True, **masks)[0])
        ended = done & open_pages
        if ended.any():
            places[ended] = info["final_info"]["vertical_position"][ended]
        open_pages &= ~done
    shown = policies.placing.pages.draw_positions(
        policy, WORLD, np.arange(6), policy.greedy(np.arange(6)), np.random.default_rng(0)
    )
    np.testing.assert_array_equal(shown, places)


@pytest.mark.slow
@loop_over("name", PLACING)
def test_an_agent_learns_to_place_an_attractive_block_where_it_helps(name):
    types = np.tile([-1, 1, 2, 3], 5)
    world = data.synthetic_world(n_queries=20, n_docs=10).with_vertical(types)
    user = clickmodels.true_user("FCM", world, slots=5)
    shares = []
    for seed in range(3):
        policy = agents.train(name, make(world=world, slots=5), 100_000, seed)
        uniform = policies.Placed(policy.policy, np.full(7, 1 / 7), world)
        best = policies.best_place(user, world, policy.policy)
        at_random, learned, highest = (
            evaluation.value(one, user, world) for one in (uniform, policy, best)
        )
        assert learned > at_random + 0.03
        shares.append((learned - at_random) / (highest - at_random))
        places = policy.places.argmax(axis=1) - 1
        assert (places[(types == 1) | (types == 2)] >= 0).all()
    assert np.mean(shares) > 0.75
