"""The vertical-aware click model."""

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
from .drawing import BlockTables, Readers, draw_along
from .mixture_fit import count_types, fill_attention, fit_ubm, fit_ways, has_blocks
from .trails import Trail, downwards_order, upwards_order
from .vcm_fit import VCMWays
from .vertical_model import Blocks, VerticalModel


@register("VCM")
class VCM(VerticalModel):
    """Vertical-aware click model on UBM (Wang et al. 2013; Markov et al. 2014).

    Assumptions: a user who notices the block (F = 1) reads it first and goes on from there, up
    (B = 1) or down (B = 0). With v results above the block, the trails of web results are

    - F = 0: 0, 1, …, K-1
    - F = 1, B = 1: v-1, …, 0, then v, …, K-1
    - F = 1, B = 0: v, …, K-1, then 0, …, v-1 (``down="seed"``), or 0, 1, …, K-1 (``"page"``)

    Each is read as by UBM, with places in the trail instead of ranks. On a page with fewer than
    K results a trail goes over those that there are. Without a block it is UBM.

    Parameters
    ----------
    attractiveness : (Q, N)
    examination : (K, K)
        γ0, of F = 0: by place and place of the latest click, as in UBM.
    examination_vertical : (K, K)
        γ1, of both trails of F = 1.
    attention : (T, K+1)
        φ[t, v] = P(F = 1).
    upwards : (T, K+1)
        σ[t, v] = P(B = 1 | F = 1).
    down : {"seed", "page"}
        The trail of B = 0.
    satisfied_without_click, blind : (T, K+1), optional
        See ``VerticalModel``.
    """

    deterministic = frozenset({"table"})

    def __init__(
        self,
        attractiveness: ArrayLike,
        examination: ArrayLike,
        examination_vertical: ArrayLike,
        attention: ArrayLike,
        upwards: ArrayLike,
        down: str = "seed",
        *,
        satisfied_without_click: ArrayLike | None = None,
        blind: ArrayLike | None = None,
    ) -> None:
        super().__init__(
            attractiveness, examination, attention, satisfied_without_click, blind
        )
        self.examination_vertical = read_probabilities(
            examination_vertical, "examination_vertical", 2
        )
        checks.same_shape(
            self.examination_vertical, self.examination.shape, "examination_vertical", "examination"
        )
        self.upwards = self._by_block(upwards, "upwards")
        self.down = checks.choice(down, ("seed", "page"), "down")

    @classmethod
    def fit(cls, log: ClickLog, world: World, seed: int = 0, down: str = "seed") -> VCM:
        """Return the model fitted to ``log``; the fit does not use its seed.

        Where the log shows no block of a type at a position, attention has the mean of the type
        and the direction is open, 1/2. A log without blocks gives UBM's fit and no attention.
        Costs some 100 passes over the log, after as many over a tenth of it.
        """
        checks.choice(down, ("seed", "page"), "down")
        n_types, slots = count_types(log, world), log.slots
        by_block, tables = (n_types, slots + 1), (slots, slots)
        if not has_blocks(log):
            ubm = fit_ubm(log, world)
            none = np.zeros(by_block), np.full(by_block, 0.5)
            return cls(ubm.attractiveness, ubm.examination, ubm.examination, *none, down)
        found = fit_ways(VCMWays(n_types, slots, down), log, world)
        return cls(
            found["attractiveness"],
            found["examination"].reshape(tables),
            found["examination_vertical"].reshape(tables),
            fill_attention(found["attention"].reshape(by_block), log),
            found["upwards"].reshape(by_block),
            down,
        )

    def _orders(
        self, length: Integers, blocks: Blocks, slots: int
    ) -> tuple[Integers, Integers | None]:
        """Return the trails up and down, (K, n) each; None is from the top."""
        above = np.minimum(blocks.positions, length)
        up = upwards_order(above, slots)
        return up, downwards_order(above, length, slots) if self.down == "seed" else None

    def _trails(self, values: Floats, length: Integers, blocks: Blocks) -> Sequence[Trail]:
        slots = len(values)
        attention, upwards, satisfied, blind = (
            table[blocks.types, blocks.positions]
            for table in (self.attention, self.upwards, self.satisfied_without_click, self.blind)
        )
        trails = [Trail(1.0 - attention, values, self.examination)]
        if satisfied.any():
            nothing = np.zeros(values.shape)
            trails.append(Trail(attention * satisfied, nothing, self.examination))
        reads = attention * (1.0 - satisfied)
        seen = values * (np.arange(slots)[:, None] >= blocks.positions)
        table = self.examination_vertical
        ways = zip(self._orders(length, blocks, slots), (upwards, 1.0 - upwards), strict=True)
        for order, share in ways:
            for looked_at, chance in ((values, 1.0 - blind), (seen, blind)):
                if chance.any():
                    along = (
                        looked_at
                        if order is None
                        else np.take_along_axis(looked_at, order, axis=0)
                    )
                    trails.append(Trail(reads * share * chance, along, table, order))
        return trails

    @cached_property
    def _block_tables(self) -> BlockTables:
        return BlockTables(self.attention, self.satisfied_without_click, self.blind, self.upwards)

    def _draw(
        self, values: Floats, columns: Integers, readers: Readers, rng: Generator
    ) -> Booleans:
        assert readers.upwards is not None
        slots = len(values)
        rank = np.arange(slots)[:, None]
        length = (columns >= 0).sum(axis=0)
        upwards, downwards = self._orders(length, Blocks(readers.cells, readers.positions), slots)
        order = np.where(readers.upwards, upwards, rank if downwards is None else downwards)
        order = np.where(readers.noticed, order, rank)
        tables = np.stack([self.examination, self.examination_vertical])
        return draw_along(values, tables, order, readers, rng)

    def _draw_noticed(
        self, values: list[float], length: int, vertical: int, position: int, uniforms: Uniforms
    ) -> list[bool]:
        table, upwards = self._lists
        above = min(position, length)
        if uniforms.one() < upwards[vertical][position]:
            order = [*range(above - 1, -1, -1), *range(above, length)]
        elif self.down == "seed":
            order = [*range(above, length), *range(above)]
        else:
            order = [*range(length)]
        clicks, latest = [False] * len(values), 0
        for place, (rank, uniform) in enumerate(zip(order, uniforms.take(length), strict=True)):
            if uniform < table[place][latest] * values[rank]:
                clicks[rank] = True
                latest = place + 1
        return clicks

    @cached_property
    def _lists(self) -> tuple[list[list[float]], list[list[float]]]:
        """Examination of who notices the block, and directions, as plain lists."""
        return self.examination_vertical.tolist(), self.upwards.tolist()
