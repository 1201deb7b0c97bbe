"""The rows of the study, and numbers pooled over its seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ...evaluation.statistics import Z95
from ..engine.grid import Result
from ..engine.rows import Row
from .abandonment_cells import AbandonmentCell
from .correlation_cells import CorrelationCell
from .federated_setting import PageSetting

SESSIONS, ONLINE, CORRELATION, DIFFERENCE = "sessions", "online", "correlation", "difference"
ATTENTION, SHOWN, PERPLEXITY, ABANDONMENT = "attention", "shown", "perplexity", "abandonment"


class Pooled(NamedTuple):
    """The mean of a number over seeds.

    Attributes
    ----------
    value, stderr : float
        NaN where the results do not have it. Seeds are independent, so the error is the root of
        the sum of their squared errors, divided by their number.
    by_seed : tuple of float
    """

    value: float
    stderr: float
    by_seed: tuple[float, ...]

    def bounds(self, level: float = 0.05) -> tuple[float, float]:
        """Return the interval that misses with probability ``level``."""
        half = float(ndtri(1.0 - level / 2.0)) * self.stderr
        return self.value - half, self.value + half


class PooledRows:
    """The rows, found by their fields: ``pool`` is asked for the same ones again and again."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self._found: dict[tuple[str, ...], list[Row]] = {}
        for row in rows:
            self._found.setdefault(tuple(row[name] for name in _KEY), []).append(row)

    def values(self, name: str) -> list[str]:
        """Return what a field holds, each once."""
        return list(dict.fromkeys(row[name] for row in self.rows))

    def pool(
        self,
        part: str,
        user: str,
        vertical: str,
        intent: str = "",
        sessions: str = "",
        metric: str = "",
        against: str = "",
        column: str = "",
    ) -> Pooled:
        """Return a number, pooled over seeds."""
        rows = self._found.get((part, user, vertical, intent, sessions, metric, against, column))
        if not rows:
            return Pooled(np.nan, np.nan, ())
        table = np.array([[row["value"], row["low"], row["high"]] for row in rows], dtype=float)
        errors = (table[:, 2] - table[:, 1]) / (2.0 * Z95)
        stderr = float(np.sqrt((errors**2).sum()) / len(rows))
        return Pooled(float(table[:, 0].mean()), stderr, tuple(table[:, 0].tolist()))

    def difference(
        self, first: str, second: str, user: str, vertical: str, intent: str, sessions: str,
        column: str,
    ) -> Pooled:  # fmt: skip
        """Return how far the correlation of one metric is above another's."""
        where = (user, vertical, intent, sessions)
        found = self.pool(DIFFERENCE, *where, first, second, column)
        if found.by_seed:
            return found
        found = self.pool(DIFFERENCE, *where, second, first, column)
        return Pooled(-found.value, found.stderr, tuple(-one for one in found.by_seed))


_KEY = ("part", "user", "vertical", "intent", "sessions", "metric", "against", "column")


def _row(
    pages: PageSetting,
    part: str,
    value: float,
    low: float | None = None,
    high: float | None = None,
    intent: str = "",
    sessions: str = "",
    metric: str = "",
    against: str = "",
    column: str = "",
) -> Row:
    return {
        "user": pages.user, "vertical": pages.vertical, "seed": pages.seed, "part": part,
        "intent": intent, "sessions": sessions, "metric": metric, "against": against,
        "column": column, "value": float(value), "low": low, "high": high,
    }  # fmt: skip


def correlation_rows(cell: CorrelationCell, result: Result) -> Iterator[Row]:
    """Give the rows of a cell of correlations."""
    pages = cell.pages
    for intent, half, counted, count in result["sessions"]:
        yield _row(pages, SESSIONS, count, intent=intent, metric=half, column=counted)
    for intent, sessions, column, mean in result["online"]:
        yield _row(pages, ONLINE, mean, intent=intent, sessions=sessions, column=column)
    for part, name in ((CORRELATION, "correlations"), (DIFFERENCE, "differences")):
        for intent, sessions, metric, against, column, value, low, high in result[name]:
            yield _row(pages, part, value, low, high, intent, sessions, metric, against, column)
    for name, values in result["attention"].items():
        for position, value in enumerate(values):
            yield _row(pages, ATTENTION, value, metric=name, column=str(position))
    for position, value in enumerate(result["shown"]):
        yield _row(pages, SHOWN, value, column=str(position))
    for name, value in result["perplexity"].items():
        yield _row(pages, PERPLEXITY, value, metric=name)


def abandonment_rows(cell: AbandonmentCell, result: Result) -> Iterator[Row]:
    """Give the rows of a cell of the A/B experiment."""
    for intent, arm, kind, value, low, high in result["rates"]:
        yield _row(cell.pages, ABANDONMENT, value, low, high, intent, metric=arm, column=kind)
    for arm, count in result["sessions"].items():
        yield _row(cell.pages, ABANDONMENT, count, metric=arm, column="sessions")
