"""Models whose examination depends on the whole click prefix: a table of 2^K - 1 entries."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ...common.typing import Booleans, Floats, Integers
from ..base import ClickModel
from ..cells import PREFIX_SLOTS, all_clicks, cell_numbers, prefix_cells
from ..pages import check_pages, zero_after_impossible
from .attractiveness import WithAttractiveness, read_probabilities

_CHUNK = 4096


class PrefixModel(WithAttractiveness, ClickModel):
    """P(click) = attractiveness × examination of the click prefix.

    Parameters
    ----------
    attractiveness : (Q, N)
    examination : (2^K - 1,)
        By the number of the prefix (see ``cells.prefix_clicks``): entry 0 for the first slot, then
        the two prefixes of length one, and so on.
    """

    reads_down = True

    def __init__(self, attractiveness: ArrayLike, examination: ArrayLike) -> None:
        super().__init__(attractiveness)
        self.examination = read_probabilities(examination, "examination", 1)
        size = len(self.examination) + 1
        self._slots = size.bit_length() - 1
        if size != 1 << self._slots or self._slots == 0:
            raise ValueError(f"examination must have 2^K - 1 entries, not {size - 1}")
        self._corners: dict[int, Floats] = {}
        if self._slots > PREFIX_SLOTS:
            raise ValueError(f"a table of click prefixes goes up to {PREFIX_SLOTS} slots")

    @property
    def max_slots(self) -> int:
        """K."""
        return self._slots

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> Floats:
        """Return P(C_k = 1 | c_<k), (n, K)."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        probs = self._attractiveness.rows(query, ranking)
        probs *= self.examination.take(cell_numbers(prefix_cells, clicks))
        return zero_after_impossible(probs, clicks)

    def click_probs(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(C_k = 1), (n, K), by the tree of click prefixes: O(n 2^K)."""
        query, ranking = check_pages(self, query, ranking)
        result = np.empty(ranking.shape)
        for start in range(0, len(query), _CHUNK):
            part = slice(start, start + _CHUNK)
            values = self._attractiveness.columns(query[part], ranking[part].T)
            result[part] = self._tree(values).T
        return result

    def _tree(self, values: Floats) -> Floats:
        """Return P(C_k = 1), (K, n), for pages of attractiveness (K, n)."""
        slots, n = values.shape
        mass = np.ones((1, n))  # P(prefix), one row per prefix
        result = np.empty((slots, n))
        for slot in range(slots):
            first = (1 << slot) - 1
            click = mass * (self.examination[first : 2 * first + 1, None] * values[slot])
            result[slot] = click.sum(axis=0)
            mass = np.stack([mass - click, click], axis=1).reshape(2 * len(mass), n)
        return result

    def score_columns(self, query: Integers, columns: Integers) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n).

        Expected clicks are linear in each slot's attractiveness, so they are known once they are
        known for all 2^K pages of documents that are surely or never attractive. A page is then
        the product of two vectors, of its upper and its lower half, with that table between them.
        """
        values = self._attractiveness.columns(query, columns)
        slots = len(values)
        upper, lower = _corners(values[: slots // 2]), _corners(values[slots // 2 :])
        return np.einsum("an,an->n", upper, self._corner_scores(slots) @ lower)

    def _corner_scores(self, slots: int) -> Floats:
        """Return the expected clicks of all 0/1 pages, upper half by lower half."""
        if slots not in self._corners:
            pages = all_clicks(slots).T.astype(np.float64)
            clicks = self._tree(np.ascontiguousarray(pages)).sum(axis=0)
            self._corners[slots] = clicks.reshape(1 << (slots // 2), -1)
        return self._corners[slots]

    def sample_columns(self, query: Integers, columns: Integers, rng: Generator) -> Booleans:
        """Draw clicks, (K, n)."""
        values = self._attractiveness.columns(query, columns)
        uniforms = rng.random(columns.shape)
        clicks = np.empty(columns.shape, dtype=bool)
        place = np.zeros(columns.shape[1], dtype=np.int64)  # number of the prefix so far
        for slot in range(len(columns)):
            values[slot] *= self.examination.take(place)
            np.less(uniforms[slot], values[slot], out=clicks[slot])
            place *= 2
            place += 1
            place += clicks[slot]
        return clicks


def _corners(values: Floats) -> Floats:
    """Return P(each 0/1 page) of half pages (k, n), (2^k, n); the last slot varies fastest."""
    result = np.ones((1, values.shape[1]))
    for value in values:
        result = np.stack([result * (1.0 - value), result * value], axis=1)
        result = result.reshape(-1, values.shape[1])
    return result
