"""From traits to an interval: a calibration that was learned from simulated deployments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

SHIPPED = Path(__file__).with_name("calibration.json")
CONFIDENCE = 0.9
_MARGIN = 0.1  # of a trait's range: further out it was not seen


@dataclass(frozen=True)
class Group:
    """Quantiles of the standardised errors of policies with this much hardly shown.

    Attributes
    ----------
    hardly : float
        The largest share, above that of the group before.
    low, high : float
        5% of errors were below ``low`` spreads, 5% above ``high``.
    policies : int
        How many there were.
    """

    hardly: float
    low: float
    high: float
    policies: int


@dataclass(frozen=True)
class Prediction:
    """The relative lift, deployed / logged clicks per page - 1: its middle and a 90% interval.

    Attributes
    ----------
    centre, spread, low, high : float
        ``low`` and ``high`` are ``centre`` + the group's quantiles × ``spread``, at least -1.
    strange : tuple of str
        Traits that are further out than any policy's of the calibration.
    """

    centre: float
    spread: float
    low: float
    high: float
    strange: tuple[str, ...] = ()


@dataclass(frozen=True)
class Calibration:
    """How the interval follows from a policy's traits.

    Attributes
    ----------
    centre : dict of float
        Coefficients by trait: the sum of their products is the predicted relative lift.
    spread : dict of float
        The same of the expected size of the error, with a "constant"; none is negative, so that
        less support or more disagreement never makes an interval narrower.
    groups : tuple of Group
        By the share hardly shown, ascending; the last takes all.
    ranges : dict of (float, float)
        What traits were in the calibration. Beyond, they are cut to it, and the prediction says so,
        unless it is one that only widens intervals and is smaller than ever.
    made : dict
        With which settings, from how many logs and policies, by which command.
    """

    centre: Mapping[str, float]
    spread: Mapping[str, float]
    groups: tuple[Group, ...]
    ranges: Mapping[str, tuple[float, float]]
    made: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, traits: Mapping[str, float]) -> Prediction:
        """Return the prediction for a policy with these traits."""
        known, strange = {}, []
        for name, (low, high) in self.ranges.items():
            value = traits[name]
            room = _MARGIN * (high - low)
            if value > high + room or (value < low - room and name in self.centre):
                strange.append(name)
            known[name] = min(max(value, low), high)
        centre = max(_combine(self.centre, known), -1.0)
        spread = _combine(self.spread, known)
        hardly = traits["hardly"]
        group = next((one for one in self.groups if hardly <= one.hardly), self.groups[-1])
        low = max(centre + group.low * spread, -1.0)
        high = max(centre + group.high * spread, low)
        return Prediction(centre, spread, low, high, tuple(strange))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Calibration:
        """Return it from what ``to_dict`` gave."""
        groups = tuple(Group(**one) for one in values["groups"])
        ranges = {name: (float(low), float(high)) for name, (low, high) in values["ranges"].items()}
        return cls(values["centre"], values["spread"], groups, ranges, values["made"])


@dataclass(frozen=True)
class Calibrations:
    """Two calibrations: for logs whose policy and scores are known, and for others."""

    scores: Calibration
    exposure: Calibration

    def choose(self, knows_scores: bool) -> Calibration:
        """Return the one for witnesses that know the logging policy's scores, or not."""
        return self.scores if knows_scores else self.exposure

    def to_json(self) -> str:
        """Return both as the text of a file."""
        return json.dumps(_rounded(asdict(self)), indent=1) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Calibrations:
        """Read what ``to_json`` gave; anything else is a ``ValueError`` that names the file."""
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls(*(Calibration.from_dict(values[name]) for name in ("scores", "exposure")))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{path}: is not a calibration of cards ({error!r})") from error


@lru_cache(maxsize=1)
def shipped_calibrations() -> Calibrations:
    """Return the calibrations that come with the package."""
    return Calibrations.load(SHIPPED)


def _combine(coefficients: Mapping[str, float], traits: Mapping[str, float]) -> float:
    return float(sum(
        factor * (1.0 if name == "constant" else traits[name])
        for name, factor in coefficients.items()
    ))  # fmt: skip


def _rounded(value: Any) -> Any:
    """Return values with floats of six digits, which is more than they are known to."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    if isinstance(value, float):
        return value if not np.isfinite(value) else float(f"{value:.6g}")
    return value
