"""The curse while it happens: a policy's value inside the model and on the true user."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..clickmodels import ClickModel, NotExact
from ..data import World
from ..evaluation import best_policy
from ..evaluation.values import pages_and_scores
from ..policies import Policy

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

TAGS = ("curse/promised", "curse/deployed", "curse/gap", "curse/regret")
_SAMPLES, _EXPENSIVE_SAMPLES = 2_000, 500  # rankings of a stochastic policy at a measurement


@dataclass(frozen=True)
class Measurement:
    """Values after ``pages`` pages of training, in clicks a page.

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
        Of the rankings that are drawn of stochastic policies.

    Notes
    -----
    Exact for deterministic policies, at the cost of one page a query and side; stochastic ones
    are sampled, with the same rankings on both sides. The best value, for the regret, is searched
    for once a user and world.
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
        self._best: dict[int, float | None] = {}
        self._log_dir = log_dir
        self._writer: SummaryWriter | None = None

    def measure(self, policy: Policy, pages: int) -> Measurement:
        """Measure ``policy`` after ``pages`` pages and write what was found."""
        models = (self.model,) if self.user is None else (self.model, self.user)
        cheap = all(model.cheap_scores for model in models)
        samples = _SAMPLES if cheap else _EXPENSIVE_SAMPLES
        shown, (scores, exact) = pages_and_scores(policy, models, self.world, samples, self.seed)
        values = [
            shown.estimate(part, sure).value for part, sure in zip(scores, exact, strict=True)
        ]
        found = Measurement(pages, values[0])
        if self.user is not None:
            best = self._best_value(policy.slots, values[1])
            regret = None if best is None else best - values[1]
            found = Measurement(pages, values[0], values[1], values[0] - values[1], regret)
        self.history.append(found)
        self._write(found)
        return found

    def _best_value(self, slots: int, deployed: float) -> float | None:
        """Return the best value known, None for a user that cannot be searched."""
        assert self.user is not None
        if slots not in self._best:
            try:
                found = best_policy(self.user, self.world, slots).found
            except NotExact:
                found = None
            value = None if found is None else float(self.world.query_probs @ found.values)
            self._best[slots] = value
        best = self._best[slots]
        if best is not None and deployed > best:  # a search gives a lower bound
            self._best[slots] = best = deployed
        return best

    def _write(self, found: Measurement) -> None:
        if self._log_dir is None:
            return
        if self._writer is None:  # curves of a killed run beyond its checkpoint are replaced
            self._writer = _writer(self._log_dir, found.pages)
        values: tuple[Any, ...] = (found.promised, found.deployed, found.gap, found.regret)
        for tag, value in zip(TAGS, values, strict=True):
            if value is not None:
                self._writer.add_scalar(tag, value, found.pages)
        self._writer.flush()

    def close(self) -> None:
        """Close the event file."""
        if self._writer is not None:
            self._writer.close()


def _writer(log_dir: str | os.PathLike[str], first: int) -> SummaryWriter:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError("TensorBoard needs pip install 'clickgym[agents]'") from error
    return SummaryWriter(os.fspath(log_dir), purge_step=first)
