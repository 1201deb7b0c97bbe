"""What FCM and VCM share: UBM on pages without a block, a mixture of trails on pages with one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Unpack

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ...common import checks
from ...common.random import Uniforms
from ...common.typing import Booleans, Floats, Integers
from ..base import ClickModel
from ..pages import BlockArguments, check_pages
from ..reading.attractiveness import WithAttractiveness, read_probabilities
from ..ubm import UBM
from .drawing import BlockTables, Readers
from .trails import Trail

_CHUNK = 2048  # pages worked on at once, so that they stay in the cache


@dataclass(frozen=True)
class Blocks:
    """Blocks: type and position of each, (n,)."""

    types: Integers
    positions: Integers

    def part(self, rows: slice) -> Blocks:
        """Return some of them."""
        return Blocks(self.types[rows], self.positions[rows])


class VerticalModel(WithAttractiveness, ClickModel):
    """A click model that knows the vertical block of a page; UBM where there is none.

    ``conditional_click_probs``, ``log_likelihood``, ``click_probs``, ``expected_clicks`` and
    ``sample`` take ``vertical`` and ``vertical_position``, (n,) each or None: the type of each
    page's block, 0 .. T-1, and how many results stand above it, 0 .. K; -1 in either is no block.

    Parameters
    ----------
    attractiveness : (Q, N)
    examination : (K, K)
        UBM's, of a user who does not notice the block.
    attention : (T, K+1)
        P(F = 1): the user notices a block of type t at position v.
    satisfied_without_click : (T, K+1), optional
        P(no web click at all | F = 1), 0 by default: what the block shows is enough.
    blind : (T, K+1), optional
        P(what stands above the block is not examined | F = 1, not satisfied), 0 by default.
    """

    knows_verticals = True

    def __init__(
        self,
        attractiveness: ArrayLike,
        examination: ArrayLike,
        attention: ArrayLike,
        satisfied_without_click: ArrayLike | None = None,
        blind: ArrayLike | None = None,
    ) -> None:
        super().__init__(attractiveness)
        self._plain = UBM(self._attractiveness, examination)  # of pages without a block
        self.attention = read_probabilities(attention, "attention", 2)
        self._check_positions(self.attention, "attention")
        self.satisfied_without_click = self._by_block(
            satisfied_without_click, "satisfied_without_click"
        )
        self.blind = self._by_block(blind, "blind")

    @property
    def examination(self) -> Floats:
        """UBM's γ, (K, K)."""
        return self._plain.examination

    @property
    def max_slots(self) -> int:
        """The size of ``examination``."""
        return self._plain.max_slots

    def _check_positions(self, table: Floats, name: str) -> None:
        if table.shape[1] != self.max_slots + 1:
            raise ValueError(
                f"{name} has shape {table.shape}, but examination of {self.max_slots} slots needs "
                f"{self.max_slots + 1} positions of the block, 0 to {self.max_slots}"
            )

    def _by_block(self, given: ArrayLike | None, name: str) -> Floats:
        """Return a table of probabilities (T, K+1); None is 0."""
        table = np.zeros(self.attention.shape) if given is None else given
        table = read_probabilities(table, name, 2)
        checks.same_shape(table, self.attention.shape, name, "attention")
        return table

    # What FCM and VCM say

    def _trails(self, values: Floats, length: Integers, blocks: Blocks) -> Sequence[Trail]:
        """Return the ways to read pages with a block, whose weights sum to one.

        ``values`` (K, n) is the attractiveness by rank, ``length`` (n,) the number of results.
        """
        raise NotImplementedError

    def _draw(
        self, values: Floats, columns: Integers, readers: Readers, rng: Generator
    ) -> Booleans:
        """Draw clicks by rank (K, n) of pages with and without blocks."""
        raise NotImplementedError

    def _draw_noticed(
        self, values: list[float], length: int, vertical: int, position: int, uniforms: Uniforms
    ) -> list[bool]:
        """Draw the clicks of one page whose block is noticed, from attractiveness by rank."""
        raise NotImplementedError

    @cached_property
    def _block_tables(self) -> BlockTables:
        return BlockTables(self.attention, self.satisfied_without_click, self.blind)

    # What follows

    def conditional_click_probs(
        self,
        query: ArrayLike,
        ranking: ArrayLike,
        clicks: ArrayLike,
        **blocks: Unpack[BlockArguments],
    ) -> Floats:
        """Return P(C_k = 1 | c_1 .. c_{k-1}), (n, K), as ratios of prefix probabilities."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        rows, found = self._find_blocks(len(query), **blocks)
        if len(rows) == 0:
            return self._plain.conditional_click_probs(query, ranking, clicks)
        result = np.empty(ranking.shape)
        plain = _others(rows, len(query))
        result[plain] = self._plain.conditional_click_probs(
            query[plain], ranking[plain], clicks[plain]
        )

        def ask(part: Integers, trails: Sequence[Trail]) -> None:
            happened = np.ascontiguousarray(clicks[part].T)
            before, click = np.zeros(happened.shape), np.zeros(happened.shape)
            for trail in trails:
                own, with_click = trail.prefixes(happened)
                before += trail.weight * own
                click += trail.weight * with_click
            possible = before > 0
            ratio = np.divide(click, before, out=np.zeros(before.shape), where=possible)
            result[part] = np.minimum(ratio, 1.0).T

        self._over_chunks(query, ranking, rows, found, ask)
        return result

    def log_likelihood(
        self,
        query: ArrayLike,
        ranking: ArrayLike,
        clicks: ArrayLike,
        **blocks: Unpack[BlockArguments],
    ) -> Floats:
        """Return log P(clicks | query, ranking, block), (n,); -inf where it is impossible."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        rows, found = self._find_blocks(len(query), **blocks)
        plain = _others(rows, len(query))
        result = np.empty(len(query))
        result[plain] = self._plain.log_likelihood(query[plain], ranking[plain], clicks[plain])

        def ask(part: Integers, trails: Sequence[Trail]) -> None:
            happened = np.ascontiguousarray(clicks[part].T)
            total = np.zeros(len(part))
            for trail in trails:
                total += trail.weight * trail.joint(happened)
            with np.errstate(divide="ignore"):
                result[part] = np.log(total)

        self._over_chunks(query, ranking, rows, found, ask)
        return result

    def click_probs(
        self, query: ArrayLike, ranking: ArrayLike, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return P(C_k = 1), (n, K), by each trail's recursion: O(n K²)."""
        query, ranking = check_pages(self, query, ranking)
        return np.ascontiguousarray(self._click_columns(query, ranking.T, **blocks).T)

    def expected_clicks(
        self, query: ArrayLike, ranking: ArrayLike, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return the expected number of web clicks of each page, (n,)."""
        return self.click_probs(query, ranking, **blocks).sum(axis=1)

    def satisfied_probs(
        self, query: ArrayLike, ranking: ArrayLike, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return P(the page satisfies), (n,): a web click, or satisfied without one."""
        query, ranking = check_pages(self, query, ranking)
        nothing = np.zeros(ranking.shape, dtype=bool)
        result = -np.expm1(self.log_likelihood(query, ranking, nothing, **blocks))
        rows, own = self._find_blocks(len(query), **blocks)
        noticed = self.attention[own.types, own.positions]
        result[rows] += noticed * self.satisfied_without_click[own.types, own.positions]
        return result

    def score_columns(
        self, query: Integers, columns: Integers, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n)."""
        return self._click_columns(query, columns, **blocks).sum(axis=0)

    def _click_columns(
        self, query: Integers, columns: Integers, **blocks: Unpack[BlockArguments]
    ) -> Floats:
        """Return P(C_k = 1), (K, n)."""
        rows, found = self._find_blocks(len(query), **blocks)
        if len(rows) == 0:
            return self._plain.click_columns(query, columns)
        result = np.empty(columns.shape)
        plain = _others(rows, len(query))
        result[:, plain] = self._plain.click_columns(query[plain], columns[:, plain])

        def ask(part: Integers, trails: Sequence[Trail]) -> None:
            result[:, part] = sum(trail.weight * trail.marginals() for trail in trails)

        self._over_chunks(query, columns.T, rows, found, ask)
        return result

    def sample_columns(
        self, query: Integers, columns: Integers, rng: Generator, **blocks: Unpack[BlockArguments]
    ) -> Booleans:
        """Draw clicks, (K, n): first how each page with a block is read, then its clicks."""
        return self.read_columns(query, columns, rng, **blocks)[0]

    def read_columns(
        self, query: Integers, columns: Integers, rng: Generator, **blocks: Unpack[BlockArguments]
    ) -> tuple[Booleans, Booleans]:
        """Draw clicks, (K, n), and whether the block satisfied without one, (n,)."""
        n = len(query)
        found = self._read_blocks(n, **blocks)
        if found is None or (found.positions < 0).all():
            return self._plain.sample_columns(query, columns, rng), np.zeros(n, dtype=bool)
        readers = self._block_tables.draw(found.types, found.positions, rng)
        values = self._attractiveness.columns(query, columns)
        clicks = self._draw(values, columns, readers, rng)
        satisfied = np.zeros(n, dtype=bool) if readers.satisfied is None else readers.satisfied
        return clicks, satisfied

    def sample_page(
        self,
        query: int,
        ranking: list[int],
        uniforms: Uniforms,
        *,
        vertical: int = -1,
        vertical_position: int = -1,
    ) -> list[bool]:
        """Draw the clicks of one page."""
        block = {"vertical": vertical, "vertical_position": vertical_position}
        return self.read_page(query, ranking, uniforms, **block)[0]

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
        attention, satisfied, blind = self._block_lists
        if vertical < 0 or vertical_position < 0:
            return self._plain.sample_page(query, ranking, uniforms), False
        if uniforms.one() >= attention[vertical][vertical_position]:
            return self._plain.sample_page(query, ranking, uniforms), False
        if uniforms.one() < satisfied[vertical][vertical_position]:
            return [False] * len(ranking), True
        values = self._attractiveness.page(query, ranking)
        if uniforms.one() < blind[vertical][vertical_position]:
            values = [0.0] * min(vertical_position, len(values)) + values[vertical_position:]
        length = sum(document >= 0 for document in ranking)
        return self._draw_noticed(values, length, vertical, vertical_position, uniforms), False

    @cached_property
    def _block_lists(self) -> list[list[list[float]]]:
        """Attention, satisfaction and blindness as plain lists."""
        tables = self.attention, self.satisfied_without_click, self.blind
        return [table.tolist() for table in tables]

    def _find_blocks(
        self, n: int, **blocks: Unpack[BlockArguments]
    ) -> tuple[Integers, Blocks]:
        """Return the pages that have a block, and the blocks, after checking them."""
        found = self._read_blocks(n, **blocks)
        if found is None:
            return np.zeros(0, dtype=np.int64), Blocks(*np.zeros((2, 0), dtype=np.int64))
        rows = np.flatnonzero((found.types >= 0) & (found.positions >= 0))
        return rows, Blocks(found.types[rows], found.positions[rows])

    def _read_blocks(
        self, n: int, vertical: ArrayLike | None = None, vertical_position: ArrayLike | None = None
    ) -> Blocks | None:
        """Return the blocks of all pages, -1 = none, after checking them; None where none is."""
        if vertical is None and vertical_position is None:
            return None
        if vertical is None or vertical_position is None:
            given, missing = ("vertical", "vertical_position")[:: -1 if vertical is None else 1]
            raise ValueError(f"{given} is given without {missing}: a block has a type and a place")
        n_types = len(self.attention)
        types = self._read_block(vertical, "vertical", n, n_types - 1, f"{n_types} types")
        last = self.max_slots
        positions = self._read_block(
            vertical_position, "vertical_position", n, last, f"positions 0 to {last}"
        )
        return Blocks(types, positions)

    def _read_block(
        self, given: ArrayLike, name: str, n: int, highest: int, known: str
    ) -> Integers:
        array = checks.integers(given, name, 1)
        checks.same_shape(array, (n,), name, "query")
        wrong = (array < -1) | (array > highest)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"{name}[{row}] is {array[row]}, but this {self.name} knows {known} (-1 is none)"
            )
        return array.astype(np.int64, copy=False)

    def _over_chunks(
        self,
        query: Integers,
        ranking: Integers,
        rows: Integers,
        blocks: Blocks,
        ask: Callable[[Integers, Sequence[Trail]], None],
    ) -> None:
        """Call ``ask`` with some of the pages with a block, and with the ways to read them."""
        for start in range(0, len(rows), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            part = rows[chunk]
            columns = np.ascontiguousarray(ranking[part].T)
            values = self._attractiveness.columns(query[part], columns)
            ask(part, self._trails(values, (columns >= 0).sum(axis=0), blocks.part(chunk)))


def _others(rows: Integers, n: int) -> Integers:
    """Return the indices below n that are not among ``rows``."""
    rest = np.ones(n, dtype=bool)
    rest[rows] = False
    return np.flatnonzero(rest)
