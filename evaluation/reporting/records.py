"""Rows of results, one per model, metric and seed: Parquet or CSV files, and pandas frames."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from ...common.runtime import import_extra
from ...common.storage import write_whole
from ..statistics import Interval, make_interval

if TYPE_CHECKING:
    from pandas import DataFrame


class Record(NamedTuple):
    """One result.

    Attributes
    ----------
    seed : int or None
        None for an interval that does not come from seeds.
    low, high, n : float, float, int, optional
        That interval's bounds and size.
    """

    model: str
    metric: str
    seed: int | None
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @property
    def interval(self) -> Interval:
        """The interval that this record is."""
        low = math.nan if self.low is None else self.low
        high = math.nan if self.high is None else self.high
        return make_interval(self.value, low, high, self.n or 0)


_TYPES = {
    "model": pa.string(), "metric": pa.string(), "seed": pa.int64(), "value": pa.float64(),
    "low": pa.float64(), "high": pa.float64(), "n": pa.int64(),
}  # fmt: skip
_NEEDED = ("model", "metric", "value")
SCHEMA = pa.schema([pa.field(name, kind, name not in _NEEDED) for name, kind in _TYPES.items()])


def write_records(records: Sequence[Record], path: str | os.PathLike[str]) -> None:
    """Write ``records`` to a ``.parquet`` or ``.csv`` file, atomically."""
    table = pa.Table.from_pylist([record._asdict() for record in records], schema=SCHEMA)
    write = {".parquet": pq.write_table, ".csv": pa_csv.write_csv}[_kind(path)]
    with write_whole(path) as temporary:
        write(table, temporary)


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Read what ``write_records`` wrote; anything else is an error that names the file."""
    kind = _kind(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        if kind == ".parquet":
            table = pq.read_table(path)
        else:
            options = pa_csv.ConvertOptions(column_types=_TYPES)
            table = pa_csv.read_csv(path, convert_options=options)
        rows = table.select(SCHEMA.names).cast(SCHEMA).to_pylist()
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise ValueError(f"{path}: does not hold results ({error})") from error
    records = [Record(**row) for row in rows]
    keys = {(record.model, record.metric, record.seed) for record in records}
    if len(keys) < len(records):
        raise ValueError(f"{path}: a model, metric and seed stands there twice")
    whole = {key[:2] for key in keys if key[2] is None}
    mixed = [key for key in keys if key[2] is not None and key[:2] in whole]
    if mixed:
        raise ValueError(f"{path}: {mixed[0][1]} of {mixed[0][0]} has rows with and without seeds")
    wrong = [record for record in records if record.value is None or math.isnan(record.value)]
    if wrong:
        raise ValueError(f"{path}: {wrong[0].metric} of {wrong[0].model} has no value")
    return records


def _kind(path: str | os.PathLike[str]) -> str:
    kind = Path(path).suffix
    if kind not in (".parquet", ".csv"):
        raise ValueError(f"{path}: results are kept as .parquet or .csv")
    return kind


def frame(columns: Mapping[str, Any]) -> DataFrame:
    """Return a pandas frame of these columns."""
    return import_extra("pandas", "plots", "frames need").DataFrame(columns)
