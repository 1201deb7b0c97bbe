"""The curse while a Stable-Baselines3 model of one's own is trained."""

from __future__ import annotations

import os
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from ...clickmodels import ClickModel
from ...common import checks
from ..task import EnvOrMake, Task
from ..watch import CurseWatch, Measurement
from .deployment import deployed_policy


class CurseCallback(BaseCallback):
    """Measures what the model would deploy, inside its click model and on the true user.

    Writes ``curse/promised``, ``curse/deployed``, ``curse/gap`` and ``curse/regret`` to
    TensorBoard: before training, every ``every`` pages, and at the end.

    Parameters
    ----------
    user : ClickModel or environment, optional
        The true user; without it only ``curse/promised`` is known.
    every : int
        Pages between measurements.
    log_dir : path, optional
        Where event files go; without it measurements are only kept in ``history``.
    task : Task, environment, its id or a function that makes it, optional
        What is trained on; by default it is asked of the training environment.
    seed : int
        Of rankings that are drawn of stochastic policies.
    """

    def __init__(
        self,
        user: ClickModel | EnvOrMake | None = None,
        every: int = 5_000,
        log_dir: str | os.PathLike[str] | None = None,
        task: Task | EnvOrMake | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.every = checks.positive_integer(every, "every")
        if user is not None and not isinstance(user, ClickModel):
            user = Task.of(user).model
        self.user, self.log_dir, self.seed = user, log_dir, seed
        self.task = task if task is None or isinstance(task, Task) else Task.of(task)
        self.pages = 0
        self.watch: CurseWatch | None = None

    @property
    def history(self) -> list[Measurement]:
        """What was measured so far."""
        return [] if self.watch is None else self.watch.history

    def _on_training_start(self) -> None:
        if self.watch is None:
            self.task = self.task or find_task(self.training_env)
            known = self.task.model, self.user, self.task.world
            self.watch = CurseWatch(*known, self.log_dir, self.seed)
        if not self.history:
            self._measure()

    def _on_step(self) -> bool:
        self.pages += int(self.locals["dones"].sum())
        if self.pages - self.history[-1].pages >= self.every:
            self._measure()
        return True

    def _on_training_end(self) -> None:
        if self.pages > self.history[-1].pages:
            self._measure()

    def _measure(self) -> None:
        assert self.watch is not None
        assert self.task is not None
        self.watch.measure(deployed_policy(self.model, self.task), self.pages)


def find_task(env: Any) -> Task:
    """Return the task of a Stable-Baselines3 ``VecEnv``, whatever wraps it."""
    try:
        return Task.from_settings(env.get_attr("settings", indices=[0])[0])
    except AttributeError as error:
        raise ValueError(
            "the training environment does not tell its world and model; give task="
        ) from error
