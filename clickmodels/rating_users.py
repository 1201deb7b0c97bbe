"""True users of worlds with ratings: seven ways to read a list of recommendations.

They are Table 1 and section 3.3 of "User Behavior and Bias in Click-Based Recommender Evaluation",
made of PBM, UBM and SDBN. An item that is examined is clicked with a probability that depends on
its rating (``ATTRACTIVENESS``); one without a rating never is. The users differ in what they
examine, with p the position from 1:

- no-bias: all positions.
- examination: position p with ``decay`` (p).
- browsing: ``decay`` (distance from the latest click above, or from position 0 where there is
  none).
- cascade: all positions, until a click satisfies, which depends on the clicked item's rating
  (``LOW``, ``HIGH``). Who is satisfied never examines anything again.

Decay is 1 / log2(p + 1) or "quadratic". The paper prints the latter as 1 / (2 (p - 1)), which is
infinite at p = 1; here it is 1 / 2^(p - 1). Satisfaction by an item of one star, which is not
printed, is 0: such an item is never clicked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..common import checks
from ..common.typing import Floats
from ..data import World
from .base import ClickModel
from .pbm import PBM
from .reading.tables import GradeTable
from .sdbn import SDBN
from .ubm import UBM

ATTRACTIVENESS = (0.0, 0.1, 0.2, 0.8, 1.0)  # by rating, 1 to 5
LOW = (0.0, 0.2, 0.3, 0.4, 0.5)
HIGH = (0.0, 0.3, 0.5, 0.7, 0.9)
DECAYS: dict[str, Callable[[Floats], Floats]] = {
    "log": lambda positions: 1.0 / np.log2(positions + 1.0),
    "square": lambda positions: positions**-2.0,
}
Decay = str | float | Sequence[float]

_UNRATED = 1  # ratings follow; 0 is an empty slot
_GRADES: WeakKeyDictionary[World, NDArray[np.uint8]] = WeakKeyDictionary()


def _attract(world: World, attractiveness: ArrayLike = ATTRACTIVENESS) -> GradeTable:
    return _by_rating(world, attractiveness, "attractiveness")


def _by_rating(world: World, values: ArrayLike, name: str) -> GradeTable:
    """Return a table (Q, N) of one of five values, or 0 for what has no rating or is no candidate.

    All tables of a world share their grades: a byte per user and item.
    """
    rates = checks.probabilities(values, name, 1)
    checks.same_shape(rates, (5,), name, "ratings of 1 to 5")
    grades = _GRADES.get(world)
    if grades is None:
        rated = np.maximum(world.relevance, 0).astype(np.uint8)
        rated *= world.candidates
        rated += _UNRATED
        grades = _GRADES[world] = GradeTable.close_rows(rated)
    return GradeTable(grades, [0.0, 0.0, *rates])


def fade(decay: Decay, slots: int) -> Floats:
    """Return P(examined) at positions, or distances, 1 to ``slots``.

    ``decay`` is a name in ``DECAYS``, a number d for d^(p - 1), or one number for each position.
    """
    if isinstance(decay, str):
        return DECAYS[checks.choice(decay, tuple(DECAYS), "decay")](np.arange(1.0, slots + 1))
    if np.ndim(decay) == 0:
        base = float(checks.probabilities(decay, "decay", 0))
        return np.power(base, np.arange(slots, dtype=np.float64))
    values = checks.probabilities(decay, "decay", 1)
    if len(values) < slots:
        raise ValueError(f"decay has {len(values)} numbers for pages of {slots} slots")
    return values[:slots]


# Users are made from P(click) of examined items, the world, the slots, and parameters of their
# own: their signatures are the table of names and defaults.


def _examination(values: GradeTable, world: World, slots: int, decay: Decay = "log") -> ClickModel:
    return PBM(values, fade(decay, slots))


def _browsing(values: GradeTable, world: World, slots: int, decay: Decay = "log") -> ClickModel:
    # 0-based slot s and latest rank r' (0: none) are s + 1 - r' apart; never less than 1.
    distance = np.maximum(np.arange(1, slots + 1)[:, None] - np.arange(slots), 1)
    return UBM(values, fade(decay, slots)[distance - 1])


def _cascade(
    values: GradeTable, world: World, slots: int, satisfaction: ArrayLike = HIGH
) -> ClickModel:
    return SDBN(values, _by_rating(world, satisfaction, "satisfaction"))


def _no_bias(values: GradeTable, world: World, slots: int) -> ClickModel:
    return PBM(values, np.ones(slots))


# How each user is made, and P(click) of examined items, whose parameters are the user's, too.
RATING_USERS: dict[str, tuple[Callable[..., ClickModel], Callable[..., GradeTable]]] = {
    "no-bias": (_no_bias, _attract),
    "examination-log": (_examination, _attract),
    "examination-quad": (partial(_examination, decay=0.5), _attract),
    "browsing-log": (_browsing, _attract),
    "browsing-quad": (partial(_browsing, decay=0.5), _attract),
    "cascade-low": (partial(_cascade, satisfaction=LOW), _attract),
    "cascade-high": (_cascade, _attract),
}
