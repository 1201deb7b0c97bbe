"""The rows of simulated deployments: one for each policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...evaluation.deployment.calibration import Calibrations
from ...evaluation.deployment.traits import find_traits
from ...evaluation.deployment.verdict import decide
from ...evaluation.deployment.witnesses import SCORE
from ...evaluation.statistics import Z90, Z95
from ..engine.grid import Result
from ..engine.rows import Row
from .calibrating import calibrate
from .card_cells import CardCell

_ABOUT = "about "  # begins the columns with evidence
_Z90_OF_95 = Z90 / Z95  # a normal 90% interval, as a share of the 95% one
RIVALS = ("wpi", "dr-pi")


def make_rows(results: Sequence[tuple[CardCell, Result]]) -> list[Row]:
    """Return a row for each policy."""
    rows = []
    for cell, result in results:
        user = " ".join([cell.user, *(f"{name}={_say(value)}" for name, value in cell.parameters)])
        for policy in result["policies"]:
            row = {
                "log": cell.seed, "user": user, "logging": cell.logging,
                "temperature": cell.temperature, "impressions": cell.impressions,
                "lists": "full" if not cell.world.n_docs else "short",
                "family": policy["family"], "policy": policy["policy"],
                "deployed": policy["deployed"],
                **{name: result[name] for name in ("earned", "logging_value", "best", "random")},
                **{f"{_ABOUT}{name}": value for name, value in policy["numbers"].items()},
            }  # fmt: skip
            rows.append(row | _rivals(policy.get("rivals"), cell.slots))
    return rows


def _say(value: Any) -> str:
    return "/".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _rivals(found: dict[str, Any] | None, slots: int) -> dict[str, float | None]:
    """Return the rivals' values and 90% intervals, cut to 0 .. slots; None where there are none.

    Where nothing is known of an interval, it is the whole of that.
    """
    row: dict[str, float | None] = {"promise": None if found is None else found["promise"]}
    for name in RIVALS:
        one = None if found is None else found[name]
        if one is None:
            row |= {name: None, f"{name} low": None, f"{name} high": None}
            continue
        value = one["value"]
        low, high = 0.0, float(slots)
        if one["low"] is not None and one["high"] is not None:
            low = value - _Z90_OF_95 * (value - one["low"])
            high = value + _Z90_OF_95 * (one["high"] - value)
        row |= {
            name: float(np.clip(value, 0.0, slots)),
            f"{name} low": float(np.clip(low, 0.0, slots)),
            f"{name} high": float(np.clip(high, 0.0, slots)),
        }
    return row


def traits_of(row: Row, scores: bool = True) -> dict[str, float]:
    """Return a row's traits; without ``scores`` as if nobody knew who made the log."""
    numbers = {
        name.removeprefix(_ABOUT): value
        for name, value in row.items()
        if name.startswith(_ABOUT) and (scores or not name.endswith(f" {SCORE}"))
    }
    return find_traits(numbers)


def lifts_of(rows: Sequence[Row]) -> Any:
    """Return deployed / what the log earned - 1, (n,): the lift that the interval is about."""
    return np.array([row["deployed"] / row["earned"] - 1.0 for row in rows])


def calibrate_rows(rows: Sequence[Row], made: dict[str, Any]) -> Calibrations:
    """Return the calibrations that rows give, with and without the logging policy's scores."""
    log = np.array([row["log"] for row in rows])
    return Calibrations(*(
        calibrate([traits_of(row, scores) for row in rows], lifts_of(rows), log, made)
        for scores in (True, False)
    ))  # fmt: skip


def predict_rows(rows: Sequence[Row], calibrations: Calibrations, scores: bool) -> list[Row]:
    """Return the rows with ``predicted``, its 90% interval ``low`` to ``high``, and ``verdict``."""
    calibration, result = calibrations.choose(scores), []
    for row in rows:
        found = calibration.predict(traits_of(row, scores))
        verdict, _ = decide(found.low, found.centre, found.high, found.strange)
        ends = {"predicted": found.centre, "low": found.low, "high": found.high}
        values = {name: row["earned"] * (1.0 + lift) for name, lift in ends.items()}
        result.append(row | values | {"verdict": verdict, "strange": ", ".join(found.strange)})
    return result
