"""What warns, before deployment, of the ranking that a report on one's own log suggests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from ... import evaluation
from ...common import checks
from .cells import OwnPolicyCell, deployed_policy
from .kept_logs import kept_logs
from .log_fits import LogFitCell, fitted_to_log
from .source import shown_world

VERSION = "1"


@dataclass(frozen=True)
class WarningCell:
    """The ranking that is suggested, and the models whose promises are asked about."""

    policy: OwnPolicyCell
    models: tuple[LogFitCell, ...]


class Warned(TypedDict):
    """Every sign: its name, 1 where it speaks (None: it is not known), and what it says or why."""

    signs: list[tuple[str, float | None, str]]


def warning_cell(cell: WarningCell) -> Warned:
    """Ask all warning signs, of the part of the log that the models were fitted to.

    Pages that show a document twice, which no policy does, are left out.
    """
    fit = cell.policy.fit
    train = kept_logs(fit.logs)[1][fit.train]
    signs = evaluation.warn(
        deployed_policy(cell.policy), train[~checks.find_repeats(train.ranking)],
        shown_world(fit.logs), {one.model: fitted_to_log(one) for one in cell.models},
        seed=fit.seed,
    )  # fmt: skip
    return {
        "signs": [
            (sign.name, None if sign.not_run else float(bool(sign.warning)),
             sign.warning or sign.not_run)
            for sign in signs
        ]
    }  # fmt: skip
