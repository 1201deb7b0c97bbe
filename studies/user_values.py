"""What rankings are worth to a user at best and at random: the scale of policies' values."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import evaluation, policies
from ..clickmodels import NotExact
from .grid import Result
from .setting import WorldSetting, user_of, world_of

VERSION = "1"


@dataclass(frozen=True)
class UserCell:
    """A true user of a world."""

    user: str
    world: WorldSetting = field(default_factory=WorldSetting)
    slots: int = 10


def user_cell(cell: UserCell) -> Result:
    """Return the best value of any ranking (``best_is`` says how sure) and a random one's.

    Both in clicks a page; the best is None for a user whose expected clicks cannot be computed.
    """
    world, user = world_of(cell.world), user_of(cell.user, cell.world)
    random = evaluation.value(policies.Uniform(world, cell.slots), user, world)
    result: Result = {"random_value": random.value, "best": None, "best_is": "unknown"}
    try:
        best = policies.max_reward(user, world, cell.slots)
    except NotExact:
        return result
    assert best.found is not None
    value = evaluation.value(best, user, world).value
    return {**result, "best": value, "best_is": "exact" if best.found.exact else "lower bound"}
