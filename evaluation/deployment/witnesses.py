"""What the card asks about every policy: three kinds of click models, fitted to its log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import clickmodels
from ...common import checks
from ...data import ClickLog, World
from ...policies import Policy
from ..logs.pairs import LoggedPairs, count_pairs
from ..metrics.perplexity import log_likelihood
from ..offpolicy.estimators import estimate
from ..offpolicy.inputs import check_policy
from ..statistics import Estimate
from ..warning_signs.rank_calibration import RankCalibration, rank_calibration
from .promises import Promiser

KINDS = ("PBM", "UBM", "DBN")  # read by rank, by distance to the last click, until satisfied
EXPOSURE, SCORE = "exposure", "score"
PAGES = 20_000  # of the log, by which models are judged


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Click models of three kinds and the log that they were fitted to, for cards of any policy.

    Attributes
    ----------
    log : ClickLog
    world : World
    logging : Policy or None
        Who made the log.
    promisers : tuple of Promiser
        The models, called "UBM exposure" by their kind and prior. "UBM score" is there where the
        logging policy is known and has scores.
    calibrations : dict of RankCalibration
        By name, how well each of them predicts clicks by rank.
    likelihoods : dict of float
        By name, the mean log-likelihood of a page of the log.
    pairs : LoggedPairs
    earned : Estimate
        The mean clicks of the log's pages, with its standard error.
    """

    log: ClickLog
    world: World
    logging: Policy | None
    promisers: tuple[Promiser, ...]
    calibrations: dict[str, RankCalibration] = field(repr=False)
    likelihoods: dict[str, float] = field(repr=False)
    pairs: LoggedPairs = field(repr=False)
    earned: Estimate

    @property
    def models(self) -> dict[str, clickmodels.ClickModel]:
        """The models by name."""
        return {one.name: one.model for one in self.promisers}

    @property
    def knows_scores(self) -> bool:
        """Whether half of the models know the logging policy's scores."""
        return len(self.promisers) > len(KINDS)

    def check(self, log: ClickLog, world: World, logging: Policy | None) -> None:
        """Raise unless these are the witnesses of this very log, world and logging policy."""
        same = log is self.log and logging is self.logging
        if not same or world.fingerprint != self.world.fingerprint:
            raise ValueError("witnesses are of another log, world or logging policy than these")


def call_witnesses(
    log: ClickLog, world: World, logging: Policy | None = None, seed: int = 0
) -> Witnesses:
    """Fit the models whose promises the card's interval is made from.

    PBM, UBM and DBN tables whose prior follows exposure, and the same with the logging policy's
    scores where it is known and has them. Make them once for the cards of several policies.

    Parameters
    ----------
    log : ClickLog
        The one that the policy was learned from.
    logging : Policy, optional
        Who made the log.
    """
    log.check_world(world)
    if not log.impressions > 0:
        raise ValueError("the log has no impressions")
    if not (log.clicks & (log.counts > 0)[:, None]).any():
        raise ValueError("the log has no clicks: no policy can be compared with it")
    if logging is not None:
        check_policy("logging", logging, log, world)
    checks.positive_integer(seed, "seed", 0)
    settings: list[dict[str, Any]] = [{"prior": EXPOSURE}]
    if getattr(logging, "log_weights", None) is not None:
        settings.append({"prior": SCORE, "logging": logging})
    models = {
        f"{kind} {given['prior']}": clickmodels.fit(kind, log, world, seed=seed, **given)
        for given in settings
        for kind in KINDS
    }
    part = _sample(log, seed)
    calibrations = {
        name: rank_calibration(model, part, None) for name, model in models.items()
    }
    likelihoods = {
        name: log_likelihood(model, part) for name, model in models.items()
    }
    clicks = log.clicks.sum(axis=1).astype(np.float64)
    earned = estimate("on-policy", log, clicks, None, None)
    promisers = tuple(Promiser.of(name, model) for name, model in models.items())
    return Witnesses(
        log, world, logging, promisers, calibrations, likelihoods, count_pairs(log, world), earned
    )


def _sample(log: ClickLog, seed: int) -> ClickLog:
    """Return so many pages of a log as models are judged by."""
    if len(log) <= PAGES:
        return log
    rows = np.random.default_rng(seed).choice(len(log), PAGES, replace=False)
    return log[np.sort(rows)]
