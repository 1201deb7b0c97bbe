"""CSV, TSV and JSON lines, plain or compressed; errors name lines, not rows."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from ....common.memory import require_memory
from .sources import (
    ADVICE,
    BadLog,
    BadValue,
    Source,
    TableSource,
    find_kind,
    is_path,
    open_arrow,
    open_frame,
    open_parquet,
    own_errors,
    shorten,
    with_fields,
)

_DELIMITERS = ",\t;|"
_HEADER_BYTES = 1 << 20
_NULLS = [*pyarrow.csv.ConvertOptions().null_values, "\\N", "None", "<NA>"]  # of databases, Python
_BLOCKS = (4 << 20, 256 << 20)  # bytes that Arrow parses at a time; a row must fit
_KINDS: dict[str, type | tuple[type, ...]] = {
    "a flag": bool, "a number": (int, float), "a text": str, "a list": list,
}
_BOM = b"\xef\xbb\xbf"


def open_source(source: Source) -> TableSource:
    """Return the table behind a path, a pandas or polars frame, or an Arrow table.

    Files are known by their suffix: ``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``, ``.arrow`` or
    ``.feather``; text may be compressed (``.gz``, ``.zst``).
    """
    if not is_path(source):
        return open_frame(source)
    path = Path(source)
    kind, compression = find_kind(path)
    if kind == "parquet":
        return open_parquet(path)
    if kind == "arrow":
        return open_arrow(path)
    text = _Text(path, compression)
    with own_errors(str(path)):
        return _open_json(text) if kind == "json" else _open_csv(text, kind)


@dataclass(frozen=True)
class _Text:
    """A text file, perhaps compressed."""

    path: Path
    compression: str | None

    def open(self) -> pa.NativeFile:
        return pa.input_stream(str(self.path), compression=self.compression)

    def start(self) -> bytes:
        """Return what it begins with, without a byte order mark."""
        with self.open() as file:
            return bytes(file.read(_HEADER_BYTES)).removeprefix(_BOM)

    def require_memory(self) -> None:
        size = self.path.stat().st_size * (4 if self.compression else 1)
        require_memory(size, str(self.path), ADVICE)

    def lines(self) -> Iterator[str]:
        """Yield lines with their ends; one that is not UTF-8 is an error that gives its number."""
        with self.open() as file:
            for number, line in enumerate(io.BufferedReader(file), start=1):
                try:
                    yield line.removeprefix(_BOM if number == 1 else b"").decode("utf-8")
                except UnicodeDecodeError as error:
                    raise BadValue(
                        f"{self.path}, line {number}: not UTF-8 text ({error}); save it as UTF-8"
                    ) from error


@dataclass(frozen=True)
class _Dialect:
    """How the fields of a CSV file are split."""

    delimiter: str

    def records(self, text: _Text) -> Iterator[tuple[int, list[str]]]:
        """Yield each record that is not blank with the number of its first line.

        A loop over rows: for the header, and to find the line of an error.
        """
        reader = csv.reader(text.lines(), delimiter=self.delimiter)
        begins = 1
        for record in reader:
            if record:
                yield begins, record
            begins = reader.line_num + 1


def _open_csv(text: _Text, kind: str) -> TableSource:
    """Open a CSV or TSV file; of a ``.csv`` the header says how fields are split."""
    path, start = text.path, text.start()
    if b"\x00" in start.split(b"\n", 1)[0]:
        raise BadLog(f"{path}, line 1: not UTF-8 text (it has a zero byte); save it as UTF-8")
    first = next(text.lines(), "")
    unquoted = re.sub(r'"[^"]*"', "", first)
    dialect = _Dialect("\t" if kind == "tsv" else max(_DELIMITERS, key=unquoted.count))
    try:
        begins, header = next(dialect.records(text), (1, [""]))
        lines = next((line for line, _ in islice(dialect.records(text), 1, 2)), None)
    except csv.Error as error:
        raise BadLog(f"{path}, line 1: no header that can be read ({error})") from error
    header = [name.strip() for name in header]
    if not any(header):
        raise BadLog(f"{path}, line 1: no header; its first line must name the columns")
    if lines is None:
        raise BadLog(f"{path}: no rows in it, only a header")
    names = tuple(name or f"column {number}" for number, name in enumerate(header, start=1))
    skipped = _header_lines(dialect, text, begins)

    def read(columns: list[str], ids: set[str]) -> pa.Table:
        text.require_memory()
        return _read_csv(text, dialect, names, skipped, columns, ids)

    def place(row: int) -> str:
        line = next((line for line, _ in islice(dialect.records(text), row + 1, None)), None)
        return f"row {row}" if line is None else f"line {line}"

    return TableSource(str(path), names, read, place)


def _header_lines(dialect: _Dialect, text: _Text, begins: int) -> int:
    """Return the number of lines up to the header's last; a quoted name may hold a line break."""
    reader = csv.reader(islice(text.lines(), begins - 1, None), delimiter=dialect.delimiter)
    next(reader)
    return begins - 1 + reader.line_num


