"""The A/B experiment: a block that some users never see, and who leaves without a click."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...common.typing import Booleans, Integers
from ...evaluation.statistics import Z95
from ..engine.grid import Result
from .drawn_pages import INTENTS, intents
from .federated_setting import ALL, PageSetting, draw_seed, scene_of
from .user_sessions import UserSessions, draw_sessions

VERSION = "1"
SHOWN, SUPPRESSED, DIFFERENCE = "block shown", "block suppressed", "difference"
ARMS = (SHOWN, SUPPRESSED, DIFFERENCE)
ABANDONED, GOOD, BAD, OTHERS = "abandoned", "good", "bad", "bad, of the unsatisfied"
KINDS = (ABANDONED, GOOD, BAD, OTHERS)


@dataclass(frozen=True)
class AbandonmentCell:
    """The experiment of one setting; ``suppressed`` is the share of users who see no block."""

    pages: PageSetting
    suppressed: float


# Intent, arm, kind of abandonment, rate (or difference of rates), bounds.
Rate = tuple[str, str, str, float, float, float]
RESULT: dict[str, Any] = {"rates": list[Rate], "sessions": dict[str, int]}


def abandonment_cell(cell: AbandonmentCell) -> Result:
    """Return how many sessions end without a click in both arms, split into good and bad.

    Good abandonment is that of users whom the block satisfied. Only a simulation knows them. It
    takes users away from bad abandonment, too; so the rate of bad abandonment among those whom
    the block did not satisfy is there as well.
    """
    scene = scene_of(cell.pages)
    sessions = draw_sessions(
        scene.world, scene.pages, scene.user, cell.pages.sessions,
        draw_seed(cell.pages, "experiment"), cell.suppressed,
    )  # fmt: skip
    of_query = intents(scene.world)[sessions.log.query]
    parts = {name: of_query == place for place, name in enumerate(INTENTS)}
    parts[ALL] = np.ones(len(sessions), dtype=bool)
    return {
        "rates": [
            (intent, *rate)
            for intent, rows in parts.items()
            for rate in _rates(sessions[rows])
        ],
        "sessions": {
            SHOWN: int((~sessions.suppressed).sum()), SUPPRESSED: int(sessions.suppressed.sum()),
        },
    }  # fmt: skip


def _rates(sessions: UserSessions) -> list[tuple[str, str, float, float, float]]:
    found = []
    bad = sessions.abandoned & ~sessions.good
    every = np.ones(len(sessions), dtype=bool)
    kinds = {  # what happens, and in which sessions it may
        ABANDONED: (sessions.abandoned, every), GOOD: (sessions.good, every), BAD: (bad, every),
        OTHERS: (bad, ~sessions.good),
    }  # fmt: skip
    for kind, (happened, asked) in kinds.items():
        arms = [
            share_of_sessions(happened[asked & rows], sessions.user[asked & rows])
            for rows in (~sessions.suppressed, sessions.suppressed)
        ]
        (shown, first), (suppressed, second) = arms
        arms.append((shown - suppressed, float(np.hypot(first, second))))
        found += [
            (arm, kind, value, value - Z95 * error, value + Z95 * error)
            for arm, (value, error) in zip(ARMS, arms, strict=True)
        ]
    return found


def share_of_sessions(happened: Booleans, user: Integers) -> tuple[float, float]:
    """Return the share of sessions (n,) in which something happened, and its standard error.

    Users are independent, their sessions may not be: the error is that of a ratio of sums over
    users.
    """
    sessions = np.bincount(user).astype(np.float64)
    events = np.bincount(user, happened.astype(np.float64), len(sessions))
    users = int((sessions > 0).sum())
    if users < 2:
        raise ValueError(f"an arm of the experiment has {users} users, too few for an interval")
    share = events.sum() / sessions.sum()
    variance = np.sum((events - share * sessions) ** 2) * users / (users - 1)
    return float(share), float(np.sqrt(variance) / sessions.sum())
