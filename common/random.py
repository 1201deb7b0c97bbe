"""Random numbers for one page at a time, and fast draws from a fixed distribution."""

from __future__ import annotations

import numpy as np

from .typing import Floats, Integers


class Uniforms:
    """Uniform numbers in [0, 1) as plain floats, drawn from a generator in blocks.

    A call of a generator costs more than the numbers of a page; with a block as a list, a number
    costs about as much as an access to a list. ``generator`` is the same stream, for draws of
    arrays.
    """

    BLOCK = 4096

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        self._block: list[float] = []
        self._next = 0

    def one(self) -> float:
        """Return the next number."""
        place = self._next
        if place >= len(self._block):
            return self.take(1)[0]
        self._next = place + 1
        return self._block[place]

    def take(self, n: int) -> list[float]:
        """Return the next ``n`` numbers."""
        start = self._next
        self._next = end = start + n
        if end > len(self._block):
            self._block = self.generator.random(max(self.BLOCK, n)).tolist()
            start, self._next = 0, n
            end = n
        return self._block[start:end]


class AliasTable:
    """Draws indices with given probabilities in constant time each (Walker's alias method)."""

    def __init__(self, probs: Floats) -> None:
        n = len(probs)
        scaled = (probs / probs.sum() * n).tolist()
        keep, alias = [1.0] * n, list(range(n))
        small = [i for i in range(n) if scaled[i] < 1.0]
        large = [i for i in range(n) if scaled[i] >= 1.0]
        while small and large:
            poor, rich = small.pop(), large.pop()
            keep[poor], alias[poor] = scaled[poor], rich
            scaled[rich] -= 1.0 - scaled[poor]
            (small if scaled[rich] < 1.0 else large).append(rich)
        # Columns left over by rounding keep all of their probability, but none at weight zero.
        for index in small:
            if probs[index] == 0:
                keep[index], alias[index] = 0.0, int(np.argmax(probs))
        self.n = n
        self.keep = np.array(keep)
        self.alias = np.array(alias, dtype=np.int64)
        self._keep, self._alias = keep, alias

    def draw(self, n: int, rng: np.random.Generator) -> Integers:
        """Return ``n`` indices, (n,) int64; one uniform serves both the column and the choice."""
        place = rng.random(n)
        place *= self.n
        column = place.astype(np.int64)
        place -= column
        return np.where(place < self.keep.take(column), column, self.alias.take(column))

    def draw_one(self, uniform: float) -> int:
        """Return the index that one uniform number stands for."""
        place = uniform * self.n
        column = int(place)
        return column if place - column < self._keep[column] else self._alias[column]
