"""Training a registered agent in an environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..clickmodels import ClickModel
from ..common import checks
from ..common.progress import progress
from ..policies import Policy
from .base import Agent, agent_class
from .checkpoints import load_checkpoint, save_checkpoint
from .task import EnvOrMake, Task
from .watch import CurseWatch, Measurement

MEASUREMENTS = 20  # of a training run, unless ``every`` says otherwise


def train(
    name: str,
    env_or_make: EnvOrMake,
    pages: int,
    seed: int = 0,
    log_dir: str | os.PathLike[str] | None = None,
    deploy: ClickModel | EnvOrMake | None = None,
    **settings: Any,
) -> Policy:
    """Train agent ``name`` for ``pages`` result pages and return the policy to deploy.

    Parameters
    ----------
    env_or_make : environment, its id, or a function that makes it
        Whose world, click model, slots and reward the agent learns with; it takes the view
        (scores, rankings or slots; ids or features) and the batch that it needs.
    pages : int
        The budget; the last batch may go a little beyond it.
    log_dir : path, optional
        For TensorBoard: value inside the model and, with ``deploy``, on the true user.
    deploy : ClickModel or environment, optional
        The true user, for measuring only: nothing of it reaches the agent.
    **settings
        The agent's own (see its ``Settings``); unknown ones are errors.
    """
    run = TrainingRun(name, env_or_make, pages, seed, log_dir, deploy, **settings)
    run.finish()
    return run.agent.policy()


class TrainingRun:
    """A training run that can be measured, checkpointed and taken up again.

    Parameters are those of ``train``; ``every`` pages (default a twentieth of the budget) the
    policy is measured and, with ``checkpoint``, all that learning goes on from is saved there (by
    agents that have checkpoints). A run whose checkpoint exists starts from it.
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
        **settings: Any,
    ) -> None:
        self.pages = checks.positive_integer(pages, "pages")
        default = max(self.pages // MEASUREMENTS, 1)
        self.every = default if every is None else checks.positive_integer(every, "every")
        cls = agent_class(name)
        task = Task.of(env_or_make)
        self.agent: Agent = cls(task, seed, **settings)
        user = deploy
        if user is not None and not isinstance(user, ClickModel):
            user = Task.of(user).model
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

    def finish(self) -> None:
        """Learn until the budget is spent."""
        if self.watched and self.agent.pages == 0:
            self.watch.measure(self.agent.policy(), 0)
        with progress(self.pages, f"training {self.agent.name}") as advance:
            advance(self.agent.pages)
            while self.agent.pages < self.pages:
                before = self.agent.pages
                self.agent.learn(min(before + self.every, self.pages))
                advance(self.agent.pages - before)
                if self.watched:
                    self.watch.measure(self.agent.policy(), self.agent.pages)
                if self.checkpoint is not None:
                    save_checkpoint(self.agent, self.checkpoint, self.history)
        self.watch.close()
