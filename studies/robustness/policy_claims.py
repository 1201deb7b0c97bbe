"""The paper's claims on policies that are optimised inside click models, tested on rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...evaluation.statistics import rank_correlation
from ..claims import Claim, Finding, correlated_above, every_above, some_below
from ..engine.rows import Row
from .conditions import Condition, complete, in_distribution
from .prediction_claims import COMPLEXITY, MISMATCHED

NOTHING = 1.0  # a gain, in per cent of Top-Down's clicks, that is none


def max_reward_gains(rows: Sequence[Row]) -> Claim:
    """Test the gain of Max-Reward over Top-Down in every log of the mismatched user."""
    return Claim(
        "Max-Reward beats Top-Down for PBM and UBM on mismatch", "section 6.3",
        tuple(
            every_above(
                f"{model}'s gain by Max-Reward, % of Top-Down's clicks, > 0 in every log of "
                "CoCM-mismatch",
                _gains(rows, model, MISMATCHED[1:]),
            )
            for model in ("PBM", "UBM")
        ),
    )  # fmt: skip


def max_reward_in_vain(rows: Sequence[Row]) -> Claim:
    """Look for a log in which Max-Reward gains less than ``NOTHING`` over Top-Down."""
    return Claim(
        "NCM and CACM⊖ gain nothing or lose with Max-Reward in some configurations",
        "section 6.3",
        tuple(
            some_below(
                f"{model}'s gain by Max-Reward, % of Top-Down's clicks, < {NOTHING:g} in some log "
                "of a CoCM user",
                _gains(rows, model, MISMATCHED), NOTHING,
            )
            for model in ("NCM", "CACM-minus")
        ),
    )  # fmt: skip


def simple_gains(rows: Sequence[Row]) -> Finding:
    """Correlate complexity with the gain of Max-Reward over Top-Down on the CoCM users."""
    correlations: dict[str, list[float]] = {}
    for one in _logs(rows, MISMATCHED):
        gains = _gain(rows, one, COMPLEXITY)
        if gains.size:
            found = rank_correlation(range(len(COMPLEXITY)), -gains.mean(axis=0))
            correlations[_name(one)] = [found]
    test = "rank correlation of complexity with losing by Max-Reward > 0, CoCM users"
    return correlated_above(test, correlations)


def _gains(
    rows: Sequence[Row], model: str, users: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """Return a model's gains by log, (seeds,) each; empty when a log of the rows lacks them."""
    gains = {_name(one): _gain(rows, one, [model])[:, 0] for one in _logs(rows, users)}
    return gains if all(values.size for values in gains.values()) else {}


def _gain(
    rows: Sequence[Row], condition: Condition, models: Sequence[str]
) -> NDArray[np.float64]:
    """Return Max-Reward's gain over Top-Down, deployed, in per cent, (seeds, models)."""
    fields = ("top_down_deployed", "max_reward_deployed")
    whole = [row for row in rows if None not in [row.get(field) for field in fields]]
    top_down, max_reward = (complete(whole, [condition], models, field)[1] for field in fields)
    gain: NDArray[np.float64] = 100.0 * (max_reward / top_down - 1.0)[:, 0, :]
    return gain


def _logs(rows: Sequence[Row], users: Sequence[str]) -> list[Condition]:
    return [one for one in in_distribution(rows) if one.user in users]


def _name(condition: Condition) -> str:
    return f"{condition.user}, {condition.logging}:"
