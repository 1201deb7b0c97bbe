"""Sessions of users on result pages: what they clicked, and why some clicked nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...clickmodels import ClickModel
from ...common.typing import Booleans, Floats, Integers
from ...data import ClickLog, World
from .drawn_pages import DrawnPages

PER_USER = 4  # sessions of a user, on average
USER, CONFIGURATION = "user", "configuration"  # columns of the log


@dataclass(frozen=True)
class UserSessions:
    """Sessions, one per row; a session is one page.

    Attributes
    ----------
    log : ClickLog
        With the columns ``user`` and ``configuration`` in ``extra``.
    good : (n,) bool
        Abandoned (without a web click) because the block satisfied the user.
    """

    log: ClickLog
    good: Booleans

    def __len__(self) -> int:
        return len(self.log)

    def __getitem__(self, rows: Booleans) -> UserSessions:
        """Return some of the sessions."""
        return UserSessions(self.log[rows], self.good[rows])

    @property
    def user(self) -> Integers:
        """Who asked, (n,)."""
        return self.log.extra[USER]

    @property
    def abandoned(self) -> Booleans:
        """Which sessions have no web click, (n,)."""
        clicked: Booleans = np.any(self.log.clicks, axis=1)
        return ~clicked

    @property
    def suppressed(self) -> Booleans:
        """Which sessions were shown no block, (n,)."""
        assert self.log.vertical is not None
        return self.log.vertical < 0


def draw_sessions(
    world: World,
    pages: DrawnPages,
    user: ClickModel,
    sessions: int,
    seed: int,
    suppressed: float = 0.0,
) -> UserSessions:
    """Return sessions of many users, who all behave like ``user``.

    Parameters
    ----------
    suppressed : float
        The share of users to whom no block is ever shown.
    """
    rng = np.random.default_rng(seed)
    configuration = rng.choice(len(pages), sessions, p=pages.share)
    person = rng.integers(max(sessions // PER_USER, 2), size=sessions)
    kept = rng.random(person.max() + 1) >= suppressed
    shown = kept[person]
    assert world.vertical is not None
    query, ranking = pages.query[configuration], pages.ranking[configuration]
    block = {
        "vertical": np.where(shown, world.vertical[query], -1),
        "vertical_position": np.where(shown, pages.position[configuration], -1),
    }
    clicks, good = user.read_columns(query, np.ascontiguousarray(ranking.T), rng, **block)
    log = ClickLog(
        query.astype(np.int32), ranking, np.ascontiguousarray(clicks.T), **block,
        extra={USER: person, CONFIGURATION: configuration}, fingerprint=world.fingerprint,
    )  # fmt: skip
    return UserSessions(log, good)


def any_click(model: ClickModel, pages: DrawnPages, block: dict[str, Integers]) -> Floats:
    """Return P(any web click) of each configuration, (C,); ``block`` is {} where it is unknown."""
    nothing = np.zeros(pages.ranking.shape, dtype=bool)
    return -np.expm1(model.log_likelihood(pages.query, pages.ranking, nothing, **block))


def split_users(sessions: UserSessions, seed: int) -> tuple[UserSessions, UserSessions]:
    """Return the sessions of one half of the users, for training, and of the others, for tests."""
    rng = np.random.default_rng(seed)
    test = rng.random(int(sessions.user.max()) + 1) < 0.5
    chosen = test[sessions.user]
    return sessions[~chosen], sessions[chosen]
