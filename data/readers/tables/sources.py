"""Tables from files, frames and anything that speaks Arrow."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet

from ....common.memory import require_memory
from ....common.typing import Integers

Source = Any  # a path, a frame, an Arrow table
ADVICE = "read fewer columns, or a part of the log"

SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".txt": "csv",
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".ipc": "arrow", ".feather": "arrow",
}  # fmt: skip
COMPRESSED = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}


class BadLog(ValueError):
    """A table of clicks that cannot be read; the message names file, line or column."""


class BadValue(BadLog):
    """A value that cannot be read, whatever the columns are taken for."""


@contextmanager
def own_errors(where: str) -> Iterator[None]:
    """Turn whatever Arrow raises about a source into an error that names it."""
    try:
        yield
    except (BadLog, FileNotFoundError):
        raise
    except (pa.ArrowException, OSError, ValueError, EOFError, OverflowError) as error:
        raise BadLog(f"{where}: cannot be read ({shorten(error)})") from error


def shorten(error: Exception | str) -> str:
    """Return the beginning of a text, on one line."""
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else text[:300] + "…"


@dataclass(frozen=True)
class TableSource:
    """A table that knows the names of its columns before it is read.

    Attributes
    ----------
    where : str
        What errors call it: the file's path, or "the table".
    names : tuple of str
        The columns, in order.
    """

    where: str
    names: tuple[str, ...]
    _read: Callable[[list[str], set[str]], pa.Table]
    _place: Callable[[int], str] = "row {}".format

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise BadLog(f"{self.where}: two columns are called {name!r}")
            seen.add(name)

    def read(self, columns: Iterable[str], as_ids: Iterable[str]) -> pa.Table:
        """Return the table of these columns; those of ``as_ids`` are never taken for numbers."""
        chosen = list(dict.fromkeys(columns))
        with own_errors(self.where):
            table = self._read(chosen, set(as_ids))
            if not table.num_rows:
                raise BadLog(f"{self.where}: no rows in it")
            return _plain_types(table)

    def describe_row(self, row: int) -> str:
        """Return where a row (from 0) stands, for errors: the line of a text file, else the row."""
        return f"{self.where}, {self._place(row)}"


@dataclass(frozen=True)
class Adapted:
    """A source in a plain form: what the reader of a special format gives back.

    Attributes
    ----------
    source : TableSource
    columns : mapping from roles to columns
        What the format says; None is to be guessed, ``""`` means that there is none.
    oddities : mapping from names of oddities to how often
    catalogue : bool
        Whether every document is a candidate of every query.
    """

    source: TableSource
    columns: Mapping[str, str | None]
    oddities: Mapping[str, int] = field(default_factory=dict)
    catalogue: bool = False


def inside_lists(source: TableSource, row: Integers) -> TableSource:
    """Return a source whose rows are elements of lists: errors name the ``row`` (n,) of each."""
    return replace(source, names=(), _place=lambda element: source._place(int(row[element])))


def from_table(where: str, table: pa.Table) -> TableSource:
    """Return a table in memory as a source."""
    names = tuple(table.column_names)
    plain = TableSource(where, names, lambda columns, ids: table.select(columns))
    return with_fields(plain, table.schema)


def with_fields(source: TableSource, schema: pa.Schema) -> TableSource:
    """Return the source with a column for each field of its records.

    A record, or a list of records as exports of nested tables have them, becomes columns such as
    ``items.item_id``: one list per row for each field.
    """
    found = [path for field in schema for path in _field_paths(field)]
    if all(len(path) == 1 for path in found):
        return source
    names = tuple(".".join(path) for path in found)
    paths = dict(zip(names, found, strict=True))

    def read(columns: list[str], ids: set[str]) -> pa.Table:
        whole = list(dict.fromkeys(paths[name][0] for name in columns))
        table = source._read(whole, {paths[name][0] for name in ids})
        values = [_take_field(table[paths[name][0]], paths[name][1:]) for name in columns]
        return pa.table(values, names=columns)

    return TableSource(source.where, names, read, source._place)


def _field_paths(field: pa.Field) -> Iterator[tuple[str, ...]]:
    kind = field.type
    if not pa.types.is_struct(kind) and _is_list(kind):
        kind = kind.value_type
    if not pa.types.is_struct(kind) or not kind.num_fields:
        yield (field.name,)
        return
    for index in range(kind.num_fields):
        for path in _field_paths(kind.field(index)):
            yield (field.name, *path)


def _take_field(column: pa.ChunkedArray, path: tuple[str, ...]) -> pa.ChunkedArray:
    """Return a field of records, or of each record of lists; that of a missing one is missing."""
    for name in path:
        if pa.types.is_struct(column.type):
            column = pc.struct_field(column, name)
            continue
        lengths = pc.fill_null(pc.list_value_length(column), 0)
        ends = pc.cumulative_sum(lengths.cast(pa.int32())).combine_chunks()
        values = pc.struct_field(pc.list_flatten(column), name).combine_chunks()
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks)
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
        column = pa.chunked_array([pa.ListArray.from_arrays(offsets, values)])
    return column


def open_frame(source: Source) -> TableSource:
    """Return a pandas or polars frame, an Arrow table or a mapping from names to columns.

    Frames come through the Arrow interface (``__arrow_c_stream__``), so neither pandas nor polars
    is needed.
    """
    where = "the table"
    if isinstance(source, Mapping):
        source = dict(source)
    elif not isinstance(source, pa.RecordBatch) and not hasattr(source, "__arrow_c_stream__"):
        raise BadLog(
            f"a log is read from a path, a pandas or polars frame or an Arrow table, not from a "
            f"{type(source).__name__}"
            + ("; collect() makes a frame of it" if hasattr(source, "collect") else "")
        )
    try:
        table = pa.table(source)
    except (TypeError, ValueError, NotImplementedError) as error:  # also of columns of any objects
        text = shorten("; ".join(map(str, error.args)))
        if "Conversion failed for column" in text:
            text += "; a column must be of one kind: .astype(str) makes it text"
        raise BadLog(f"{where}: cannot be read ({text})") from error
    return from_table(where, table)


def find_kind(path: Path) -> tuple[str, str | None]:
    """Return what a file is (csv, tsv, json, parquet or arrow) by its name, and its compression."""
    if path.is_dir():
        raise BadLog(f"{path}: a folder, not a file")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = COMPRESSED.get(suffixes[-1]) if suffixes else None
    if compression:
        suffixes.pop()
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None:
        known = ", ".join(sorted(SUFFIXES))
        raise BadLog(
            f"{path}: its name does not say what it is; known endings are {known}, and of text "
            "also with .gz or .zst after it"
        )
    if compression and kind in ("parquet", "arrow"):
        raise BadLog(f"{path}: {kind} files have a compression of their own; unpack it first")
    if not path.stat().st_size:
        raise BadLog(f"{path}: the file is empty")
    return kind, compression


def open_parquet(path: Path) -> TableSource:
    """Open a Parquet file; only the columns that are asked for are read."""
    with own_errors(str(path)), pyarrow.parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        names = tuple(schema.names)
        texts = {
            name for name in names if _is_text(schema.field(name).type)
        }  # fmt: skip
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    sizes: dict[str, int] = {}
    for group in groups:
        for index in range(group.num_columns):
            column = group.column(index)
            top = column.path_in_schema.split(".")[0]
            sizes[top] = sizes.get(top, 0) + column.total_uncompressed_size

    def read(columns: list[str], ids: set[str]) -> pa.Table:
        require_memory(sum(sizes.get(name, 0) for name in columns), str(path), ADVICE)
        table = pyarrow.parquet.read_table(
            path, columns=columns, read_dictionary=sorted(ids & texts), partitioning=None
        ).select(columns)
        table.validate(full=True)  # a damaged file may point outside of itself
        return table

    return with_fields(TableSource(str(path), names, read), schema)


def open_arrow(path: Path) -> TableSource:
    """Open an Arrow file, an Arrow stream or a feather file (of version 1 or 2)."""
    with own_errors(str(path)):
        require_memory(path.stat().st_size, str(path), ADVICE)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of version 1, which we read
                table = pyarrow.feather.read_table(path, memory_map=False)
        except pa.ArrowInvalid:
            with pa.OSFile(str(path)) as file:
                table = pa.ipc.open_stream(file).read_all()
        table.validate(full=True)
    return from_table(str(path), table)


def is_path(source: Source) -> bool:
    """Whether a source is the path of a file."""
    return isinstance(source, (str, os.PathLike))


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_list(kind: pa.DataType) -> bool:
    return (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _plain_types(table: pa.Table) -> pa.Table:
    """Return the table without types that few kernels take: views, extensions, half floats."""
    columns = [_plain_column(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_column(
            pa.chunked_array([c.storage for c in column.chunks], kind.storage_type)
        )
    if pa.types.is_dictionary(kind):
        inner = _plain_type(kind.value_type)
        if inner != kind.value_type:  # cast what the codes stand for
            chunks = [
                pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(inner))
                for chunk in column.chunks
            ]
            column = pa.chunked_array(chunks, pa.dictionary(kind.index_type, inner))
        return column if _is_text(inner) else column.cast(inner)
    plain = _plain_type(kind)
    return column if plain == kind else column.cast(plain)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind) or pa.types.is_binary(kind) or pa.types.is_binary_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.large_string()
    if _is_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if pa.types.is_float16(kind):
        return pa.float32()
    return kind
