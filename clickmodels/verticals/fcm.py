"""The federated click model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ...common import checks
from ...common.random import Uniforms
from ...common.typing import Booleans, Floats, Integers
from ...data import ClickLog, World
from ..reading.attractiveness import read_probabilities
from ..registry import register
from .drawing import Readers, draw_from_top
from .fcm_fit import FCMWays, mirror_unseen
from .mixture_fit import count_types, fill_attention, fit_ubm, fit_ways, has_blocks
from .trails import Trail
from .vertical_model import Blocks, VerticalModel


@register("FCM")
class FCM(VerticalModel):
    """Federated click model on UBM (Chen et al. 2012; Markov et al. 2014).

    Assumptions: a user who notices the block (F = 1) examines results near it more:
    ``γ + (1 - γ) β[l]`` at signed distance ``l = r - v`` of the 0-based rank r from the block's
    position v. Without a block it is UBM.

    Parameters
    ----------
    attractiveness : (Q, N)
    examination : (K, K)
        γ, as in UBM.
    attention : (T, K+1)
        φ[t, v] = P(F = 1).
    shift : (2K,)
        β[l] for l from -K to K-1.
    latent : {"page", "slot"}
        "page" draws F once a page, so that clicks near the block come together. "slot" draws it
        for each result, which puts ``γ + (1 - γ) β φ`` into UBM: the reading of the metric uFCM.
    satisfied_without_click, blind : (T, K+1), optional
        See ``VerticalModel``; only with ``latent="page"``.
    """

    deterministic = frozenset({"table"})

    def __init__(
        self,
        attractiveness: ArrayLike,
        examination: ArrayLike,
        attention: ArrayLike,
        shift: ArrayLike,
        latent: str = "page",
        *,
        satisfied_without_click: ArrayLike | None = None,
        blind: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            attractiveness, examination, attention, satisfied_without_click, blind
        )
        self.shift = read_probabilities(shift, "shift", 1)
        if len(self.shift) != 2 * self.max_slots:
            raise ValueError(
                f"shift has {len(self.shift)} entries, but distances from -{self.max_slots} to "
                f"{self.max_slots - 1} need {2 * self.max_slots}"
            )
        self.latent = checks.choice(latent, ("page", "slot"), "latent")
        for name in ("satisfied_without_click", "blind"):
            if latent == "slot" and getattr(self, name).any():
                raise ValueError(f"{name} belongs to a whole page, and latent='slot' has none")

    @classmethod
    def fit(cls, log: ClickLog, world: World, seed: int = 0) -> FCM:
        """Return the page reading fitted to ``log``; the fit does not use its seed.

        Attention is that of each type and position, β shared by all types. What the log does not
        show: attention has the mean of its type, β that of the opposite distance, or 0. A log
        without blocks gives UBM's fit and no attention. Costs some 100 passes over the log, after
        as many over a tenth of it.
        """
        n_types, slots = count_types(log, world), log.slots
        by_block = (n_types, slots + 1)
        if not has_blocks(log):
            ubm = fit_ubm(log, world)
            none = np.zeros(by_block), np.zeros(2 * slots)
            return cls(ubm.attractiveness, ubm.examination, *none)
        ways = FCMWays(n_types, slots)
        found = fit_ways(ways, log, world)
        return cls(
            found["attractiveness"],
            found["examination"].reshape(slots, slots),
            fill_attention(found["attention"].reshape(by_block), log),
            mirror_unseen(found["shift"], ways.seen_distances(log)),
        )

    def _shifts(self, blocks: Blocks, slots: int) -> Floats:
        """Return β of each rank, (K, n)."""
        place = np.arange(self.max_slots, self.max_slots + slots)[:, None] - blocks.positions
        return self.shift.take(place)

    def _trails(self, values: Floats, length: Integers, blocks: Blocks) -> Sequence[Trail]:
        attention = self.attention[blocks.types, blocks.positions]
        shift = self._shifts(blocks, len(values))
        if self.latent == "slot":
            table, every = self.examination, np.ones(len(attention))
            return [Trail(every, values, table, shift=shift * attention)]
        satisfied = self.satisfied_without_click[blocks.types, blocks.positions]
        blind = self.blind[blocks.types, blocks.positions]
        reads = attention * (1.0 - satisfied)
        table = self.examination
        trails = [
            Trail(1.0 - attention, values, table),
            Trail(reads * (1.0 - blind), values, table, shift=shift),
        ]
        if satisfied.any():
            trails.append(Trail(attention * satisfied, np.zeros(values.shape), table))
        if blind.any():
            seen = values * (np.arange(len(values))[:, None] >= blocks.positions)
            trails.append(Trail(reads * blind, seen, table, shift=shift))
        return trails

    def _draw(
        self, values: Floats, columns: Integers, readers: Readers, rng: Generator
    ) -> Booleans:
        slots = self.max_slots
        closed = np.concatenate([self.shift, np.zeros(slots)])  # 0 for who notices nothing
        factor, shifted = None, readers.noticed
        if self.latent == "slot":
            factor = self._block_tables.attention.take(readers.cells)
            shifted = factor > 0
        start = np.where(shifted, slots - readers.positions, 2 * slots)
        return draw_from_top(values, self.examination, closed, start, readers, factor, rng)

    def read_page(
        self,
        query: int,
        ranking: list[int],
        uniforms: Uniforms,
        *,
        vertical: int = -1,
        vertical_position: int = -1,
    ) -> tuple[list[bool], bool]:
        """Draw the clicks of one page, and whether its block satisfied without one."""
        block = {"vertical": vertical, "vertical_position": vertical_position}
        if self.latent == "page":
            return super().read_page(query, ranking, uniforms, **block)
        columns = np.array(ranking, dtype=np.int64)[:, None]
        blocks = {name: np.array([value]) for name, value in block.items()}
        clicks = self.sample_columns(np.array([query]), columns, uniforms.generator, **blocks)
        return clicks[:, 0].tolist(), False

    def _draw_noticed(
        self, values: list[float], length: int, vertical: int, position: int, uniforms: Uniforms
    ) -> list[bool]:
        table, shift = self._lists
        start, latest = self.max_slots - position, 0
        clicks = [False] * len(values)
        for rank, uniform in enumerate(uniforms.take(len(values))):
            examined = table[rank][latest]
            examined += (1.0 - examined) * shift[start + rank]
            if uniform < examined * values[rank]:
                clicks[rank] = True
                latest = rank + 1
        return clicks

    @cached_property
    def _lists(self) -> tuple[list[list[float]], list[float]]:
        """Examination and shift as plain lists."""
        return self.examination.tolist(), self.shift.tolist()
