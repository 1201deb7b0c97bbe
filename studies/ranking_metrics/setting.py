"""Which traffic and which scoring functions a cell is about, made once per process."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from ...common.typing import Floats
from ...data import ClickLog, World
from ..worlds import WorldSetting, world_of
from .one_click import OneClick
from .scoring_functions import ScoringFunctions, draw_functions
from .traffic import (
    BANNERS,
    Production,
    Traffic,
    make_production,
    make_traffic,
    production_policy,
    true_user,
)

TEMPERATURE = 0.5  # of production, where no other is asked for


@dataclass(frozen=True)
class TrafficSetting:
    """The traffic of one banner and seed.

    ``impressions`` is the length of the whole log, of which the share ``shuffled`` is shuffled;
    ``reference`` that of the long shuffled log; ``functions`` the number of scoring functions.
    """

    banner: str
    seed: int
    world: WorldSetting = field(default_factory=WorldSetting)
    impressions: int = 200_000
    shuffled: float = 0.05
    reference: int = 1_000_000
    functions: int = 40
    temperature: float = TEMPERATURE

    @property
    def slots(self) -> int:
        """Products on a banner."""
        return BANNERS[self.banner].slots


@dataclass(frozen=True)
class Scene:
    """Everything that a cell needs: the world, its user, the traffic and the functions."""

    world: World
    user: OneClick
    production: Production
    traffic: Traffic
    functions: ScoringFunctions
    setting: TrafficSetting

    def ordered(self, impressions: int) -> ClickLog:
        """Return the first pages that production ordered, of a log of ``impressions``."""
        return self.traffic.log[: impressions - self._shuffled(impressions)]

    def shuffled(self, impressions: int) -> ClickLog:
        """Return the first shuffled pages, of a log of ``impressions``."""
        return self.traffic.shuffled[: self._shuffled(impressions)]

    def _shuffled(self, impressions: int) -> int:
        return count_shuffled(impressions, self.setting.shuffled)

    @property
    def scores(self) -> list[Floats]:
        """The scores (Q, N) of each function."""
        return list(self.functions.scores)


def count_shuffled(impressions: int, share: float) -> int:
    """Return how many of some impressions are shuffled: at least one."""
    return max(round(impressions * share), 1)


@lru_cache(maxsize=2)
def scene_of(setting: TrafficSetting) -> Scene:
    """Return what a setting is about; the same setting gives the same.

    Queries are asked equally often, so that no single one decides.
    """
    world = world_of(setting.world)
    asked = world.candidates.any(axis=1)
    world = world.with_candidates(world.candidates, asked / asked.sum())
    user = true_user(world, setting.banner)
    production = make_production(world, setting.seed)
    policy = production_policy(world, production, setting.banner, setting.temperature)
    few = count_shuffled(setting.impressions, setting.shuffled)
    traffic = make_traffic(
        world, user, policy, setting.impressions - few, few, setting.reference, setting.seed
    )
    functions = draw_functions(world, production, setting.functions, setting.seed)
    return Scene(world, user, production, traffic, functions, setting)