def _read_csv(
    text: _Text,
    dialect: _Dialect,
    names: tuple[str, ...],
    skipped: int,
    columns: list[str],
    ids: set[str],
) -> pa.Table:
    convert = pyarrow.csv.ConvertOptions(
        include_columns=columns,
        null_values=_NULLS,
        column_types={name: pa.dictionary(pa.int32(), pa.string()) for name in ids},
    )
    for block in _BLOCKS:  # larger blocks only where a row or a line break in quotes needs them
        options = pyarrow.csv.ReadOptions(
            column_names=list(names), skip_rows=skipped, block_size=block
        )
        parse = pyarrow.csv.ParseOptions(
            delimiter=dialect.delimiter, newlines_in_values=block == _BLOCKS[-1]
        )
        try:
            with text.open() as file:
                return pyarrow.csv.read_csv(file, options, parse, convert)
        except pa.ArrowInvalid as error:
            failure = error
    _find_bad_record(text, dialect, len(names))
    raise BadLog(f"{text.path}: cannot be read ({shorten(failure)})") from failure


def _find_bad_record(text: _Text, dialect: _Dialect, width: int) -> None:
    """Raise an error with the line of the first record that has another number of fields."""
    try:
        for line, record in dialect.records(text):
            if len(record) != width:
                raise BadLog(
                    f"{text.path}, line {line}: {len(record)} fields, but the header names {width}"
                )
    except csv.Error as error:
        raise BadLog(f"{text.path}: cannot be read ({error})") from error


def _open_json(text: _Text) -> TableSource:
    """Open JSON lines: one object per line."""
    if text.start().lstrip()[:1] == b"[":
        raise BadLog(
            f"{text.path}, line 1: a JSON array; write one object per line instead "
            '(lines=True in pandas)'
        )
    text.require_memory()
    table = _read_json(text, None)
    kinds = {field.name: field.type for field in table.schema}

    def read(columns: list[str], ids: set[str]) -> pa.Table:
        # Texts that look like dates are read as times; an id must stay as it is written.
        texts = {name: _as_text(kinds[name]) for name in ids}
        texts = {name: kind for name, kind in texts.items() if kind != kinds[name]}
        found = _read_json(text, texts) if texts else table
        return found.select(columns)

    def place(row: int) -> str:
        filled = (number for number, line in enumerate(text.lines(), start=1) if line.strip())
        return f"line {next(islice(filled, row, None), row)}"

    plain = TableSource(str(text.path), tuple(table.column_names), read, place)
    return with_fields(plain, table.schema)


def _as_text(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _as_text(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_as_text(kind.value_type))
    return pa.string() if pa.types.is_temporal(kind) else kind


def _read_json(text: _Text, types: dict[str, pa.DataType] | None) -> pa.Table:
    schema = pa.schema(list(types.items())) if types else None
    parse = pyarrow.json.ParseOptions(explicit_schema=schema)
    for block in _BLOCKS:
        try:
            with text.open() as file:
                options = pyarrow.json.ReadOptions(block_size=block)
                return pyarrow.json.read_json(file, options, parse)
        except pa.ArrowInvalid as error:
            failure = error
            if "block" not in str(error):
                break
    _find_bad_line(text)
    raise BadLog(f"{text.path}: cannot be read ({shorten(failure)})") from failure


def _find_bad_line(text: _Text) -> None:
    """Raise an error with the first line that is no object, or has a value of another kind."""
    seen: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(text.lines(), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
            kinds = list(_kinds(found, ""))
        except (ValueError, RecursionError) as error:
            raise BadLog(f"{text.path}, line {number}: not JSON ({error})") from error
        if not isinstance(found, dict):
            raise BadLog(f"{text.path}, line {number}: not a JSON object")
        for name, kind in kinds:
            before, first = seen.setdefault(name, (kind, number))
            if kind != before:
                raise BadLog(
                    f"{text.path}, line {number}: {name} is {kind}, but in line {first} it is "
                    f"{before}; a column must be of one kind"
                )


def _kinds(value: object, name: str) -> Iterator[tuple[str, str]]:
    """Yield each value of a JSON object with its name and its kind; null is of any kind."""
    if name and value is not None:
        known = (kind for kind, types in _KINDS.items() if isinstance(value, types))
        yield name, next(known, "an object")
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _kinds(inner, f"{name}.{key}" if name else f"column {key!r}")
    elif isinstance(value, list):
        for inner in value:
            yield from _kinds(inner, f"{name or 'a line'}, in its list")
