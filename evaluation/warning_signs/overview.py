"""All warning signs at once: which of them speak, which are silent, and which cannot be known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...clickmodels import ClickModel, Ensemble, NotCapable
from ...common import checks
from ...common.runtime import import_extra
from ...data import ClickLog, World
from ...policies import Policy
from ..logs.description import RARE
from ..logs.pairs import LoggedPairs, count_pairs
from ..offpolicy.inputs import check_policy
from .cmip import cmip
from .concentration import concentration
from .identifiability import identifiability
from .members import Models, members_disagreement, name_models
from .rank_calibration import rank_calibration
from .sample_sizes import sample_sizes
from .shown import documents_shown
from .sign import Report
from .support import support


@dataclass(frozen=True)
class WarningSign:
    """One warning sign: its report, or why there is none.

    Attributes
    ----------
    name : str
        Of the sign, and of the model where it is one model's: "CMIP of UBM".
    report : Report or None
        A ``Support``, ``Identifiability``, ….
    not_run : str
        Why there is no report; empty where there is one.
    """

    name: str
    report: Report | None = None
    not_run: str = ""

    @property
    def warning(self) -> str | None:
        """What is wrong and what to do about it; None where nothing is, or nothing is known."""
        return None if self.report is None else self.report.warning

    def to_dict(self) -> dict[str, Any]:
        """Return the sign as JSON values."""
        report = None if self.report is None else self.report.to_dict()
        return {
            "name": self.name, "warning": self.warning, "not_run": self.not_run, "report": report,
        }  # fmt: skip

    def __str__(self) -> str:
        if self.not_run:
            return f"{self.name}: not known ({self.not_run})"
        return f"{self.name}: {self.warning or 'nothing to warn of'}"


class WarningSigns(list[WarningSign]):
    """Signs in a fixed order; prints as one line for each."""

    @property
    def speaking(self) -> list[WarningSign]:
        """Those with a warning."""
        return [sign for sign in self if sign.warning is not None]

    @property
    def silent(self) -> list[WarningSign]:
        """Those that ran and have nothing to warn of."""
        return [sign for sign in self if sign.warning is None and not sign.not_run]

    @property
    def not_run(self) -> list[WarningSign]:
        """Those that could not run."""
        return [sign for sign in self if sign.not_run]

    def report(self, name: str) -> Any:
        """Return the report of the sign called ``name``, None where it could not run."""
        for sign in self:
            if sign.name == name:
                return sign.report
        raise KeyError(f"no sign {name!r}; there are {', '.join(sign.name for sign in self)}")

    def to_dict(self) -> list[dict[str, Any]]:
        """Return all signs as JSON values."""
        return [sign.to_dict() for sign in self]

    def to_frame(self) -> Any:
        """Return a pandas frame with a row for each sign; needs ``clickgym[plots]``."""
        pandas = import_extra("pandas", "plots", "frames need")
        return pandas.DataFrame([
            {"sign": sign.name, "warning": sign.warning or "", "not_run": sign.not_run}
            for sign in self
        ])  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def warn(
    policy: Policy,
    log: ClickLog,
    world: World,
    models: Models | None = None,
    logging: Policy | None = None,
    seed: int = 0,
) -> WarningSigns:
    """Return all warning signs of deploying ``policy``, which was learned from ``log``.

    Parameters
    ----------
    models : ClickModel, sequence or mapping of ClickModel, optional
        Fitted to the log: whose promises are asked about. Of a single ensemble, its members are
        compared, and it is judged as one model.
    logging : Policy, optional
        Who made the log.

    Returns
    -------
    WarningSigns
        A list with every sign: "support", "concentration", "identifiability", "effective sample
        size", "members' disagreement", and "calibration by rank of …" and "CMIP of …" for each
        model, the latter among documents that the log showed at least ten times. One that could
        not run says why.
    """
    log.check_world(world)
    if not log.impressions > 0:
        raise ValueError("the log has no impressions")
    check_policy("policy", policy, log, world)
    if logging is not None:
        check_policy("logging", logging, log, world)
    checks.positive_integer(seed, "seed", 0)
    given: Models = {} if models is None else models
    judged = name_models([given] if isinstance(given, Ensemble) else given)
    for model in judged.values():
        model.check_world(world)
    pairs, shown = count_pairs(log, world), documents_shown(policy, world, seed=seed)
    known: dict[str, Any] = {"pairs": pairs, "shown": shown}
    signs = WarningSigns([
        _run("support", lambda: support(policy, log, world, **known)),
        _run("concentration", lambda: concentration(policy, log, world, **known)),
        _run("identifiability", lambda: identifiability(log, pairs=pairs)),
        _run(
            "effective sample size",
            lambda: sample_sizes(policy, log, world, logging, seed=seed, **known),
        ),
        _run(
            "members' disagreement",
            lambda: members_disagreement(given, policy, log, world, seed=seed, pairs=pairs),
            "no models were given" if not judged else "",
        ),
    ])  # fmt: skip
    if not judged:
        missing = "no models were given"
        signs += [WarningSign(name, not_run=missing) for name in ("calibration by rank", "CMIP")]
    for name, model in judged.items():
        signs.append(_calibrate(name, model, log, seed))
        signs.append(_inform(name, model, pairs, world, logging, seed))
    return signs


def _calibrate(name: str, model: ClickModel, log: ClickLog, seed: int) -> WarningSign:
    return _run(f"calibration by rank of {name}", lambda: rank_calibration(model, log, seed=seed))


def _inform(
    name: str,
    model: ClickModel,
    pairs: LoggedPairs,
    world: World,
    logging: Policy | None,
    seed: int,
) -> WarningSign:
    """Return CMIP among the documents that the log showed often enough."""
    sign = f"CMIP of {name}"
    if logging is None:
        return WarningSign(sign, not_run="it is not known who made the log")
    return _run(sign, lambda: cmip(model, logging, _supported(world, pairs), seed=seed))


def _supported(world: World, pairs: LoggedPairs) -> World:
    """Return the world whose candidates are those that the log showed at least ten times."""
    world.require_grades("CMIP needs")
    candidates = np.zeros(world.candidates.shape, dtype=bool)
    often = pairs.total >= RARE
    candidates[pairs.query[often], pairs.document[often]] = True
    candidates &= world.candidates
    probs = np.where(candidates.any(axis=1), world.query_probs, 0.0)
    if not probs.sum() > 0:
        raise ValueError(f"the log showed no document {RARE} times, and CMIP needs many such")
    return world.with_candidates(candidates, probs / probs.sum())


def _run(name: str, make: Callable[[], Report], unknown: str = "") -> WarningSign:
    """Return a sign, with the reason where what it needs is not there or cannot be had."""
    if unknown:
        return WarningSign(name, not_run=unknown)
    try:
        return WarningSign(name, make())
    except (NotCapable, ValueError) as error:  # NotExact is a ValueError
        return WarningSign(name, not_run=str(error))
