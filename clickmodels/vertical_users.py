"""True users of worlds with verticals: FCM and VCM with plausible constants.

Types of blocks are 0 news, 1 images, 2 video and 3 location. News is noticed at the top and hardly
anywhere else; images, video and location nearly everywhere on the first half of the page. Who
notices a location block often finds there what was looked for, and may overlook what stands above
it. Attention and examination by rank are those of a published simulator of federated search;
satisfaction, blindness and direction are guesses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..common import checks
from ..common.typing import Floats
from ..data import World
from .base import ClickModel
from .grade_users import scaled_gain
from .verticals.fcm import FCM
from .verticals.vcm import VCM

# Attention by position of the block; the last number goes on.
MEDIA = (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.3, 0.25, 0.2, 0.15, 0.1)
TEXT = (0.95, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05)
ATTENTION = (TEXT, MEDIA, MEDIA, MEDIA)
EXAMINATION = (0.68, 0.61, 0.48, 0.34, 0.28, 0.2, 0.11, 0.1, 0.08, 0.06)  # by rank
FADING = 0.75  # of examination from one rank to the next, after those
SATISFIED = (0.0, 0.0, 0.0, 0.4)  # by type: P(no web click | noticed)
BLIND = (0.0, 0.0, 0.0, 0.3)  # by type: P(nothing above the block is examined | goes on reading)
UPWARDS = (0.3, 0.3, 0.3, 0.3)  # by type: P(reading goes up from the block first)


@dataclass(frozen=True)
class _Blocks:
    """Tables of what depends on a block, (T, K+1) each."""

    attention: Floats
    satisfied: Floats
    blind: Floats


def _read_blocks(
    world: World,
    slots: int,
    attention: ArrayLike | None,
    satisfied: ArrayLike,
    blind: ArrayLike,
) -> _Blocks:
    if attention is None:
        table = np.stack([_go_on(row, slots + 1) for row in ATTENTION])
    else:
        table = checks.probabilities(attention, "attention", 2)
        if table.shape[1] < slots + 1:
            raise ValueError(
                f"attention has shape {table.shape}, but pages of {slots} slots need {slots + 1} "
                f"positions of the block, 0 to {slots}"
            )
        table = table[:, : slots + 1]
    assert world.vertical is not None
    highest = int(world.vertical.max())
    if highest >= len(table):
        raise ValueError(
            f"world.vertical has the type {highest}, but this user knows {len(table)} types: give "
            "attention a row for each"
        )
    return _Blocks(
        table,
        _by_block(satisfied, SATISFIED, table.shape, "satisfied"),
        _by_block(blind, BLIND, table.shape, "blind"),
    )


def _go_on(values: tuple[float, ...], size: int) -> Floats:
    """Return the first values; the last is repeated where there are too few."""
    return np.array(values)[np.minimum(np.arange(size), len(values) - 1)]


def _by_block(
    given: ArrayLike, usual: tuple[float, ...], shape: tuple[int, ...], name: str
) -> Floats:
    """Return a table (T, K+1): True is the usual one, False is 0, else by type or as given."""
    n_types, positions = shape
    if isinstance(given, bool | np.bool_):
        values = np.zeros(n_types)
        known = min(n_types, len(usual))
        values[:known] = usual[:known]
        given = values * bool(given)
    array = checks.probabilities(given, name, np.ndim(given))
    if array.ndim == 2:
        checks.same_shape(array, (n_types, array.shape[1]), name, "attention")
        if array.shape[1] < positions:
            raise ValueError(
                f"{name} has {array.shape[1]} positions of the block, but there are {positions}"
            )
        return array[:, :positions]
    if array.shape != (n_types,):
        raise ValueError(
            f"{name} must be True, False, a number for each of {n_types} types, or a table of "
            f"types and positions, not of shape {array.shape}"
        )
    return np.repeat(array[:, None], positions, axis=1)


def _browse(examination: ArrayLike, memory: float, slots: int) -> Floats:
    """Return UBM's γ, (K, K), from examination by rank.

    With m = ``memory`` it is e(rank)^(1-m) · e(distance from the latest click)^m, and e(rank)
    while nothing is clicked: with 0 it depends on the rank alone.
    """
    by_rank = checks.probabilities(examination, "examination", 1)
    if len(by_rank) == 0:
        raise ValueError("examination must have a number for the first rank")
    memory = float(checks.probabilities(memory, "memory", 0))
    further = by_rank[-1] * FADING ** np.arange(1, max(slots - len(by_rank), 0) + 1)
    values = np.concatenate([by_rank, further])[:slots]
    rank, latest = np.arange(slots)[:, None], np.arange(slots)
    near = np.maximum(rank - latest, 0)  # 0 is the rank after the latest click
    after_click = values[rank] ** (1 - memory) * values[near] ** memory
    return np.where(latest == 0, values[rank], after_click)


def _fcm(
    values: Floats, world: World, slots: int,
    examination: ArrayLike = EXAMINATION, memory: float = 0.5,
    attention: ArrayLike | None = None, spread: float = 1.0,
    satisfied: ArrayLike = True, blind: ArrayLike = True, latent: str = "page",
) -> ClickModel:  # fmt: skip
    if not np.ndim(spread) == 0 or not 0 < float(spread) < np.inf:
        raise ValueError(f"spread must be a number above 0, not {spread!r}")
    blocks = _read_blocks(world, slots, attention, satisfied, blind)
    far = np.abs(np.arange(-slots, slots))
    return FCM(
        values, _browse(examination, memory, slots), blocks.attention,
        np.minimum(1.0 / (far + float(spread)), 1.0), latent,
        satisfied_without_click=blocks.satisfied, blind=blocks.blind,
    )  # fmt: skip


def _vcm(
    values: Floats, world: World, slots: int,
    examination: ArrayLike = EXAMINATION, memory: float = 0.5,
    examination_vertical: ArrayLike = (0.9, 0.75, 0.6, 0.45, 0.35, 0.25, 0.2, 0.15, 0.1, 0.08),
    attention: ArrayLike | None = None, upwards: ArrayLike = True, down: str = "seed",
    satisfied: ArrayLike = True, blind: ArrayLike = True,
) -> ClickModel:  # fmt: skip
    blocks = _read_blocks(world, slots, attention, satisfied, blind)
    return VCM(
        values, _browse(examination, memory, slots), _browse(examination_vertical, memory, slots),
        blocks.attention, _by_block(upwards, UPWARDS, blocks.attention.shape, "upwards"), down,
        satisfied_without_click=blocks.satisfied, blind=blocks.blind,
    )  # fmt: skip


def _attract(
    world: World, floor: float = 0.0, attractiveness_scale: float = 0.95,
    attractiveness: ArrayLike | None = None,
) -> Floats:  # fmt: skip
    """Return attractiveness (Q, N): the scaled gain, or a number for each grade from 0 on."""
    if attractiveness is None:
        return scaled_gain(world, floor, attractiveness_scale)
    table = checks.probabilities(attractiveness, "attractiveness", 1)
    if len(table) != world.max_grade + 1:
        raise ValueError(
            f"attractiveness has {len(table)} numbers, but there are the grades 0 to "
            f"{world.max_grade}"
        )
    least = float(checks.probabilities(floor, "floor", 0))
    values = np.maximum(table[np.maximum(world.relevance, 0)], least)
    return np.where(world.candidates, values, 0.0)


# How each user is made, and its attractiveness, whose parameters are the user's, too.
VERTICAL_USERS: dict[str, tuple[Callable[..., ClickModel], Callable[..., Floats]]] = {
    "FCM": (_fcm, _attract),
    "VCM": (_vcm, _attract),
}
