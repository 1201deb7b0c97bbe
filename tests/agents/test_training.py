"""Agents of one's own that forget something are told so, by name."""

from __future__ import annotations

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
