"""Which pages, users and sessions a cell is about, made once per process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ... import clickmodels
from ...common.typing import Integers
from ...data import World
from ...data.world import VERTICALS
from .drawn_pages import DrawnPages, draw_pages, draw_world

ALL = "all"  # queries of either intent together
ATTRACTIVENESS = (0.02, 0.06, 0.4, 0.6, 0.8)  # by grade
# What is drawn from a seed. The world and its pages are the same for all users and types.
_PARTS = ("world", "pages", "sessions", "split", "experiment", "bootstrap")
_SHARED = ("world", "pages")


@dataclass(frozen=True)
class PageSetting:
    """The pages and sessions of one true user and one type of block.

    ``queries`` of either intent have ``configurations`` pages each; ``sessions`` are those of both
    intents together. ``noise`` is how far the production ranker is off, in grades.
    """

    user: str
    vertical: str
    seed: int
    queries: int = 1000
    configurations: int = 5
    sessions: int = 200_000
    slots: int = 10
    noise: float = 4.0


@dataclass(frozen=True)
class Scene:
    """The world, its pages, and the true user."""

    world: World
    pages: DrawnPages
    user: clickmodels.ClickModel

    @property
    def block(self) -> dict[str, Integers]:
        """The block of each configuration, as click models take it."""
        assert self.world.vertical is not None
        return {
            "vertical": self.world.vertical[self.pages.query].astype(np.int64),
            "vertical_position": self.pages.position,
        }


@lru_cache(maxsize=2)
def scene_of(setting: PageSetting) -> Scene:
    """Return the scene of a setting."""
    vertical = VERTICALS.index(setting.vertical)
    world = draw_world(setting.queries, vertical, draw_seed(setting, "world"))
    pages = draw_pages(
        world, setting.configurations, setting.slots, setting.noise, draw_seed(setting, "pages")
    )
    user = clickmodels.true_user(
        setting.user, world, setting.slots, attractiveness=ATTRACTIVENESS
    )
    return Scene(world, pages, user)


def draw_seed(setting: PageSetting, part: str) -> int:
    """Return the seed of one part of what is drawn: another for each type and user."""
    users = clickmodels.user_names("verticals")
    own = (VERTICALS.index(setting.vertical), users.index(setting.user))
    entropy = (setting.seed, _PARTS.index(part), *(() if part in _SHARED else own))
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])
