"""Rows of results, each a dict of one cell: kept as Parquet, and chosen among."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from ...common.storage import write_whole
from ...evaluation import Interval, interval
from ...evaluation.statistics import make_interval


def save_rows(rows: Sequence[dict[str, Any]], path: str | os.PathLike[str]) -> None:
    """Write rows with the same keys, atomically."""
    import pyarrow
    from pyarrow import parquet

    with write_whole(path) as temporary:
        parquet.write_table(pyarrow.Table.from_pylist(list(rows)), temporary)


def load_rows(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Read what ``save_rows`` wrote."""
    from pyarrow import parquet

    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


Row = dict[str, Any]


def where(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    """Return the rows whose fields have these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def distinct(rows: Sequence[Row], key: str, first: Sequence[Any] = ()) -> list[Any]:
    """Return a field's values, each once: those of ``first`` in its order, then as they come."""
    found = dict.fromkeys(row[key] for row in rows)
    return [*(value for value in first if value in found), *(v for v in found if v not in first)]


def by_seed(rows: Sequence[Row], key: str) -> dict[int, float]:
    """Return a field by seed, without the rows that lack it (None, or no such field)."""
    return {row["seed"]: float(row[key]) for row in rows if row.get(key) is not None}


def mean_of(rows: Sequence[Row], key: str) -> Interval:
    """Return a field's mean over seeds and its interval; NaN where no row has it."""
    values = [row[key] for row in rows if row.get(key) is not None]
    return interval(values) if values else make_interval(np.nan, np.nan, np.nan, 0)


def describe_seeds(groups: Iterable[Collection[int]]) -> str:
    """Tell which seeds were used, such as "10 seeds (0 to 9)", or how many where groups differ."""
    found = {tuple(sorted(group)) for group in groups if group}
    if len(found) != 1:
        counts = [len(seeds) for seeds in found] or [0]
        return f"{min(counts)} to {max(counts)} seeds, not all alike"
    (seeds,) = found
    if len(seeds) == 1:
        return f"one seed ({seeds[0]}), so no intervals"
    if seeds == tuple(range(seeds[0], seeds[-1] + 1)):
        return f"{len(seeds)} seeds ({seeds[0]} to {seeds[-1]})"
    return f"{len(seeds)} seeds ({', '.join(map(str, seeds))})"
