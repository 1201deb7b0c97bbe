"""How FCM's parameters make the two ways to read a page, for its fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...common.typing import Floats
from ...data import ClickLog
from ..tablefit.counting import sums
from ..ubm import UBM
from .mixture import MixedPages, Slopes
from .mixture_fit import Ways


class FCMWays(Ways):
    """Without attention examination is γ, with it γ + (1 - γ) β[l] for every position."""

    watched = ("attention", "shift")

    def __init__(self, n_types: int, slots: int) -> None:
        groups = n_types * (slots + 1)
        self.sizes = {"examination": slots**2, "shift": 2 * slots, "attention": groups}
        self._slots, self._n_types = slots, n_types
        distance = np.arange(slots) - np.arange(slots + 1)[:, None] + slots
        # (K+1, K, K): the index of β by position, rank and latest click.
        self._distance = np.repeat(distance[:, :, None], slots, axis=2)

    def cells(
        self, log: ClickLog, base: NDArray[np.int32]
    ) -> tuple[tuple[NDArray[np.int32], ...], tuple[int, ...]]:
        """Return UBM's cells, and the same for each position of the block."""
        assert log.vertical_position is not None
        size = self._slots**2
        above = np.maximum(log.vertical_position, 0)[:, None]  # pages without a block have no share
        return (base, above * size + base), (size, (self._slots + 1) * size)

    def start(self, ubm: UBM) -> dict[str, Floats]:
        """Return UBM's γ, β that fades with the distance, and attention of one half."""
        far = np.abs(np.arange(-self._slots, self._slots))
        return {
            "examination": ubm.examination.reshape(-1),
            "shift": 0.5 / (far + 1.0),
            "attention": np.full(self.sizes["attention"], 0.5),
        }

    def _by_position(self, parts: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Return γ, (1, K, K), and β, (K+1, K, K)."""
        gamma = parts["examination"].reshape(1, self._slots, self._slots)
        return gamma, parts["shift"][self._distance]

    def forward(self, parts: dict[str, Floats]) -> tuple[list[Floats], Floats]:
        """Return γ and γ + (1 - γ) β, and the shares 1 - φ and φ."""
        gamma, beta = self._by_position(parts)
        attention = parts["attention"]
        tables = [parts["examination"], (gamma + (1.0 - gamma) * beta).reshape(-1)]
        return tables, np.stack([1.0 - attention, attention], axis=1)

    def backward(self, parts: dict[str, Floats], slopes: Slopes) -> dict[str, Floats]:
        """Return the derivatives by γ, β and φ."""
        gamma, beta = self._by_position(parts)
        near = slopes.cells[1].reshape(beta.shape) / (gamma + (1.0 - gamma) * beta)
        by_shift = (near * (1.0 - gamma)).reshape(-1)
        return {
            "examination": slopes.cells[0] / parts["examination"]
            + (near * (1.0 - beta)).sum(axis=0).reshape(-1),
            "shift": sums(self._distance.reshape(-1), by_shift, 2 * self._slots),
            "attention": slopes.shares[:, 1] - slopes.shares[:, 0],
        }

    def counts(self, pages: MixedPages) -> dict[str, Floats]:
        """Return shares of the clicks in cells, and of the pages of each block."""
        near = pages.clicks_by_cell(1)
        by_shift = sums(self._distance.reshape(-1), near, 2 * self._slots)
        return {
            "examination": 0.3 * pages.clicks_by_cell(0),
            "shift": 0.1 * by_shift,
            "attention": 0.05 * pages.pages_by_group(self.sizes["attention"]),
        }

    def seen_distances(self, log: ClickLog) -> NDArray[np.bool_]:
        """Return which distances from a block the log shows, (2K,)."""
        assert log.vertical is not None
        assert log.vertical_position is not None
        rows, ranks = np.nonzero((log.ranking >= 0) & (log.vertical >= 0)[:, None])
        seen = np.zeros(2 * self._slots, dtype=bool)
        seen[ranks - log.vertical_position[rows] + self._slots] = True
        return seen


def mirror_unseen(shift: Floats, seen: NDArray[np.bool_]) -> Floats:
    """Return β (2K,), at distances that were not seen that of the opposite side, or 0."""
    slots = len(shift) // 2
    opposite = 2 * slots - np.arange(2 * slots)  # of l = -K there is none
    known = np.append(np.where(seen, shift, 0.0), 0.0)
    result: Floats = np.where(seen, shift, known[opposite])
    return result
