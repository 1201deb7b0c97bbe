"""Attractiveness per (query, document): the table, looked up fast, and models that have one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Floats, Integers
from ..saving import constructor_arguments

_KEPT_ROWS = 4096


def read_probabilities(values: ArrayLike, name: str, ndim: int) -> Floats:
    """Return a read-only copy of an array of probabilities with at least one entry."""
    array = checks.probabilities(values, name, ndim).copy()
    if not array.size:
        raise ValueError(f"{name} is empty, shape {array.shape}")
    array.flags.writeable = False
    return array


class Table:
    """A read-only (Q, N) table of probabilities in which an empty slot (-1) has value 0.

    It is stored with one more column, of zeros. Document -1 of a query then points at the zero
    that closes the row above (and, for the first query, wraps to the table's last zero), so that
    empty slots need no masking.
    """

    def __init__(self, values: ArrayLike, name: str) -> None:
        array = checks.probabilities(values, name, 2)
        if 0 in array.shape:
            raise ValueError(f"{name} is empty, shape {array.shape}")
        padded = np.zeros((array.shape[0], array.shape[1] + 1))
        padded[:, :-1] = array
        padded.flags.writeable = False
        self.values: Floats = padded[:, :-1]
        self._flat = padded.reshape(-1)
        self._stride = padded.shape[1]
        self._rows: dict[int, list[float]] = {}

    def __getstate__(self) -> dict[str, Floats]:
        """Leave out what follows from the values, so that workers get each table once."""
        return {"values": np.ascontiguousarray(self.values)}

    def __setstate__(self, state: dict[str, Floats]) -> None:
        Table.__init__(self, state["values"], "values")

    def rows(self, query: Integers, ranking: Integers) -> Floats:
        """Return the values of pages (n, K), laid out alike."""
        return self._flat.take(query[:, None] * self._stride + ranking, mode="wrap")

    def columns(self, query: Integers, columns: Integers) -> Floats:
        """Return the values of pages laid out slot by slot, (K, n)."""
        return self._flat.take(columns + query * self._stride, mode="wrap")

    def page(self, query: int, ranking: list[int]) -> list[float]:
        """Return the values of one page; rows that were asked for are kept as lists."""
        row = self._rows.get(query)
        if row is None:
            if len(self._rows) >= _KEPT_ROWS:
                self._rows.clear()
            start = query * self._stride
            row = self._rows[query] = self._flat[start : start + self._stride].tolist()
        return [row[document] for document in ranking]


class WithAttractiveness:
    """The part of a click model that has P(attractive) by query and document, (Q, N).

    Families and models take it beside ``ClickModel``; what they read from it is theirs.
    """

    def __init__(self, attractiveness: ArrayLike) -> None:
        self._attractiveness = Table(attractiveness, "attractiveness")

    @property
    def attractiveness(self) -> Floats:
        """P(attractive), (Q, N)."""
        return self._attractiveness.values

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and candidate places."""
        return self.attractiveness.shape[0], self.attractiveness.shape[1]

    def state(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return constructor_arguments(self)

    def relevance(self) -> Floats:
        """Return the attractiveness, (Q, N)."""
        return self.attractiveness
