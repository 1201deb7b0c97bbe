"""Agents of one's own that forget something are told so, by name; and which reward is learned."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import agents, clickmodels, data, envs, policies
from clickgym.agents import base

WORLD = data.synthetic_world(n_queries=5, n_docs=6)


class Whole(agents.Agent):
    """Shows random pages, and deploys a random policy."""

    action = "scores"

    def prepare(self):
        self.env = self.task.vector_env(64, self.action, "ids")
        self.env.action_space.seed(0)
        self.env.reset(seed=0)

    def learn(self, until):
        while self.pages < until:
            self.env.step(self.env.action_space.sample())
            self.pages += 64

    def policy(self):
        return policies.Uniform(self.task.world, self.task.slots)


class ForgetsToCount(Whole):
    def learn(self, until):
        while self.pages < until:
            self.env.step(self.env.action_space.sample())


class ForgetsToCountSlots(ForgetsToCount):
    action = "slots"


class StopsEarly(Whole):
    def learn(self, until):
        self.env.step(self.env.action_space.sample())


class ReturnsNothing(Whole):
    def policy(self):
        pass


class CannotLearn(agents.Agent):
    def policy(self):
        return policies.Uniform(self.task.world, self.task.slots)


class HasNoPolicy(Whole):
    policy = agents.Agent.policy


class CannotRestore(Whole):
    def state(self):
        return {}


FORGETFUL = {
    ForgetsToCount: r"ForgetsToCount\.learn\(until\) counts no pages: .* self\.pages",
    ForgetsToCountSlots: r"ForgetsToCountSlots\.learn\(until\) counts no pages",
    StopsEarly: r"StopsEarly\.learn\(until\) counts no pages",
    ReturnsNothing: r"ReturnsNothing\.policy\(\) must return a .*Policy, not NoneType",
    CannotLearn: r"CannotLearn has no method learn\(until\)",
    HasNoPolicy: r"HasNoPolicy has no method policy\(\)",
    CannotRestore: r"CannotRestore has no method restore\(state\)",
}


def train(kind, monkeypatch, **options):
    monkeypatch.setitem(base._CLASSES, kind.__name__, kind)
    user = clickmodels.true_user("DBN", WORLD)
    env = envs.RankingEnv(world=WORLD, user=user, slots=3)
    return agents.train(kind.__name__, env, pages=1_000, **options)


def test_an_agent_that_forgets_something_is_stopped_and_named(monkeypatch):
    monkeypatch.setattr("clickgym.agents.training._UNCOUNTED", 2_000)
    for kind, message in FORGETFUL.items():
        with pytest.raises(ValueError, match=message):
            train(kind, monkeypatch)
    with pytest.raises(ValueError, match="ReturnsNothing"):
        train(ReturnsNothing, monkeypatch, deploy=clickmodels.true_user("DBN", WORLD))
    assert isinstance(train(Whole, monkeypatch), policies.Uniform)


def test_a_method_that_is_missing_is_named_without_a_training_run():
    task = agents.Task.of(
        envs.RankingEnv(world=WORLD, user=clickmodels.true_user("DBN", WORLD), slots=3)
    )
    with pytest.raises(NotImplementedError, match=r"Agent has no method learn\(until\)"):
        agents.Agent(task).learn(1)
    with pytest.raises(NotImplementedError, match=r"Agent has no method policy\(\)"):
        agents.Agent(task).policy()


# What is learned from


def rewards_of(name, env, **options):
    run = agents.TrainingRun(name, env, 64, **options)
    return run.agent.task.reward


def test_inside_learned_models_agents_learn_from_expectations_on_true_users_from_clicks():
    user = clickmodels.true_user("DBN", WORLD)
    own = {"world": WORLD, "slots": 3}
    ncm = clickmodels.fit("NCM", envs.collect(WORLD, user, policies.Uniform(WORLD, 3), 50, seed=0),
                          WORLD, epochs=1, embedding=4, hidden=4)  # fmt: skip
    true, learned, dear = (
        envs.RankingEnv(**own, **{source: model})
        for source, model in (("user", user), ("click_model", user), ("click_model", ncm))
    )
    assert rewards_of("PolicyGradient", true) == "clicks"
    assert rewards_of("PolicyGradient", learned) == "expected_clicks"
    assert rewards_of("PolicyGradient", dear) == "conditional_clicks"
    for reward in ("clicks", "expected_clicks", "conditional_clicks"):
        for env in (true, learned, dear):
            assert rewards_of("PolicyGradient", env, reward=reward) == reward
    assert rewards_of("CascadeUCB1", learned) == "clicks"  # it looks at the clicks themselves
    ndcg = envs.RankingEnv(**own, user=user, reward="ndcg")
    assert rewards_of("PolicyGradient", ndcg) == "ndcg"
    with pytest.raises(ValueError, match="reward='ndcg' needs a true user"):
        rewards_of("PolicyGradient", learned, reward="ndcg")
    with pytest.raises(ValueError, match="reward must be one of clicks, expected_clicks"):
        rewards_of("PolicyGradient", learned, reward="click")


def test_the_reward_that_was_learned_from_is_on_the_curves(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    user = clickmodels.true_user("PBM", WORLD)
    env = envs.RankingEnv(world=WORLD, slots=3, click_model=user)
    run = agents.TrainingRun("PolicyGradient", env, 600, log_dir=tmp_path, every=300, batch=100)
    seen = []
    learn = run.agent.update
    run.agent.update = lambda *page: (seen.append(page[3].sum(axis=1).mean()), learn(*page))
    run.finish()
    found = accumulator.EventAccumulator(str(tmp_path)).Reload()
    curve = found.Scalars("reward/expected_clicks")
    assert [event.step for event in curve] == [300, 600]
    means = [np.mean(seen[:3]), np.mean(seen[3:])]
    assert [event.value for event in curve] == pytest.approx(means, rel=1e-5)
