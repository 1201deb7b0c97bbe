"""Tables of probabilities per (query, document), looked up fast: dense, or by grade."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common import checks
from ...common.typing import Floats, Integers

_KEPT_ROWS = 4096


class Table:
    """A read-only (Q, N) table of probabilities in which an empty slot (-1) has value 0.

    It is stored with one more column, of zeros. Document -1 of a query then points at the zero
    that closes the row above (and, for the first query, wraps to the table's last zero), so that
    empty slots need no masking.
    """

    _flat: NDArray[Any]

    def __init__(self, values: ArrayLike, name: str) -> None:
        array = checks.probabilities(values, name, 2)
        if 0 in array.shape:
            raise ValueError(f"{name} is empty, shape {array.shape}")
        padded = np.zeros((array.shape[0], array.shape[1] + 1))
        padded[:, :-1] = array
        padded.flags.writeable = False
        self._padded = padded
        self._flat = padded.reshape(-1)
        self._stride = padded.shape[1]
        self._rows: dict[int, list[float]] = {}

    def __getstate__(self) -> dict[str, NDArray[Any]]:
        """Leave out what follows from the values, so that workers get each table once."""
        return {"values": np.ascontiguousarray(self.values)}

    def __setstate__(self, state: dict[str, NDArray[Any]]) -> None:
        Table.__init__(self, state["values"], "values")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the values, (Q, N)."""
        return np.asarray(self.values, dtype=dtype)

    @property
    def values(self) -> Floats:
        """The whole table, (Q, N)."""
        return self._padded[:, :-1]

    @property
    def shape(self) -> tuple[int, int]:
        """Q and N."""
        return len(self._flat) // self._stride, self._stride - 1

    def rows(self, query: Integers, ranking: Integers) -> Floats:
        """Return the values of pages (n, K), laid out alike."""
        return self._take(query[:, None] * self._stride + ranking)

    def columns(self, query: Integers, columns: Integers) -> Floats:
        """Return the values of pages laid out slot by slot, (K, n)."""
        return self._take(columns + query * self._stride)

    def _take(self, places: Integers) -> Floats:
        """Return the values at places of the flat table, a new array; places wrap around."""
        return self._flat.take(places, mode="wrap")

    def page(self, query: int, ranking: list[int]) -> list[float]:
        """Return the values of one page; rows that were asked for are kept as lists."""
        row = self._rows.get(query)
        if row is None:
            if len(self._rows) >= _KEPT_ROWS:
                self._rows.clear()
            start = query * self._stride
            row = self._rows[query] = self._flat[start : start + self._stride].tolist()
        return [row[document] for document in ranking]

    def change(self, function: Callable[..., Floats], *others: Table) -> Table:
        """Return the table of ``function`` of these values and those of others, one by one."""
        return Table(function(self.values, *(other.values for other in others)), "values")


class GradeTable(Table):
    """A table whose values follow from the document's grade: one byte per document.

    Parameters
    ----------
    grades : (Q, N + 1) uint8
        Read-only, and shared between tables; 0 in the last column and nowhere else.
    rates : (G + 1,)
        The value of each grade; that of 0, the empty slot's, is 0.

    Notes
    -----
    ``values`` is made anew whenever it is asked for, and takes eight times the memory.
    """

    def __init__(self, grades: NDArray[np.uint8], rates: ArrayLike) -> None:
        self._grades = grades
        self._rates = checks.probabilities(rates, "rates", 1).copy()
        self._rates.flags.writeable = False
        self._stride = grades.shape[1]
        self._flat = grades.reshape(-1)
        self._bytes, self._list = self._flat.data, self._rates.tolist()

    def __getstate__(self) -> dict[str, NDArray[Any]]:
        """Leave out what follows from grades and rates."""
        return {"grades": self._grades, "rates": self._rates}

    def __setstate__(self, state: dict[str, NDArray[Any]]) -> None:
        state["grades"].flags.writeable = False  # which pickling forgets
        GradeTable.__init__(self, state["grades"], state["rates"])

    @staticmethod
    def close_rows(grades: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return grades (Q, N), all above 0, with the column of zeros that closes each row."""
        padded = np.zeros((grades.shape[0], grades.shape[1] + 1), dtype=np.uint8)
        padded[:, :-1] = grades
        padded.flags.writeable = False
        return padded

    @property
    def values(self) -> Floats:
        """The whole table, (Q, N), which is not kept."""
        values: Floats = self._rates[self._grades[:, :-1]]
        values.flags.writeable = False
        return values

    def _take(self, places: Integers) -> Floats:
        return self._rates.take(self._flat.take(places, mode="wrap"))

    def page(self, query: int, ranking: list[int]) -> list[float]:
        """Return the values of one page."""
        start, grades, rates = query * self._stride, self._bytes, self._list
        return [rates[grades[start + document]] for document in ranking]

    def change(self, function: Callable[..., Floats], *others: Table) -> Table:
        """Return the table of ``function`` of these values and those of others, one by one."""
        rates = [
            other._rates
            for other in others
            if isinstance(other, GradeTable) and other._grades is self._grades
        ]
        if len(rates) < len(others):
            return super().change(function, *others)
        changed = np.zeros(len(self._rates))
        changed[1:] = function(self._rates[1:], *(other[1:] for other in rates))
        return GradeTable(self._grades, changed)


def as_table(values: ArrayLike | Table, name: str) -> Table:
    """Return a table as it is, and an array (Q, N) of probabilities as a table."""
    return values if isinstance(values, Table) else Table(values, name)
