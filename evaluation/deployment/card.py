"""The deployment card: everything that is known of a policy before it is deployed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...clickmodels import ClickModel, Ensemble, NotCapable
from ...common import checks
from ...common.storage import write_text
from ...data import ClickLog, World
from ...policies import Policy
from ..offpolicy.inputs import check_policy
from ..statistics import Estimate
from ..warning_signs.members import Models, name_models
from ..warning_signs.overview import WarningSigns, warn
from ..warning_signs.sign import to_json
from .calibration import CONFIDENCE, Calibration, Calibrations
from .card_page import card_page
from .card_picture import plot_card
from .card_text import card_text
from .evidence import Evidence
from .forecast import forecast
from .promises import Promise, Promiser, hardly_shown
from .unknown_documents import UnknownDocument, find_unknown
from .weighted_estimates import SAMPLES, WeightedEstimate, weigh_log
from .witnesses import Witnesses, call_witnesses

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class DeploymentCard:
    """What a policy will earn when it is deployed, as far as its log tells, and whether to do it.

    Values are clicks per page.

    Attributes
    ----------
    verdict, reason, deployed, lift, relative_lift, traits, strange, calibration
        What is predicted, as in ``Forecast``.
    earned : Estimate
        The mean clicks of the log's pages; its interval has 95%.
    promises : tuple of Promise
        Of the witnesses, which the interval is made from, and then of the models given.
    silent : dict of str
        Models that promise nothing, with the reason.
    estimates : tuple of WeightedEstimate
        By weighting the log's pages (PI, DR, IPS), and whether to trust them.
    signs : WarningSigns
        What ``warn`` says, of the models given, or of the witnesses without any.
    unknown : tuple of UnknownDocument
        What the policy shows most of those documents that the log hardly showed.
    policy : str
        What the policy is called.
    """

    verdict: str
    reason: str
    deployed: Estimate
    lift: Estimate
    relative_lift: Estimate
    earned: Estimate
    promises: tuple[Promise, ...]
    silent: dict[str, str]
    estimates: tuple[WeightedEstimate, ...]
    signs: WarningSigns = field(repr=False)
    unknown: tuple[UnknownDocument, ...] = field(repr=False)
    traits: dict[str, float] = field(repr=False)
    strange: tuple[str, ...]
    calibration: Calibration = field(repr=False)
    policy: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the card as JSON values."""
        numbers = ("deployed", "lift", "relative_lift", "earned")
        values = {
            "policy": self.policy, "verdict": self.verdict, "reason": self.reason,
            "confidence": CONFIDENCE,
            **{name: _interval(getattr(self, name)) for name in numbers},
            "promises": [one.to_dict() for one in self.promises], "silent": self.silent,
            "estimates": [one.to_dict() for one in self.estimates],
            "signs": self.signs.to_dict(), "unknown": [one.to_dict() for one in self.unknown],
            "traits": self.traits, "strange": list(self.strange),
            "calibration": dict(self.calibration.made),
        }  # fmt: skip
        plain: dict[str, Any] = _plain(values)
        return plain

    def to_json(self) -> str:
        """Return the card as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def to_html(self) -> str:
        """Return the card as one HTML page with its picture; needs ``clickgym[plots]``."""
        return card_page(self)

    def plot(self, path: str | None = None) -> Figure:
        """Draw the predicted interval beside promises and estimates; needs ``clickgym[plots]``."""
        return plot_card(self, path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the card to a file, by its ending: ``.json``, ``.html`` or ``.txt``."""
        texts = {".json": self.to_json, ".html": self.to_html, ".txt": lambda: f"{self}\n"}
        ending = os.path.splitext(path)[1].lower()
        if ending not in texts:
            raise ValueError(f"{path}: a card is saved as {', '.join(texts)}")
        write_text(path, texts[ending]())

    def __str__(self) -> str:
        return card_text(self)


def deployment_card(
    policy: Policy,
    log: ClickLog,
    world: World,
    models: Models | None = None,
    logging: Policy | None = None,
    seed: int = 0,
    *,
    witnesses: Witnesses | None = None,
    calibrations: Calibrations | None = None,
    samples: int = SAMPLES,
    name: str = "",
) -> DeploymentCard:
    """Return the deployment card of a policy that was learned from a log. Nobody's truth is needed.

    The interval is made from the promises of three click models that are fitted to the log here
    (``call_witnesses``), whatever else the policy was found inside, by a calibration on simulated
    deployments that comes with the package.

    Parameters
    ----------
    policy : Policy
    log : ClickLog
        The one that the policy was learned from, by another policy.
    world : World
    models : ClickModel, sequence or mapping of ClickModel, optional
        Fitted to the log: whose promises and warnings are shown beside. They do not change the
        interval.
    logging : Policy, optional
        Who made the log: estimates by weights need it, and the witnesses learn from its scores.
    seed : int
        For whatever is drawn.
    witnesses : Witnesses, optional
        ``call_witnesses(log, world, logging)``, where there are cards of several policies.
    calibrations : Calibrations, optional
        Instead of those that come with the package.
    samples : int
        Pages for each query, for the moments of policies whose own are not known; 0 = no
        pseudoinverse estimates.
    name : str
        What to call the policy.

    Notes
    -----
    With models already fitted a card takes a second or two for 100 queries of 30 documents.
    """
    check_policy("policy", policy, log, world)
    checks.positive_integer(seed, "seed", 0)
    checks.positive_integer(samples, "samples", 0)
    if witnesses is None:
        witnesses = call_witnesses(log, world, logging, seed)
    witnesses.check(log, world, logging)
    given = {} if models is None else name_models(_as_one(models))
    for model in given.values():
        model.check_world(world)
    found = forecast(policy, witnesses, seed, calibrations)
    evidence = found.evidence
    promises, silent = _ask(given, evidence, witnesses)
    signs = warn(policy, log, world, given or witnesses.models, logging, seed)
    return DeploymentCard(
        found.verdict, found.reason, found.deployed, found.lift, found.relative_lift,
        witnesses.earned, (*evidence.promises, *promises), silent,
        weigh_log(policy, witnesses, signs, samples, seed), signs,
        find_unknown(evidence.pages, witnesses.pairs, world), found.traits, found.strange,
        found.calibration, name or getattr(policy, "label", None) or type(policy).__name__,
    )  # fmt: skip


def _as_one(models: Models) -> Models:
    """Return a single ensemble as one model: it promises one thing."""
    return [models] if isinstance(models, Ensemble) else models


def _ask(
    models: dict[str, ClickModel], evidence: Evidence, witnesses: Witnesses
) -> tuple[list[Promise], dict[str, str]]:
    """Return what the models promise, and why those do not that cannot."""
    rare = hardly_shown(evidence.pages, witnesses.pairs)
    promises, silent = [], {}
    for name, model in models.items():
        try:
            model.require("generative")
            promises.append(Promiser.of(name, model).promise(evidence.pages, rare))
        except (NotCapable, ValueError) as error:  # NotExact is a ValueError
            silent[name] = str(error)
    return promises, silent


def _interval(number: Estimate) -> dict[str, float]:
    return {"value": number.value, "low": number.low, "high": number.high}


def _plain(value: Any) -> Any:
    """Return JSON values, NaN and infinity as None, also inside of tables."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return to_json(value)
