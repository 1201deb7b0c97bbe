"""What the study of cures claims, tested over its seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...evaluation.deployment.verdict import DEPLOY
from ..claims import LEVEL, Claim, Finding, every_above
from ..engine.rows import Row, distinct, where
from .cures import CAREFUL, PLAIN

RULES = (
    "A seed draws world, log and fit. Values are means over a seed's settings (user, log, model), "
    f"compared within the seed and tested over seeds by paired {1 - LEVEL:.0%} Student-t intervals."
)
_QUARTER = 0.25
_WRONG, _GAIN = 0.05, 0.05  # of verdicts to deploy, and of what the log earned
_HERE = "this study"


def cure_claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims with their verdicts."""
    priors = [cure for cure in distinct(rows, "cure") if cure in ("exposure", "score")]
    careful = [cure for cure in CAREFUL if where(rows, cure=cure)]
    everywhere = {user: where(rows, user=user) for user in distinct(rows, "user")}
    return [
        Claim("Without a cure, models promise more than users deliver", _HERE, (
            every_above("gap above 0", {
                user: _by_seed(part, PLAIN, "gap") for user, part in everywhere.items()
            }),
        )),
        Claim("Priors that know why a document was not shown choose better policies", _HERE, tuple(
            every_above(f"deployed: {cure} - none", {
                user: _by_seed(part, cure, "deployed") - _by_seed(part, PLAIN, "deployed")
                for user, part in everywhere.items()
            }) for cure in priors
        )),
        Claim("Careful policies earn more than the policy that made the log", _HERE, tuple(
            every_above(f"lift of {cure}", {
                user: _by_seed(part, cure, "lift") for user, part in everywhere.items()
            }) for cure in careful
        )),
        Claim("Their promises are kept: a quarter of the gap is left at most", _HERE, tuple(
            _quarter(cure, rows) for cure in careful
        )),
        Claim("Deployment cards tell which policies to deploy", _HERE, _judge_cards(rows)),
    ]  # fmt: skip


def _by_seed(rows: Sequence[Row], cure: str, key: str) -> np.ndarray:
    """Return the mean over a seed's settings, for each seed in order."""
    part = where(rows, cure=cure)
    seeds = sorted(distinct(part, "seed"))
    return np.array([np.mean([row[key] for row in where(part, seed=seed)]) for seed in seeds])


def _quarter(cure: str, rows: Sequence[Row]) -> Finding:
    sizes = [{**row, "size": abs(row["gap"])} for row in rows]
    left = _by_seed(sizes, cure, "size") / _by_seed(sizes, PLAIN, "size")
    test = f"{_QUARTER:g} - mean |gap| of {cure} / mean |gap| of none"
    return every_above(test, {"": _QUARTER - left})


def _judge_cards(rows: Sequence[Row]) -> tuple[Finding, ...]:
    """Test what cards say of the policies of all cures, by seed."""
    wrong, missed = [], []
    for seed in sorted(distinct(rows, "seed")):
        part = where(rows, seed=seed)
        told = [row["lift"] < 0 for row in where(part, verdict=DEPLOY)]
        gains = [
            row["verdict"] != DEPLOY for row in part if row["lift"] > _GAIN * row["logging_value"]
        ]
        wrong += [np.mean(told)] if told else []
        missed += [np.mean(gains)] if gains else []
    return (
        every_above(
            f"{_WRONG:g} - share of policies told to deploy that end below the log",
            {"": _WRONG - np.array(wrong)} if wrong else {},
        ),
        every_above(
            f"0.5 - share of policies with a lift above {_GAIN:.0%} of the log's value that are "
            "not told to deploy",
            {"": 0.5 - np.array(missed)} if missed else {},
        ),
    )  # fmt: skip
