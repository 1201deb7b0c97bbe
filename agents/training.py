"""Training a registered agent in an environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym

from ..clickmodels import ClickModel
from ..common import checks
from ..common.progress import progress
from ..envs import RankingVectorEnv
from ..policies import Policy
from .base import Agent, agent_class
from .checkpoints import load_checkpoint, save_checkpoint
from .task import EnvOrMake, Task
from .watch import CurseWatch, Measurement

MEASUREMENTS = 20  # of a training run, unless ``every`` says otherwise
# A call of ``learn`` may show this many pages, and this many times what it was asked for, before it
# has counted any.
_UNCOUNTED, _UNCOUNTED_TIMES = 50_000, 10


def train(
    name: str,
    env_or_make: EnvOrMake,
    pages: int,
    seed: int = 0,
    log_dir: str | os.PathLike[str] | None = None,
    deploy: ClickModel | EnvOrMake | None = None,
    reward: str | None = None,
    **settings: Any,
) -> Policy:
    """Train agent ``name`` for ``pages`` result pages and return the policy to deploy.

    Parameters
    ----------
    env_or_make : environment, its id, or a function that makes it
        Whose world, click model and slots the agent learns with; it takes the view (scores,
        rankings or slots; ids or features) and the batch that it needs.
    pages : int
        The budget; the last batch may go a little beyond it.
    log_dir : path, optional
        For TensorBoard: value inside the model and, with ``deploy``, on the true user.
    deploy : ClickModel or environment, optional
        The true user, for measuring only: nothing of it reaches the agent.
    reward : str, optional
        What the agent learns from, as in the environments: ``"clicks"`` (sampled),
        ``"expected_clicks"`` (exact), ``"conditional_clicks"`` (without most of the noise), …
        By default the environment's own on a true user, and inside a learned model exact expected
        clicks, or conditional ones where the exact ones cost too much (NCM): the model is
        ours to question, so there is no need to learn from dice that it throws. Agents that learn
        from the clicks themselves (bandits) see sampled ones whatever the reward.
    **settings
        The agent's own (see its ``Settings``); unknown ones are errors.
    """
    run = TrainingRun(name, env_or_make, pages, seed, log_dir, deploy, reward=reward, **settings)
    run.finish()
    return run.policy()


def _find_user(deploy: EnvOrMake) -> ClickModel:
    """Return the true user of an environment, of its id, or of a function that makes it."""
    if isinstance(deploy, str) and deploy not in gym.registry:
        ids = ", ".join(name for name in gym.registry if name.startswith("clickgym/"))
        raise ValueError(
            f"deploy={deploy!r} is no environment's id; give one of {ids}, an environment, or a "
            "click model such as clickmodels.true_user(name, world)"
        )
    return Task.of(deploy).model


class TrainingRun:
    """A training run that can be measured, checkpointed and taken up again.

    Parameters are those of ``train``; ``every`` pages (default a twentieth of the budget) the
    policy is measured and, with ``checkpoint``, everything needed to resume learning is saved
    there (by agents that have checkpoints). A run whose checkpoint exists starts from it.
    """

    def __init__(
        self,
        name: str,
        env_or_make: EnvOrMake,
        pages: int,
        seed: int = 0,
        log_dir: str | os.PathLike[str] | None = None,
        deploy: ClickModel | EnvOrMake | None = None,
        every: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        reward: str | None = None,
        **settings: Any,
    ) -> None:
        self.pages = checks.positive_integer(pages, "pages")
        default = max(self.pages // MEASUREMENTS, 1)
        self.every = default if every is None else checks.positive_integer(every, "every")
        cls = agent_class(name)
        _require_methods(cls)
        task = _CountedTask.of(env_or_make)
        if reward is not None or not cls.learns_from_clicks:
            task = task.with_reward(reward)
        self.agent: Agent = cls(task, seed, **settings)
        self._count = task.count
        user = deploy
        if user is not None and not isinstance(user, ClickModel):
            user = _find_user(user)
        self.watched = log_dir is not None or user is not None
        self.watch = CurseWatch(task.model, user, task.world, log_dir, seed)
        wanted = checkpoint is not None and self.agent.has_checkpoints
        self.checkpoint = Path(checkpoint) if checkpoint is not None and wanted else None
        if self.checkpoint is not None and self.checkpoint.exists():
            self.watch.history += load_checkpoint(self.agent, self.checkpoint)

    @property
    def history(self) -> list[Measurement]:
        """What was measured so far."""
        return self.watch.history

    def policy(self) -> Policy:
        """Return the policy that the agent would deploy now."""
        policy: Any = self.agent.policy()
        if not isinstance(policy, Policy):
            raise ValueError(
                f"{type(self.agent).__name__}.policy() must return a clickgym.policies.Policy, not "
                f"{type(policy).__name__}"
            )
        return policy

    def finish(self) -> None:
        """Learn until the budget is spent."""
        if self.watched and self.agent.pages == 0:
            self.watch.measure(self.policy(), 0)
        with progress(self.pages, f"training {self.agent.name}") as advance:
            advance(self.agent.pages)
            while self.agent.pages < self.pages:
                before = self.agent.pages
                until = min(before + self.every, self.pages)
                self._count.start(self.agent, until)
                self.agent.learn(until)
                self._count.require_progress()
                advance(self.agent.pages - before)
                if self.watched:
                    earned = self.agent.task.reward, self._count.mean_reward()
                    self.watch.measure(self.policy(), self.agent.pages, earned)
                if self.checkpoint is not None:
                    save_checkpoint(self.agent, self.checkpoint, self.history)
        self.watch.close()


def _require_methods(cls: type[Agent]) -> None:
    """Raise where an agent's class lacks a method, before anything is learned."""
    needed = {"learn(until)": cls.learn is Agent.learn, "policy()": cls.policy is Agent.policy}
    if cls.state is not Agent.state:
        needed["restore(state)"] = cls.restore is Agent.restore
    for method, missing in needed.items():
        if missing:
            raise ValueError(f"{cls.__name__} has no method {method}, which an agent needs")


