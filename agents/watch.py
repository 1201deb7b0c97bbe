"""The curse while it happens: a policy's value inside the model and on the true user."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..clickmodels import ClickModel
from ..common.runtime import import_extra
from ..data import World
from ..evaluation import deploy, value
from ..policies import Policy

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

TAGS = ("curse/promised", "curse/deployed", "curse/gap", "curse/regret")
_SAMPLES, _EXPENSIVE_SAMPLES = 2_000, 500  # rankings of a stochastic policy per measurement


@dataclass(frozen=True)
class Measurement:
    """Values after ``pages`` pages of training, in clicks per page.

    ``deployed``, ``gap`` and ``regret`` are None where no true user is known, ``regret`` also for
    a user whose best ranking cannot be searched for.
    """

    pages: int
    promised: float
    deployed: float | None = None
    gap: float | None = None
    regret: float | None = None


class CurseWatch:
    """Measures policies while they are learned, and writes TensorBoard curves.

    Parameters
    ----------
    model : ClickModel
        What the environment of training wraps.
    user : ClickModel, optional
        The true user. What is measured on it never reaches the agent.
    world : World
    log_dir : path, optional
        Where event files go; without it measurements are only kept in ``history``.
    seed : int
        For the rankings that are drawn of stochastic policies.

    Notes
    -----
    ``evaluation.deploy`` measures. Exact for deterministic policies, at the cost of one page per
    query and side; stochastic ones are sampled, with the same rankings on both sides. The best
    value, for the regret, is searched for once per user and world.
    """

    def __init__(
        self,
        model: ClickModel,
        user: ClickModel | None,
        world: World,
        log_dir: str | os.PathLike[str] | None = None,
        seed: int = 0,
    ) -> None:
        model.check_world(world)
        if user is not None:
            user.check_world(world)
        self.model, self.user, self.world, self.seed = model, user, world, seed
        self.history: list[Measurement] = []
        self._log_dir = log_dir
        self._writer: SummaryWriter | None = None

    def measure(
        self, policy: Policy, pages: int, earned: tuple[str, float] | None = None
    ) -> Measurement:
        """Measure ``policy`` after ``pages`` pages and write what was found.

        ``earned`` is what the agent learned from: the reward's name, and its mean over the pages
        shown since the measurement before.
        """
        sides = (self.model,) if self.user is None else (self.model, self.user)
        samples = _SAMPLES if all(side.cheap_scores for side in sides) else _EXPENSIVE_SAMPLES
        if self.user is None:
            promised = value(policy, self.model, self.world, samples, self.seed)
            found = Measurement(pages, promised.value)
        else:
            got = deploy(policy, self.model, self.user, self.world, samples, self.seed)
            regret = None if got.regret is None else got.regret.value
            numbers = (got.promised.value, got.deployed.value, got.gap.value, regret)
            found = Measurement(pages, *numbers)
        self.history.append(found)
        self._write(found, earned)
        return found

    def _write(self, found: Measurement, earned: tuple[str, float] | None) -> None:
        if self._log_dir is None:
            return
        if self._writer is None:  # curves of a killed run beyond its checkpoint are replaced
            tensorboard = import_extra("torch.utils.tensorboard", "agents", "TensorBoard needs")
            folder = os.fspath(self._log_dir)
            self._writer = tensorboard.SummaryWriter(folder, purge_step=found.pages)
        numbers = (found.promised, found.deployed, found.gap, found.regret)
        for tag, number in zip(TAGS, numbers, strict=True):
            if number is not None:
                self._writer.add_scalar(tag, number, found.pages)
        if earned is not None:
            self._writer.add_scalar(f"reward/{earned[0]}", earned[1], found.pages)
        self._writer.flush()

    def close(self) -> None:
        """Close the event file."""
        if self._writer is not None:
            self._writer.close()
