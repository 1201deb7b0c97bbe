"""Which deployments are simulated: one set to calibrate the card, another to test it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..worlds import WorldSetting
from .card_cells import CardCell

User = tuple[str, tuple[tuple[str, Any], ...]]


@dataclass(frozen=True)
class Design:
    """What logs are drawn from; every combination has its chance.

    ``users`` take turns. ``first_seed`` keeps the worlds and logs of designs apart.
    """

    users: tuple[User, ...]
    loggings: tuple[str, ...]
    temperatures: tuple[float, ...]
    impressions: tuple[int, ...]
    first_seed: int


# Users of all kinds, some of them less attracted, less satisfied or less patient than usual.
CALIBRATION = Design(
    users=(
        ("DBN", ()), ("CoCM", ()), ("CoCM-mismatch", ()), ("PBM", ()), ("UBM", ()), ("SDBN", ()),
        ("DCM", ()), ("DBN", (("satisfaction_scale", 0.5),)),
        ("CoCM", (("modes", (0.4, 0.4, 0.2)),)),
        ("PBM", (("attractiveness_scale", 0.5), ("decay", 0.75))),
        ("UBM", (("attractiveness_scale", 0.7), ("decay", 0.8))),
        ("CoCM-mismatch", (("satisfaction", 0.5),)), ("DBN", (("attractiveness_scale", 0.6),)),
    ),
    loggings=(
        "epsilon-oracle", "epsilon-oracle", "epsilon-oracle", "BM25", "BM25", "BM25", "LambdaMART",
        "random",
    ),
    temperatures=(0.03, 0.06, 0.1, 0.2),
    impressions=(2_000, 5_000, 12_000, 40_000),
    first_seed=0,
)  # fmt: skip
# Two users, their parameters, a logging policy and temperatures that took no part in it.
TEST = Design(
    users=(
        ("CCM", ()), ("DBN", ()), ("CoCM", ()), ("CoCM-mismatch", ()), ("CM", ()),
        ("CoCM", (("modes", (0.5, 0.45, 0.05)),)), ("DBN", (("continuation", 0.7),)),
        ("PBM", (("attractiveness_scale", 0.8), ("decay", 0.85))),
        ("UBM", (("attractiveness_scale", 0.5),)),
    ),
    loggings=("epsilon-oracle", "LambdaMART", "BM25", "lasso-body"),
    temperatures=(0.04, 0.08, 0.15),
    impressions=(3_000, 8_000, 20_000),
    first_seed=1_000_000,
)  # fmt: skip
# What is deployed: mostly what somebody optimised.
_OFTEN = {
    "Max-Reward": 4.0, "shown only": 1.0, "Top-Down": 1.0, "sampled": 1.0, "mixed": 1.0,
    "ranker": 1.5, "perturbed": 0.7, "reheated": 0.7, "blended": 1.0,
}  # fmt: skip
_JUDGED = 2  # rivals judge policies of every second log: it takes longer than all the rest
_FULL = 6  # one world in six has full lists of candidates, and half as many queries


def draw_cells(
    design: Design,
    logs: int,
    policies: int,
    world: WorldSetting,
    slots: int,
    rivals: bool = False,
) -> list[CardCell]:
    """Return so many logs, each followed by so many policies.

    Of an embedded ``world`` each log has a world of its own, of a file a bootstrap of its queries.
    Rivals judge every second log, but none with full lists, where it would take minutes.
    """
    families, weights = list(_OFTEN), np.array(list(_OFTEN.values()))
    cells = []
    for number in range(logs):
        seed = design.first_seed + number
        rng = np.random.default_rng(seed)
        user, parameters = design.users[number % len(design.users)]
        drawn = rng.choice(families, policies, p=weights / weights.sum())
        full = rng.integers(_FULL) == 0 and not world.path
        lists = replace(world, n_docs=0, n_queries=world.n_queries // 2) if full else world
        judged = rivals and not full and number % _JUDGED == 0
        cells.append(CardCell(
            user, parameters, _pick(rng, design.loggings), _pick(rng, design.temperatures),
            lists.drawn(seed + 1), _pick(rng, design.impressions), seed,
            tuple(str(family) for family in drawn), judged, slots,
        ))  # fmt: skip
    return cells


def _pick(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    return values[int(rng.integers(len(values)))]