@dataclass
class _PageCount:
    """Counts pages and what they earn in a call of ``learn``.

    It notices an agent that shows pages and does not count them: it would learn for ever.
    """

    agent: Agent | None = None
    before: int = 0
    left: float = 0.0  # pages that may be shown until some are counted
    shown: int = 0
    earned: float = 0.0

    def start(self, agent: Agent, until: int) -> None:
        """Begin a call of ``agent.learn(until)``."""
        self.agent, self.before = agent, agent.pages
        self.left = _UNCOUNTED + _UNCOUNTED_TIMES * (until - agent.pages)
        self.shown, self.earned = 0, 0.0

    def add(self, pages: float, ended: int, earned: float) -> None:
        """Count pages that an environment shows, those that ended, and their rewards."""
        self.left -= pages
        self.shown += ended
        self.earned += earned
        if self.left < 0:
            self.require_progress()

    def mean_reward(self) -> float:
        """Return the mean reward of the pages that ended."""
        return self.earned / max(self.shown, 1)

    def require_progress(self) -> None:
        """Raise where the agent has counted no pages since ``start``."""
        if self.agent is not None and self.agent.pages <= self.before:
            raise ValueError(
                f"{type(self.agent).__name__}.learn(until) counts no pages: it must add what it "
                "shows to self.pages, as in self.pages += batch"
            )


@dataclass(frozen=True)
class _CountedTask(Task):
    """A task that counts the pages that its environments show."""

    count: _PageCount = field(default_factory=_PageCount, compare=False, repr=False)

    def vector_env(
        self, num_envs: int, action: str, observation: str, slot_rewards: bool | str = False
    ) -> RankingVectorEnv:
        """Return a batch of environments of this task."""
        env, count = super().vector_env(num_envs, action, observation, slot_rewards), self.count
        step, pages = env.step, num_envs / (self.slots if action == "slots" else 1)

        def counted_step(actions: Any) -> Any:
            result = step(actions)
            count.add(pages, int(result[2].sum()), float(result[1].sum()))
            return result

        env.step = counted_step  # type: ignore[method-assign]
        return env
