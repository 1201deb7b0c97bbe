"""Tables from files, frames and anything that speaks Arrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet

Source = Any  # a path, a frame, an Arrow table

_SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".txt": "csv",
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".ipc": "arrow", ".feather": "arrow",
}  # fmt: skip
_COMPRESSED = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_DELIMITERS = ",\t;|"
_HEADER_BYTES = 1 << 20


class BadLog(ValueError):
    """A table of clicks that cannot be read; the message names file, line or column."""


@contextmanager
def _own_errors(where: str) -> Any:
    """Turn whatever Arrow raises about a source into an error that names it."""
    try:
        yield
    except (BadLog, FileNotFoundError):
        raise
    except (pa.ArrowException, OSError, ValueError, EOFError) as error:
        text = " ".join(str(error).split())
        raise BadLog(f"{where}: cannot be read ({text[:300]})") from error


@dataclass(frozen=True)
class TableSource:
    """A table that knows the names of its columns before it is read.

    Attributes
    ----------
    where : str
        What errors call it: the file's path, or "the table".
    names : tuple of str
        The columns, in order.
    first_line : int
        The number that errors give its first row: 2 for a file with a header, else 0.
    """

    where: str
    names: tuple[str, ...]
    first_line: int
    _read: Callable[[list[str], set[str]], pa.Table]

    def read(self, columns: Iterable[str], as_ids: Iterable[str]) -> pa.Table:
        """Return the table of these columns; those of ``as_ids`` are never taken for numbers."""
        chosen = list(dict.fromkeys(columns))
        with _own_errors(self.where):
            table = self._read(chosen, set(as_ids))
        if not table.num_rows:
            raise BadLog(f"{self.where}: no rows in it")
        return table

    def describe_row(self, row: int) -> str:
        """Return where a row stands, for errors."""
        unit = "line" if self.first_line else "row"
        return f"{self.where}, {unit} {row + self.first_line}"


def open_source(source: Source) -> TableSource:
    """Return the table behind a path, a pandas or polars frame, or an Arrow table.

    Files are known by their suffix: ``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``, ``.arrow`` or
    ``.feather``; text may be compressed (``.gz``, ``.zst``). Frames come through the Arrow
    interface (``__arrow_c_stream__``), so neither pandas nor polars is needed.
    """
    if isinstance(source, (str, os.PathLike)):
        return _open_file(Path(source))
    if isinstance(source, Mapping):
        with _own_errors("the table"):
            return _in_memory(pa.table(dict(source)))
    if isinstance(source, pa.RecordBatch) or hasattr(source, "__arrow_c_stream__"):
        with _own_errors("the table"):
            return _in_memory(pa.table(source))
    raise BadLog(
        f"a log is read from a path, a pandas or polars frame or an Arrow table, not from a "
        f"{type(source).__name__}"
    )


def _in_memory(table: pa.Table) -> TableSource:
    _check_names(table.column_names, "the table")
    return TableSource(
        "the table", tuple(table.column_names), 0, lambda columns, ids: table.select(columns)
    )


def _open_file(path: Path) -> TableSource:
    if path.is_dir():
        raise BadLog(f"{path}: a folder, not a file")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = _COMPRESSED.get(suffixes[-1]) if suffixes else None
    kind = _SUFFIXES.get(suffixes[-2 if compression else -1]) if len(suffixes) > bool(
        compression
    ) else None
    if kind is None:
        known = ", ".join(sorted(_SUFFIXES))
        raise BadLog(f"{path}: its name does not say what it is; known endings: {known}")
    if not path.stat().st_size:
        raise BadLog(f"{path}: the file is empty")
    with _own_errors(str(path)):
        if kind in ("csv", "tsv"):
            return _open_text(path, compression, kind)
        if kind == "json":
            return _open_json(path, compression)
        if kind == "parquet":
            file = pyarrow.parquet.ParquetFile(path)
            names = tuple(file.schema_arrow.names)
            read = pyarrow.parquet.read_table
            return _of_file(path, names, 0, lambda columns, ids: read(path, columns=columns))
        table = _read_arrow(path)
        return _of_file(
            path, tuple(table.column_names), 0, lambda columns, ids: table.select(columns)
        )


def _of_file(
    path: Path,
    names: tuple[str, ...],
    first_line: int,
    read: Callable[[list[str], set[str]], pa.Table],
) -> TableSource:
    _check_names(names, str(path))
    return TableSource(str(path), names, first_line, read)


def _check_names(names: Iterable[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadLog(f"{where}: two columns are called {name!r}")
        seen.add(name)


def _read_arrow(path: Path) -> pa.Table:
    """Return an Arrow file, stream or feather file (also of version 1)."""
    try:
        return pyarrow.feather.read_table(path)
    except pa.ArrowInvalid:
        with pa.memory_map(str(path)) as file:
            return pa.ipc.open_stream(file).read_all()


def _stream(path: Path, compression: str | None) -> pa.NativeFile:
    return pa.input_stream(str(path), compression=compression)


def _open_text(path: Path, compression: str | None, kind: str) -> TableSource:
    """Open a CSV or TSV file; of a ``.csv`` the header says how fields are split."""
    with _stream(path, compression) as file:
        start = bytes(file.read(_HEADER_BYTES))
    header = start.split(b"\n", 1)[0].removeprefix(b"\xef\xbb\xbf").rstrip(b"\r")
    if b"\x00" in header:
        raise BadLog(f"{path}: not UTF-8 text (its first line has a zero byte)")
    try:
        text = header.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadLog(f"{path}, line 1: not UTF-8 text ({error})") from error
    if not text.strip():
        raise BadLog(f"{path}, line 1: no header; its first line must name the columns")
    delimiter = "\t" if kind == "tsv" else max(_DELIMITERS, key=text.count)
    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=False)
    with _stream(path, compression) as file:
        reader = pyarrow.csv.open_csv(
            pa.BufferReader(start.rsplit(b"\n", 1)[0] + b"\n") if b"\n" in start else file,
            parse_options=parse,
            convert_options=pyarrow.csv.ConvertOptions(column_types={}),
        )
        names = tuple(name.strip() for name in reader.schema.names)
        given = tuple(reader.schema.names)

    def read(columns: list[str], ids: set[str]) -> pa.Table:
        raw = dict(zip(names, given, strict=True))
        types = {raw[name]: pa.dictionary(pa.int32(), pa.string()) for name in ids}
        convert = pyarrow.csv.ConvertOptions(
            include_columns=[raw[name] for name in columns], column_types=types
        )
        with _stream(path, compression) as file:
            table = pyarrow.csv.read_csv(file, parse_options=parse, convert_options=convert)
        return table.rename_columns(columns)

    return _of_file(path, names, 2, read)


def _open_json(path: Path, compression: str | None) -> TableSource:
    """Open JSON lines: one object per line."""
    with _stream(path, compression) as file:
        table = pyarrow.json.read_json(file)
    return _of_file(
        path, tuple(table.column_names), 1, lambda columns, ids: table.select(columns)
    )
