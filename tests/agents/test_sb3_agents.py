"""The Stable-Baselines3 agents: networks, learning, checkpoints, and what they deploy."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from conftest import SLOTS, small_world
from looping import loop_over

from clickgym import agents, clickmodels, data, evaluation, policies
from clickgym.agents.checkpoints import load_checkpoint, save_checkpoint
from clickgym.policies import Ranker

pytest.importorskip("stable_baselines3", reason="needs pip install 'clickgym[agents]'")
pytest.importorskip("sb3_contrib", reason="needs pip install 'clickgym[agents]'")

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from clickgym.agents.sb3.page_networks import CandidateScorer, PageNetwork, ScoresCritic
from clickgym.agents.sb3.slot_credit import SlotRollouts

NAMES = ("PPO", "SAC", "MaskablePPO", "DQN")
QUICK = {  # few pages at once, so that a tiny budget makes several updates
    "PPO": {"num_envs": 16, "steps": 2, "batch_size": 16, "hidden": 8},
    "SAC": {"num_envs": 16, "batch_size": 16, "buffer_size": 200, "hidden": 8},
    "MaskablePPO": {"num_envs": 16, "steps": 1, "batch_size": 32, "hidden": 8},
    "DQN": {"num_envs": 16, "batch_size": 32, "buffer_pages": 200, "hidden": 8},
}
PAGES = 200
WORLD = small_world(short=True)
every_agent = loop_over("name", NAMES)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def make(world=WORLD, **settings):
    return gym.make("clickgym/DBN-v0", world=world, slots=SLOTS, **settings)


def learned(name, pages=PAGES, seed=0, world=WORLD, **settings):
    agent = agents.agent_class(name)(
        agents.Task.of(make(world)), seed, **{**QUICK[name], **settings}
    )
    agent.learn(pages)
    return agent


def parameters(agent):
    return {key: value.numpy() for key, value in agent.model.policy.state_dict().items()}


def same_parameters(one, other):
    one, other = parameters(one), parameters(other)
    return all(np.array_equal(one[key], other[key]) for key in one)


# Networks


def page(rng, n=3, n_docs=6):
    features = torch.from_numpy(rng.normal(size=(n, n_docs, 4)).astype(np.float32))
    free = torch.from_numpy(rng.random((n, n_docs)) < 0.7)
    placed = torch.from_numpy(rng.random((n, n_docs)) < 0.5) & ~free
    last = placed & (placed.cumsum(dim=1) == 1)  # the first of them in the list
    return features, torch.arange(n), free, placed, placed.sum(dim=1) / n_docs, last


def scorer(sees_last=False):
    torch.manual_seed(0)
    network = CandidateScorer(4, 3, 16, sees_last)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return network


def test_permuting_candidates_permutes_their_scores(rng):
    features, query, free, placed, filled, last = page(rng)
    order = torch.from_numpy(rng.permutation(6))
    by_candidate = (part[:, order] for part in (features, free, placed, last))
    permuted, *masks, other_last = by_candidate
    for sees_last in (False, True):
        scores = scorer(sees_last)(features, query, free, placed, filled, last)
        found = scorer(sees_last)(permuted, query, *masks, filled, other_last)
        torch.testing.assert_close(found, scores[:, order])


def test_scores_depend_on_the_document_placed_last_where_it_is_seen(rng):
    *seen, last = page(rng)
    for sees_last in (False, True):
        network = scorer(sees_last)
        same = torch.equal(network(*seen, last), network(*seen, last.roll(1, dims=1)))
        assert same is not sees_last


def test_scores_depend_on_the_other_candidates(rng):
    features, query, free, *rest = page(rng)
    free[:], changed = True, features.clone()
    changed[:, 0] += 1.0
    one, other = (scorer()(part, query, free, *rest) for part in (features, changed))
    assert (one[:, 1:] != other[:, 1:]).any(dim=1).all()


def test_what_is_neither_free_nor_placed_does_not_count(rng):
    features, query, free, placed, *rest = page(rng)
    free[:, 0] = placed[:, 0] = False
    changed = features.clone()
    changed[:, 0] = 9.0
    one, other = (scorer()(part, query, free, placed, *rest) for part in (features, changed))
    torch.testing.assert_close(one[:, 1:], other[:, 1:])


def test_permuting_candidates_leaves_the_critic_of_scores_alone(rng):
    features = rng.normal(size=(3, 6, 4)).astype(np.float32)
    candidates, order = rng.random((3, 6)) < 0.8, rng.permutation(6)
    scores = torch.from_numpy(rng.normal(size=(3, 6)).astype(np.float32))
    values = []
    for part in (np.arange(6), order):
        torch.manual_seed(0)
        critic = ScoresCritic(features[:, part], candidates[:, part], 8)
        for parameter in critic.parameters():
            torch.nn.init.normal_(parameter)
        values.append(critic(torch.arange(3), scores[:, part]))
    torch.testing.assert_close(*values)


def page_network(rng, sees_last=True):
    features = rng.normal(size=(5, 6, 4)).astype(np.float32)
    network = PageNetwork(features, np.ones((5, 6), dtype=bool), 3, 8, sees_last=sees_last)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    observation = torch.zeros(40, 7)
    observation[:, 0] = torch.from_numpy(rng.integers(5, size=40))
    observation[::2, 2], observation[::4, 5] = 1.0, 2.0
    return network, observation


def test_one_choice_is_judged_as_among_all(rng):
    network, observation = page_network(rng)
    document = torch.from_numpy(rng.integers(6, size=40))
    scores, values = network(observation)
    expected = (scores + values).gather(1, document[:, None])[:, 0]
    torch.testing.assert_close(network.judge_choices(observation, document), expected)


def test_kept_encodings_are_forgotten_when_something_is_learned(rng):
    network, observation = page_network(rng)
    step = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(2):
        scores = network(observation)[0]
        with torch.no_grad():
            for _ in range(2):
                torch.testing.assert_close(network(observation)[0], scores)
        step.zero_grad()
        scores.square().mean().backward()
        step.step()


# Learning


def test_what_replay_agents_deploy_is_a_running_mean():
    for name in ("DQN", "SAC"):
        one, other = learned(name, averaging=1.0), learned(name, averaging=0.1)
        state = one.model.policy.state_dict()
        mean, present = ("q_net_target.network.", "q_net.network.") if name == "DQN" else (
            "mean_network.", "actor.network.")  # fmt: skip
        kept = {key.removeprefix(mean): value for key, value in state.items() if mean in key}
        assert kept
        for key, value in kept.items():
            torch.testing.assert_close(value, state[present + key])
        moved = other.model.policy.state_dict()
        assert any(not torch.equal(moved[mean + key], moved[present + key]) for key in kept)


@every_agent
def test_learning_changes_what_is_deployed(name):
    fresh = agents.agent_class(name)(agents.Task.of(make()), 0, **QUICK[name])
    assert not same_parameters(fresh, learned(name))


def test_zero_is_refused_where_it_means_nothing():
    zeros = [("PPO", "epochs"), ("PPO", "spread"), ("SAC", "hidden"),
             ("DQN", "temperature_half_life"), ("MaskablePPO", "learning_rate")]  # fmt: skip
    for name, setting in zeros:
        with pytest.raises(ValueError, match=f"^{setting} must be"):
            agents.agent_class(name)(agents.Task.of(make()), 0, **{setting: 0})


def test_scores_of_what_is_no_candidate_are_not_learned():
    agent = learned("PPO")
    scores = agent.model.policy.mlp_extractor.forward_actor(torch.arange(6.0)[:, None])
    assert (scores[~torch.tensor(WORLD.candidates)] == 0.0).all()
    assert (scores[torch.tensor(WORLD.candidates)] != 0.0).any()


def test_exploration_goes_on_from_a_checkpoint(tmp_path):
    world, settings = small_world(), QUICK["DQN"] | {"temperature_half_life": 50.0}
    agent = agents.agent_class("DQN")(agents.Task.of(make(world)), 0, **settings)
    agent.learn(PAGES)
    save_checkpoint(agent, tmp_path / "agent")
    resumed = agents.agent_class("DQN")(agents.Task.of(make(world)), 0, **settings)
    load_checkpoint(resumed, tmp_path / "agent")
    assert resumed.model.exploration_rate == agent.model.exploration_rate < 0.1
    for one in (agent, resumed):
        one.learn(2 * PAGES)
    assert same_parameters(agent, resumed)


def test_checkpoints_of_another_set_up_are_refused(tmp_path):
    world = small_world()
    save_checkpoint(learned("PPO", world=world), tmp_path / "agent")
    other = clickmodels.true_user("PBM", world, slots=SLOTS)
    task = agents.Task.of(make(world))
    for changed, text in (
        (agents.Task(world, task.model, SLOTS - 1, "clicks", task.learned), "slots"),
        (agents.Task(world, other, task.slots, "clicks", task.learned), "click model"),
    ):
        with pytest.raises(ValueError, match=f"checkpoint with {text}"):
            load_checkpoint(agents.agent_class("PPO")(changed, 0, **QUICK["PPO"]),
                            tmp_path / "agent")  # fmt: skip
    faster = QUICK["PPO"] | {"learning_rate": 0.5}
    with pytest.raises(ValueError, match="checkpoint with settings"):
        load_checkpoint(agents.agent_class("PPO")(task, 0, **faster), tmp_path / "agent")


def share_of_gap(name, seed=0):
    """How much of the way from random to the best an agent comes with its budget."""
    world = data.synthetic_world(n_queries=20, n_docs=10)
    env = gym.make("clickgym/DBN-v0", world=world, slots=10)
    user = env.unwrapped.model
    policy = agents.train(name, env, agents.agent_class(name).budget, seed)
    lowest = evaluation.value(policies.Uniform(world), user, world).value
    best = world.query_probs @ evaluation.best_policy(user, world, 10).found.values
    return (evaluation.value(policy, user, world).value - lowest) / (best - lowest)


def test_ppo_learns_within_its_budget():
    assert share_of_gap("PPO") > 0.85


@pytest.mark.slow  # half a minute
def test_sac_learns_within_its_budget():
    assert share_of_gap("SAC") > 0.85


# SlotPolicy


def slot_agent():
    return learned("MaskablePPO", learning_rate=0.05)


def test_slot_probabilities_sum_to_one():
    policy = slot_agent().policy()
    for query in range(WORLD.n_queries):
        documents = np.flatnonzero(WORLD.candidates[query])
        length = min(SLOTS, len(documents))
        pages = np.array(list(itertools.permutations(documents, length)))
        pages = np.pad(pages, ((0, 0), (0, SLOTS - length)), constant_values=-1)
        logs = policy.log_prob(np.full(len(pages), query), pages)
        assert np.exp(logs).sum() == pytest.approx(1.0)


def test_slot_probabilities_are_the_models():
    agent = slot_agent()
    policy, rng = agent.policy(), np.random.default_rng(0)
    query = rng.integers(WORLD.n_queries, size=50)
    ranking, log_prob = policy.draw(query, rng)
    expected = np.zeros(50)
    placed = np.zeros((50, WORLD.n_docs))
    for slot in range(SLOTS):
        live = ranking[:, slot] >= 0
        masks = WORLD.candidates[query] & (placed == 0)
        masks[~live] = True
        seen = torch.from_numpy(np.column_stack([query, placed]).astype(np.float32))
        actions = torch.from_numpy(np.maximum(ranking[:, slot], 0))
        with torch.no_grad():
            logs = agent.model.policy.evaluate_actions(seen, actions, masks)[1].numpy()
        expected += np.where(live, logs, 0.0)
        placed[live, ranking[live, slot]] = slot + 1
    np.testing.assert_allclose(log_prob, expected, atol=1e-4)
    np.testing.assert_allclose(policy.log_prob(query, ranking), log_prob)


def test_greedy_slots_are_the_models():
    agent = slot_agent()
    env = agents.Task.of(make()).vector_env(WORLD.n_queries, "slots", "ids")
    seen, _ = env.reset(seed=0, options={"query": np.arange(WORLD.n_queries)})
    first = agent.model.predict(
        seen.astype(np.float32), deterministic=True, action_masks=env.action_masks()
    )[0]
    np.testing.assert_array_equal(agent.policy().greedy(np.arange(WORLD.n_queries))[:, 0], first)


def test_repeats_and_non_candidates_are_never_drawn():
    policy = slot_agent().policy()
    assert policy.log_prob([0], [[0] * SLOTS])[0] == -np.inf


def test_draws_have_the_probabilities_of_a_slot_policy():
    policy, rng = slot_agent().policy(), np.random.default_rng(0)
    drawn = policy.sample(np.zeros(20_000, dtype=int), rng)
    pages, counts = np.unique(drawn, axis=0, return_counts=True)
    probs = np.exp(policy.log_prob(np.zeros(len(pages), dtype=int), pages))
    spread = np.sqrt(probs * (1 - probs) / 20_000)
    assert (np.abs(counts / 20_000 - probs) < 5 * spread + 1e-4).all()


# What a model of one's own deploys


def own_model(action, observation, cls=PPO, **settings):
    env = DummyVecEnv(
        [lambda: make(action=action, observation=observation, **settings) for _ in range(2)]
    )
    kind = "MultiInputPolicy" if observation == "both" else "MlpPolicy"
    return cls(kind, env, n_steps=8, batch_size=16, seed=0, device="cpu")


@loop_over("observation", ["features", "ids", "both"])
@loop_over("action", ["scores", "ranking", "slots"])
def test_any_view_can_be_deployed(action, observation):
    model = own_model(action, observation, invalid="repair").learn(16)
    policy = agents.deployed_policy(model, agents.Task.of(make()))
    policy.check_world(WORLD)
    ranking = policy.greedy(np.arange(WORLD.n_queries))
    lengths = np.minimum(SLOTS, WORLD.n_candidates)
    np.testing.assert_array_equal((ranking >= 0).sum(axis=1), lengths)


@loop_over("action", ["scores", "slots"])
def test_the_deployed_ranking_is_the_models(action):
    world = small_world()
    env = make(world, action=action)
    model = A2C("MlpPolicy", env, seed=0, device="cpu").learn(50)
    policy = agents.deployed_policy(model, agents.Task.of(env))
    for query in range(world.n_queries):
        seen, info = env.reset(seed=0, options={"query": query})
        done = False
        while not done:
            action_taken = model.predict(seen, deterministic=True)[0]
            seen, _, done, _, info = env.step(action_taken)
        np.testing.assert_array_equal(policy.greedy([query])[0], info["ranking"])


def test_a_masked_model_of_ones_own_can_be_deployed():
    model = own_model("slots", "features", MaskablePPO).learn(16)
    policy = agents.deployed_policy(model, agents.Task.of(make()))
    assert isinstance(policy, Ranker)


def test_normalised_observations_are_honoured():
    env = VecNormalize(DummyVecEnv([make]))
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=32, seed=0, device="cpu").learn(64)
    task = agents.Task.of(make())
    scores = agents.deployed_policy(model, task).rankings
    features, _ = task.vector_env(WORLD.n_queries, "scores", "features").reset(
        seed=0, options={"query": np.arange(WORLD.n_queries)}
    )
    by_hand = model.predict(env.normalize_obs(features), deterministic=True)[0]
    expected = Ranker(by_hand, SLOTS, world=WORLD)
    np.testing.assert_array_equal(scores, expected.rankings)


@loop_over("name", ["PPO", "MaskablePPO"])
def test_the_models_of_agents_deploy_what_the_agents_do(name):
    agent = learned(name)
    policy = agents.deployed_policy(agent.model, agent.task)
    assert type(policy) is type(agent.policy())
    query = np.arange(WORLD.n_queries)
    np.testing.assert_array_equal(policy.greedy(query), agent.policy().greedy(query))


# Credit by slot


def test_replayed_slots_of_complete_pages_have_what_they_earned():
    settings = QUICK["DQN"] | {"buffer_pages": 40}  # so that the newest take the oldest's places
    agent = agents.agent_class("DQN")(agents.Task.of(make(reward="expected_clicks")), **settings)
    agent.learn(PAGES)
    buffer, model, scale = agent.model.replay_buffer, agent.task.model, agent.reward_scale
    assert buffer.full
    order = np.roll(np.arange(buffer.buffer_size), -buffer.pos)
    compared = 0
    for column in range(buffer.n_envs):
        page, rewards = None, []
        for step in order:
            seen, action = buffer.observations[step, column], buffer.actions[step, column, 0]
            if (seen[1:] == 0).all():
                page, rewards = [], []
            if page is None:
                continue  # its first slots are no longer there
            page.append(action)
            rewards.append(buffer.rewards[step, column])
            if buffer.dones[step, column]:
                probs = model.click_probs([int(seen[0])], [page])[0]
                np.testing.assert_allclose(rewards, scale * probs, rtol=1e-6)
                compared += 1
    assert compared > buffer.n_envs


def test_pages_that_began_in_the_rollout_before_keep_their_other_slots_shares():
    pages = SimpleNamespace()
    space = gym.spaces.Box(0.0, 9.0, (2,)), gym.spaces.Discrete(4)
    rollouts = SlotRollouts(2, *space, pages=pages, n_envs=3)
    nothing = np.zeros(3)
    ends = [([1], [[0.5, 0.25, 0.125]], [3]), ([0, 2], [[1.0, 2.0, 0.0], [3.0, 0.0, 0.0]], [2, 1])]
    for ended, shares, lengths in ends:
        pages.ended, pages.shares, pages.lengths = map(np.array, (ended, shares, lengths))
        masks = np.ones((3, 4))
        value = torch.zeros(3)
        rollouts.add(np.zeros((3, 2)), nothing, nothing, nothing, value, value, action_masks=masks)
    np.testing.assert_array_equal(rollouts.rewards, [[1.0, 0.125, 0.0], [2.0, 0.0, 3.0]])


# The callback


def test_the_callback_writes_the_curse(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    model = own_model("scores", "features")
    user = clickmodels.true_user("CoCM", WORLD)
    model.learn(64, callback=agents.CurseCallback(user=user, every=32, log_dir=tmp_path))
    found = accumulator.EventAccumulator(str(tmp_path)).Reload()
    tags = {"curse/promised", "curse/deployed", "curse/gap", "curse/regret"}
    assert tags <= set(found.Tags()["scalars"])
    for tag in tags:
        assert [event.step for event in found.Scalars(tag)] == [0, 32, 64]


def test_the_callback_counts_pages_of_slots():
    callback = agents.CurseCallback(every=4)
    own_model("slots", "ids").learn(64, callback=callback)
    assert callback.pages == callback.history[-1].pages
    assert 64 // SLOTS <= callback.pages <= 64


def test_the_callback_works_with_a_native_batch():
    env = gym.make_vec(
        "clickgym/DBN-v0", num_envs=4, vectorization_mode="vector_entry_point", world=WORLD,
        slots=SLOTS,
    )  # fmt: skip
    callback = agents.CurseCallback(user=make(), every=16)
    PPO("MlpPolicy", agents.as_vec_env(env), n_steps=8, batch_size=32, device="cpu").learn(
        32, callback=callback
    )
    assert [found.gap for found in callback.history] == pytest.approx([0.0] * 3)
