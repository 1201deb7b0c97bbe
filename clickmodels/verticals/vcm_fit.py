"""How VCM's parameters make the three ways to read a page, for its fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...common.typing import Floats
from ...data import ClickLog
from ..ubm import UBM
from .mixture import MixedPages, Slopes, trail_cells
from .mixture_fit import Ways
from .trails import downwards_order, upwards_order


class VCMWays(Ways):
    """From the top by γ0, and from the block upwards or downwards, both by γ1."""

    watched = ("attention", "upwards")

    def __init__(self, n_types: int, slots: int, down: str) -> None:
        groups = n_types * (slots + 1)
        self.sizes = {
            "examination": slots**2, "examination_vertical": slots**2, "attention": groups,
            "upwards": groups,
        }  # fmt: skip
        self._slots, self._down = slots, down

    def cells(
        self, log: ClickLog, base: NDArray[np.int32]
    ) -> tuple[tuple[NDArray[np.int32], ...], tuple[int, ...]]:
        """Return the cells of the three trails."""
        assert log.vertical_position is not None
        length = (log.ranking >= 0).sum(axis=1)
        # Pages without a block have no share of these ways, whatever their cells.
        above = np.clip(log.vertical_position.astype(np.int64), 0, length)
        up = trail_cells(log.clicks, upwards_order(above, self._slots).T)
        down = base
        if self._down == "seed":
            down = trail_cells(log.clicks, downwards_order(above, length, self._slots).T)
        return (base, up, down), (self._slots**2,) * 3

    def start(self, ubm: UBM) -> dict[str, Floats]:
        """Return UBM's γ for both tables, and one half for attention and direction."""
        gamma, half = ubm.examination.reshape(-1), np.full(self.sizes["attention"], 0.5)
        return {
            "examination": gamma, "examination_vertical": gamma, "attention": half, "upwards": half,
        }  # fmt: skip

    def forward(self, parts: dict[str, Floats]) -> tuple[list[Floats], Floats]:
        """Return γ0, γ1 and γ1, and the shares 1 - φ, φ σ and φ (1 - σ)."""
        attention, up = parts["attention"], parts["upwards"]
        vertical = parts["examination_vertical"]
        shares = np.stack([1.0 - attention, attention * up, attention * (1.0 - up)], axis=1)
        return [parts["examination"], vertical, vertical], shares

    def backward(self, parts: dict[str, Floats], slopes: Slopes) -> dict[str, Floats]:
        """Return the derivatives by γ0, γ1, φ and σ."""
        plain, up, down = slopes.shares.T
        share = parts["upwards"]
        return {
            "examination": slopes.cells[0] / parts["examination"],
            "examination_vertical": (slopes.cells[1] + slopes.cells[2])
            / parts["examination_vertical"],
            "attention": share * up + (1.0 - share) * down - plain,
            "upwards": parts["attention"] * (up - down),
        }

    def counts(self, pages: MixedPages) -> dict[str, Floats]:
        """Return shares of the clicks in cells, and of the pages of each block."""
        blocks = pages.pages_by_group(self.sizes["attention"])
        return {
            "examination": 0.3 * pages.clicks_by_cell(0),
            "examination_vertical": 0.15 * pages.clicks_by_cell(1),
            "attention": 0.05 * blocks,
            "upwards": 0.03 * blocks,
        }

    def trials(
        self, parts: dict[str, Floats], slopes: Slopes
    ) -> dict[str, tuple[Floats, Floats]]:
        """Return how often readers went up and down; at v = 0 the two are the same."""
        _, up, down = slopes.shares.T
        noticed = parts["attention"] * (np.arange(len(up)) % (self._slots + 1) > 0)
        share = parts["upwards"]
        return {"upwards": (noticed * share * up, noticed * (1.0 - share) * down)}
