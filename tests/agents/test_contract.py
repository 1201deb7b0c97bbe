"""What every registered agent keeps to: each claim runs for each name in the registry."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import random
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from conftest import SLOTS, small_world

from clickgym import agents, clickmodels, data
from clickgym.agents import base
from clickgym.agents.checkpoints import load_checkpoint, save_checkpoint
from clickgym.policies import Policy

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib", reason="needs pip install 'clickgym[agents]'")

PAGES = 160
WORLD, SHORT_WORLD = small_world(), small_world(short=True)
QUERIES = np.arange(WORLD.n_queries)
SMALL = {  # so that a tiny budget makes several updates; an agent gets those that it has
    "batch": 32, "num_envs": 16, "batch_size": 16, "steps": 1, "hidden": 8, "buffer_size": 200,
    "buffer_pages": 200,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Case:
    """An agent, with one of the variants that it declares, and small."""

    name: str
    variant: str = ""

    @property
    def kind(self):
        return agents.agent_class(self.name)

    @property
    def settings(self):
        fields = {field.name for field in dataclasses.fields(self.kind.Settings)}
        small = {key: value for key, value in SMALL.items() if key in fields}
        return small | self.kind.variants.get(self.variant, {})

    def __str__(self):
        return f"{self.name} {self.variant}".strip()


CASES = [
    Case(name, variant)
    for name in agents.names()
    for variant in ("", *agents.agent_class(name).variants)
]


def learned_model(world):
    """A model of its own, which knows nothing of the grades."""
    user = clickmodels.true_user("DBN", world)
    return clickmodels.DBN(user.attractiveness, user.satisfaction, user.continuation)


def make(world=SHORT_WORLD, learned=False, vector=False, slots=SLOTS, **settings):
    settings |= {"world": world, "slots": slots}
    if learned:
        settings = {"click_model": learned_model(world)} | settings
    env_id = "clickgym/Learned-v0" if learned else "clickgym/DBN-v0"
    if vector:
        return gym.make_vec(
            env_id, num_envs=3, vectorization_mode="vector_entry_point", **settings
        )
    return gym.make(env_id, **settings)


def start(case, seed=0, world=SHORT_WORLD, slots=SLOTS, **settings):
    task = agents.Task.of(make(world, slots=slots, observation="ids"))
    return case.kind(task, seed, **{**case.settings, **settings})


def learn(case, seed=0, world=SHORT_WORLD, **settings):
    agent = start(case, seed, world, **settings)
    agent.learn(PAGES)
    return agent


def parts(state):
    """The arrays and values of a state, in order."""
    if isinstance(state, dict):
        return [part for key in sorted(state, key=str) for part in parts(state[key])]
    if isinstance(state, (list, tuple)):
        return [part for item in state for part in parts(item)]
    return [state]


def same(one, other):
    one, other = parts(one), parts(other)
    return len(one) == len(other) and all(map(np.array_equal, one, other))


def same_policy(one, other):
    return type(one) is type(other) and same(one.state(), other.state())


CLAIMS = {}


def claim(check):
    CLAIMS[check.__name__] = check
    return check


# Learning


@claim
def learns_in_true_and_learned_single_and_vectorised_environments(case, folder):
    for learned in (False, True):
        for vector in (False, True):
            env = make(learned=learned, vector=vector)
            policy = agents.train(case.name, env, PAGES, **case.settings)
            assert policy.slots == SLOTS, (learned, vector)
            assert policy.fingerprint == SHORT_WORLD.fingerprint, (learned, vector)


@claim
def learns_from_every_reward(case, folder):
    policies = [
        agents.train(case.name, make(reward=reward), PAGES, **case.settings)
        for reward in ("clicks", "expected_clicks", "ndcg")
    ]
    assert all(policy.greedy(QUERIES).shape == (len(QUERIES), SLOTS) for policy in policies)


@claim
def pages_are_counted_and_end_soon_after_the_budget(case, folder):
    agent = start(case)
    assert agent.pages == 0
    agent.learn(PAGES)
    assert PAGES <= agent.pages <= PAGES + 32 * SLOTS


@claim
def the_same_seed_gives_the_same_policy(case, folder):
    one, other = learn(case, 3), learn(case, 3)
    assert same_policy(one.policy(), other.policy())
    assert not one.has_checkpoints or same(one.state(), other.state())


@claim
def two_seeds_differ(case, folder):
    one, other = learn(case, 0), learn(case, 1)
    assert not one.has_checkpoints or not same(one.state(), other.state())
    policies = [one.policy(), other.policy(), *(learn(case, seed).policy() for seed in (2, 3))]
    assert any(not same_policy(policies[0], policy) for policy in policies[1:])


@claim
def learning_changes_the_policy(case, folder):
    policies = [start(case, seed).policy() for seed in range(3)]
    after = [learn(case, seed).policy() for seed in range(3)]
    assert not all(map(same_policy, policies, after))


@claim
def cutting_learning_into_pieces_makes_no_difference(case, folder):
    whole, cut = start(case), start(case)
    whole.learn(PAGES)
    for until in (1, PAGES // 2, PAGES):
        cut.learn(until)
    assert whole.pages == cut.pages
    assert same_policy(whole.policy(), cut.policy())


@claim
def asking_for_the_policy_changes_nothing(case, folder):
    quiet, asked = start(case), start(case)
    for agent in (quiet, asked):
        agent.learn(PAGES // 2)
        if agent is asked:
            agent.policy()
        agent.learn(PAGES)
    assert same_policy(quiet.policy(), asked.policy())


@claim
def lists_shorter_than_the_page_and_pages_longer_than_all_lists_are_learned(case, folder):
    agent = start(case, slots=9)  # 7 documents, and queries of 2 and 3 candidates
    agent.learn(PAGES)
    ranking = agent.policy().greedy(QUERIES)
    assert (ranking >= 0).sum(axis=1).tolist() == [2, 3, 7, 7, 7, 7]
    learned = parts(agent.state()) if agent.has_checkpoints else []
    assert all(np.isfinite(part).all() for part in learned if isinstance(part, np.ndarray))


# What an agent may see


@claim
def grades_are_never_read(case, folder):
    model = learned_model(SHORT_WORLD)
    turned = np.where(SHORT_WORLD.candidates, 4 - SHORT_WORLD.relevance, -1)
    shared = SHORT_WORLD.features, SHORT_WORLD.query_probs, SHORT_WORLD.candidates
    other = data.World(turned, *shared)
    envs = [make(world, learned=True, click_model=model) for world in (SHORT_WORLD, other)]
    policies = [agents.train(case.name, env, PAGES, **case.settings) for env in envs]
    assert same(*(policy.state() for policy in policies))


@claim
def the_user_to_deploy_on_never_reaches_the_agent(case, folder):
    user = clickmodels.true_user("PBM", SHORT_WORLD, slots=SLOTS)
    settings = case.settings | {"every": PAGES // 2}
    runs = [
        agents.TrainingRun(case.name, make(), PAGES, deploy=deploy, **settings)
        for deploy in (None, user)
    ]
    for run in runs:
        run.finish()
    assert runs[1].history[-1].deployed is not None
    assert same_policy(*(run.agent.policy() for run in runs))


@claim
def global_generators_are_given_back(case, folder):
    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002
    random.seed(7)

    def states():
        return torch.get_rng_state().numpy(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002

    before = states()
    learn(case).policy()
    assert same(before, states())


@claim
def a_world_without_features_is_learned_in_or_refused_by_name(case, folder):
    world = data.World(SHORT_WORLD.relevance)
    if case.kind.needs_features or case.settings.get("features"):
        with pytest.raises(ValueError, match=r"features; this (world|one) has none"):
            start(case, world=world)
    else:
        ranking = learn(case, world=world).policy().greedy(QUERIES)
        lengths = np.minimum(SLOTS, world.n_candidates)
        np.testing.assert_array_equal((ranking >= 0).sum(axis=1), lengths)


# Checkpoints


@claim
def a_run_taken_up_from_its_checkpoint_equals_one_never_stopped(case, folder):
    # No short lists here, so that no rollout ends within a page.
    runs = {
        "whole": {"pages": 2 * PAGES, "every": PAGES},
        "first half": {"pages": PAGES, "every": PAGES, "checkpoint": folder / "agent"},
        "resumed": {"pages": 2 * PAGES, "every": PAGES, "checkpoint": folder / "agent"},
    }
    policies, has_checkpoints = {}, case.kind.state is not agents.Agent.state
    for label, settings in runs.items():
        run = agents.TrainingRun(case.name, make(WORLD), **settings, **case.settings)
        resumed = label == "resumed" and has_checkpoints
        assert (run.agent.pages >= PAGES) == resumed
        run.finish()
        policies[label] = run.agent.policy()
    assert (folder / "agent").exists() == has_checkpoints
    assert same_policy(policies["whole"], policies["resumed"])


@claim
def a_checkpoint_of_another_set_up_is_refused(case, folder):
    agent = start(case)
    if not agent.has_checkpoints:
        with pytest.raises(NotImplementedError, match="has no checkpoints"):
            save_checkpoint(agent, folder / "agent")
        return
    save_checkpoint(agent, folder / "agent")
    pbm = clickmodels.true_user("PBM", SHORT_WORLD, slots=SLOTS)
    task, kind = agent.task, case.kind
    others = {
        "seed": (task, 1), "slots": (dataclasses.replace(task, slots=SLOTS - 1), 0),
        "reward": (dataclasses.replace(task, reward="expected_clicks"), 0),
        "click model": (dataclasses.replace(task, model=pbm), 0),
    }  # fmt: skip
    for text, (other, seed) in others.items():
        with pytest.raises(ValueError, match=f"checkpoint with {text}"):
            load_checkpoint(kind(other, seed, **case.settings), folder / "agent")
    for key in set(case.settings) & {"batch", "num_envs"}:
        with pytest.raises(ValueError, match="checkpoint with settings"):
            load_checkpoint(start(case, **{key: 8}), folder / "agent")


# Settings and declarations


@claim
def unknown_settings_are_errors(case, folder):
    with pytest.raises(TypeError, match=f"{case.name} has no setting bach"):
        start(case, bach=3)


@claim
def bad_settings_are_named(case, folder):
    declared = [
        field.name
        for field in dataclasses.fields(case.kind.Settings)
        if "check" in field.metadata
    ]
    for setting in declared:
        for value in (-1, float("nan"), "many", [1, 2]):
            with pytest.raises(ValueError, match=rf"^{setting}\b"):
                start(case, **{setting: value})


@claim
def settings_are_documented(case, folder):
    kind = case.kind.Settings
    text = "".join(cls.__doc__ or "" for cls in kind.__mro__[:-1])
    for field in dataclasses.fields(kind):
        assert f"{field.name} : " in text, field.name
        assert field.default is not dataclasses.MISSING, field.name


@claim
def what_scripts_and_studies_ask_is_declared(case, folder):
    kind = case.kind
    assert kind.name == case.name
    assert kind.__doc__
    assert isinstance(kind.budget, int)
    assert kind.budget > 0
    assert kind.action in ("scores", "ranking", "slots")
    assert kind.aims_at in ("Max-Reward", "Top-Down")
    assert kind.extra in ("", "agents")


@claim
def agents_without_an_extra_learn_without_torch(case, folder):
    if case.kind.extra or case.variant:
        return
    code = (
        "import sys, gymnasium, clickgym.agents as agents\n"
        f"import {case.kind.__module__}\n"
        "env = gymnasium.make('clickgym:clickgym/DBN-v0', slots=3)\n"
        f"agents.train({case.name!r}, env, 64, **{case.settings!r}).greedy([0])\n"
        "print('torch' in sys.modules)\n"
    )
    paths = [os.environ.get("PYTHONPATH", "")]
    if not case.kind.__module__.startswith("clickgym."):  # the agent's own file
        paths.append(str(Path(sys.modules[case.kind.__module__].__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert done.stdout == "False\n", done.stderr


# The policy


@claim
def greedy_pages_show_candidates_without_repeats(case, folder):
    policy = learn(case).policy()
    ranking = policy.greedy(QUERIES)
    lengths = np.minimum(SLOTS, SHORT_WORLD.n_candidates)
    assert ranking.shape == (len(QUERIES), SLOTS)
    for query, page in enumerate(ranking):
        shown = page[: lengths[query]]
        assert SHORT_WORLD.candidates[query, shown].all()
        assert len(set(shown.tolist())) == lengths[query]
        assert (page[lengths[query] :] == -1).all()
    np.testing.assert_array_equal(policy.greedy(QUERIES), ranking)


@claim
def samples_follow_the_generator_and_have_their_log_prob(case, folder):
    policy = learn(case).policy()
    query = QUERIES.repeat(20)
    drawn, logs = policy.draw(query, np.random.default_rng(1))
    again = policy.sample(query, np.random.default_rng(1))
    np.testing.assert_array_equal(drawn, again)
    assert policy.has_log_prob
    np.testing.assert_allclose(policy.log_prob(query, drawn), logs, rtol=1e-9, atol=1e-12)
    assert np.isfinite(logs).all()
    assert (logs <= 1e-12).all()
    assert policy.log_prob([2], [[0] * SLOTS])[0] == -np.inf


@claim
def a_policy_survives_saving(case, folder):
    policy = learn(case).policy()
    policy.save(folder / "policy")
    loaded = Policy.load(folder / "policy")
    assert same_policy(policy, loaded)
    assert loaded.fingerprint == SHORT_WORLD.fingerprint
    np.testing.assert_array_equal(loaded.greedy(QUERIES), policy.greedy(QUERIES))
    with pytest.raises(ValueError, match="belongs to another world"):
        loaded.check_world(WORLD)


@pytest.mark.parametrize("check", CLAIMS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_agent(case, check, tmp_path):
    CLAIMS[check](case, tmp_path)


OWN_AGENT = '''
from dataclasses import dataclass

import numpy as np

from clickgym import agents, policies
from clickgym.agents.base import count


@agents.register("MostClicked")
class MostClicked(agents.Agent):
    """Shows random pages, and deploys the ranking by click-through rate."""

    budget = 20_000
    action = "scores"
    aims_at = "Top-Down"

    @dataclass(frozen=True)
    class Settings:
        """How to show pages.

        Attributes
        ----------
        batch : int
            Pages shown at once.
        """

        batch: int = count(256)

    def prepare(self):
        self.shown, self.clicked = np.zeros((2, *self.task.world.candidates.shape))
        self.rng = np.random.default_rng(self.seed)
        self.env = self.task.vector_env(self.settings.batch, self.action, "ids")
        self.query = self.env.reset(seed=self.seed)[0]

    def learn(self, until):
        while self.pages < until:
            scores = self.rng.random((self.settings.batch, self.task.world.n_docs))
            self.query, _, _, _, info = self.env.step(scores)
            info = info["final_info"]
            place = info["query"][:, None], info["ranking"]
            np.add.at(self.shown, place, info["ranking"] >= 0)
            np.add.at(self.clicked, place, info["clicks"])
            self.pages += self.settings.batch

    def policy(self):
        rates = self.clicked / np.maximum(self.shown, 1)
        return policies.Ranker(rates, self.task.slots, world=self.task.world)

    def state(self):
        rng, env = self.rng.bit_generator.state, self.env.np_random.bit_generator.state
        learned = {"shown": self.shown.copy(), "clicked": self.clicked.copy()}
        return {**learned, "query": self.query.copy(), "rng": rng, "env": env}

    def restore(self, state):
        self.shown, self.clicked = state["shown"].copy(), state["clicked"].copy()
        self.query, _ = self.env.reset(options={"query": state["query"]})
        self.rng.bit_generator.state = state["rng"]
        self.env.np_random.bit_generator.state = state["env"]
'''

@pytest.fixture
def own_agent(tmp_path, monkeypatch):
    """The name of an agent in a file of its own, registered for one test."""
    monkeypatch.setattr(base, "_CLASSES", dict(base._CLASSES))
    path = tmp_path / "most_clicked.py"
    path.write_text(OWN_AGENT)
    spec = importlib.util.spec_from_file_location("most_clicked", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "most_clicked", module)
    spec.loader.exec_module(module)
    return "MostClicked"


def test_an_agent_of_ones_own_passes_the_whole_contract(own_agent, tmp_path):
    assert own_agent in agents.names()
    for name, check in CLAIMS.items():
        folder = tmp_path / name
        folder.mkdir()
        check(Case(own_agent), folder)
