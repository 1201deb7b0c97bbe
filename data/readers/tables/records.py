"""Logs as text in which each line is a record of its own kind: Yandex, PyClick, sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ....common.memory import require_memory
from ....common.typing import Booleans, Integers
from .lists import list_lengths, make_lists, split
from .sources import ADVICE, Adapted, BadLog, Source, TableSource, is_path, own_errors
from .values import as_mask


@dataclass(frozen=True)
class _Lines:
    """Fields of lines, flat: those of line i are ``fields[starts[i]:starts[i] + lengths[i]]``."""

    path: str
    fields: pa.StringArray
    starts: Integers
    lengths: Integers

    def column(self, lines: Integers, place: int) -> pa.StringArray:
        """Return one field of each of these lines."""
        return self.fields.take(pa.array(self.starts[lines] + place))

    def require(self, lines: Integers, least: int, what: str) -> None:
        """Raise unless each of these lines has so many fields."""
        short = lines[self.lengths[lines] < least]
        if len(short):
            raise BadLog(f"{self.path}, line {int(short[0]) + 1}: too few fields for {what}")

    def integers(self, lines: Integers, place: int, what: str) -> pa.Array:
        """Return one field of each of these lines as whole numbers."""
        texts = pc.utf8_trim_whitespace(self.column(lines, place))
        wrong = np.flatnonzero(~as_mask(pc.match_substring_regex(texts, r"^-?[0-9]{1,18}$")))
        if len(wrong):
            line, text = int(lines[wrong[0]]) + 1, texts[int(wrong[0])].as_py()
            raise BadLog(f"{self.path}, line {line}: the {what} is {text!r}, no whole number")
        return texts.cast(pa.int64())

    def as_source(self, table: pa.Table, lines: Integers) -> TableSource:
        """Return a table of pages that knows the line of each of its rows."""
        names = tuple(table.column_names)
        return TableSource(
            self.path,
            names,
            lambda columns, ids: table.select(columns),
            lambda row: f"line {int(lines[row]) + 1}",
        )


def _read_lines(source: Source, separator: str = "\t") -> _Lines:
    """Return the lines of a text file, split at a separator; it may be compressed."""
    if not is_path(source):
        raise BadLog("this format is read from a file, not from a table")
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    if not path.stat().st_size:
        raise BadLog(f"{path}: the file is empty")
    require_memory(4 * path.stat().st_size, str(path), ADVICE)
    with own_errors(str(path)), pa.input_stream(str(path), compression="detect") as file:
        table = pyarrow.csv.read_csv(
            file,
            pyarrow.csv.ReadOptions(column_names=["line"], block_size=64 << 20),
            pyarrow.csv.ParseOptions(delimiter="\x01", quote_char=False, ignore_empty_lines=False),
            pyarrow.csv.ConvertOptions(column_types={"line": pa.string()}),
        )
    parts = pc.split_pattern(table["line"], separator).combine_chunks()
    offsets = parts.offsets.to_numpy().astype(np.int64)
    return _Lines(str(path), parts.flatten(), offsets[:-1] - offsets[0], np.diff(offsets))


def _filled(lines: _Lines) -> Integers:
    """Return the lines that are not blank."""
    alone = lines.lengths == 1
    empty = as_mask(pc.equal(pc.utf8_trim_whitespace(lines.fields), ""))[lines.starts]
    found = np.flatnonzero(~(alone & empty))
    if not len(found):
        raise BadLog(f"{lines.path}: no lines in it")
    return found


def _texts(fields: pa.StringArray) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    return np.asarray(fields.to_numpy(zero_copy_only=False), dtype=np.str_)


def _codes(*columns: pa.StringArray) -> Integers:
    """Return numbers of rows that are equal in all columns, (n,)."""
    joined = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        encoded = column.dictionary_encode()
        joined = joined * np.int64(len(encoded.dictionary) + 1) + encoded.indices.to_numpy()
        joined = pa.array(joined).dictionary_encode().indices.to_numpy().astype(np.int64)
    return joined


def _latest_before(
    shown: Integers, shown_line: Integers, clicked: Integers, clicked_line: Integers
) -> Integers:
    """Return for each click the latest shown element with its code in an earlier line, or -1.

    Of a page that shows a document twice it is the higher slot.
    """
    order = np.lexsort((-np.arange(len(shown)), shown_line, shown))
    size = np.int64(max(shown_line.max(initial=0), clicked_line.max(initial=0)) + 1)
    keys = shown[order] * size + shown_line[order]
    place = np.searchsorted(keys, clicked * size + clicked_line) - 1
    found = place >= 0
    found[found] = shown[order][place[found]] == clicked[found]
    return np.where(found, order[np.maximum(place, 0)], -1)


@dataclass(frozen=True)
class _Clicks:
    """Lines of clicks: what of a page they must agree with, and the document."""

    lines: Integers
    key: list[pa.StringArray]
    document: pa.StringArray


def _join_clicks(
    lines: _Lines,
    pages: Integers,
    first: int,
    key: list[pa.StringArray],
    clicks: _Clicks,
    columns: dict[str, pa.Array],
    roles: Mapping[str, str | None],
    with_domain: bool = False,
) -> Adapted:
    """Return pages, whose documents begin at field ``first``, with their clicks as flags."""
    counts = lines.lengths[pages] - first
    page = np.repeat(np.arange(len(pages)), counts)
    ramp = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    documents = lines.fields.take(pa.array(lines.starts[pages][page] + first + ramp))
    if with_domain:  # "url,domain"
        documents = pc.replace_substring_regex(documents, r",.*$", "")
    both = [
        pa.concat_arrays([shown.take(pa.array(page)), clicked])
        for shown, clicked in zip(key, clicks.key, strict=True)
    ]
    codes = _codes(*both, pa.concat_arrays([documents, clicks.document]))
    n = len(documents)
    target = _latest_before(codes[:n], pages[page], codes[n:], clicks.lines)
    flags: Booleans = np.zeros(n, dtype=bool)
    flags[target[target >= 0]] = True
    table = pa.table(
        columns
        | {
            "documents": make_lists(documents, page, len(pages)),
            "clicks": make_lists(pa.array(flags), page, len(pages)),
        }
    )
    every = {"document": "documents", "click": "clicks", "rank": "", **roles}
    lost = {"clicks_not_shown": int((target < 0).sum())}
    return Adapted(lines.as_source(table, pages), every, lost)


def yandex_2011(source: Source) -> Adapted:
    """Lines ``session time Q query region url…`` and ``session time C url``, split by tabs.

    A click belongs to the latest page of its session that shows the document. The query is
    ``query_region``: grades are of both.
    """
    lines = _read_lines(source)
    every = _filled(lines)
    lines.require(every, 3, "a record")
    kinds = _texts(lines.column(every, 2))
    _check_kinds(lines, every, kinds, ("Q", "C"))
    pages, clicks = every[kinds == "Q"], every[kinds == "C"]
    lines.require(pages, 6, "a page")
    lines.require(clicks, 4, "a click")
    _require_pages(lines, pages)
    session = lines.column(pages, 0)
    columns = {
        "session": session,
        "time": lines.integers(pages, 1, "time"),
        "query": pc.binary_join_element_wise(lines.column(pages, 3), lines.column(pages, 4), "_"),
    }
    clicked = _Clicks(clicks, [lines.column(clicks, 0)], lines.column(clicks, 3))
    roles = {"query": "query", "session": "session", "time": "time"}
    return _join_clicks(lines, pages, 5, [session], clicked, columns, roles)


def yandex_2011_labels(source: Source) -> Adapted:
    """Lines ``query region url grade``, split by tabs."""
    lines = _read_lines(source)
    every = _filled(lines)
    lines.require(every, 4, "query, region, document and grade")
    table = pa.table(
        {
            "query": pc.binary_join_element_wise(
                lines.column(every, 0), lines.column(every, 1), "_"
            ),
            "document": lines.column(every, 2),
            "grade": lines.integers(every, 3, "grade"),
        }
    )
    return Adapted(lines.as_source(table, every), {})


def yandex_2013(source: Source) -> Adapted:
    """Lines ``session M day user``, ``session time Q|T serp query terms url,domain…`` and clicks.

    A click, ``session time C serp url``, belongs to the page of its session with that number.
    """
    lines = _read_lines(source)
    every = _filled(lines)
    lines.require(every, 4, "a record")
    starts = every[_texts(lines.column(every, 1)) == "M"]
    rest = every[_texts(lines.column(every, 1)) != "M"]
    kinds = _texts(lines.column(rest, 2))
    _check_kinds(lines, rest, kinds, ("Q", "T", "C"))
    pages, clicks = rest[kinds != "C"], rest[kinds == "C"]
    lines.require(pages, 7, "a page")
    lines.require(clicks, 5, "a click")
    _require_pages(lines, pages)
    session = lines.column(pages, 0)
    columns = {
        "session": session,
        "passed": lines.integers(pages, 1, "time"),  # since the session began
        "query": lines.column(pages, 4),
    }
    roles: dict[str, str | None] = {"query": "query", "session": "session"}
    if len(starts):
        place = np.searchsorted(starts, pages) - 1
        if (place < 0).any():
            raise BadLog(f"{lines.path}, line {int(pages[0]) + 1}: a page before its session")
        owner = starts[place]
        columns["user"] = lines.column(owner, 3)
        columns["day"] = lines.integers(owner, 2, "day")
        roles |= {"user": "user", "time": "day"}
    clicked = _Clicks(
        clicks, [lines.column(clicks, 0), lines.column(clicks, 3)], lines.column(clicks, 4)
    )
    key = [session, lines.column(pages, 3)]
    return _join_clicks(lines, pages, 6, key, clicked, columns, roles, with_domain=True)


def _require_pages(lines: _Lines, pages: Integers) -> None:
    if not len(pages):
        raise BadLog(f"{lines.path}: no pages in it")


def _check_kinds(
    lines: _Lines, every: Integers, kinds: np.ndarray[tuple[int], np.dtype[np.str_]],
    known: tuple[str, ...],
) -> None:  # fmt: skip
    wrong = np.flatnonzero(~np.isin(kinds, known))
    if len(wrong):
        line, kind = int(every[wrong[0]]) + 1, str(kinds[wrong[0]])
        raise BadLog(
            f"{lines.path}, line {line}: a record of kind {kind[:50]!r}, not {' or '.join(known)}"
        )


def pyclick(source: Source) -> Adapted:
    """Lines of pages ``query<TAB>d1,…,dK : c1 , c2`` that are split by ``;``."""
    lines = _read_lines(source, ";")
    texts = pc.utf8_trim_whitespace(lines.fields)
    filled = as_mask(pc.not_equal(texts, ""))
    line = np.repeat(np.arange(len(lines.lengths)), lines.lengths)[filled]
    if not len(line):
        raise BadLog(f"{lines.path}: no pages in it")
    form = r"^(?P<query>[^\t]+)\t(?P<documents>[^:]+):(?P<clicks>[^:]*)$"
    parts = pc.extract_regex(texts.filter(pa.array(filled)), form)
    if parts.null_count:
        wrong = int(np.flatnonzero(as_mask(parts.is_null()))[0])
        raise BadLog(
            f"{lines.path}, line {int(line[wrong]) + 1}: a page is not query<TAB>documents : clicks"
        )
    lists = {
        name: split(pc.struct_field(parts, name), ",", " \t\r") for name in ("documents", "clicks")
    }
    queries = pc.utf8_trim_whitespace(pc.struct_field(parts, "query"))
    roles = {"query": "query", "document": "documents", "click": "clicks"}
    return Adapted(lines.as_source(pa.table({"query": queries} | lists), line), roles)


def sessions(source: Source) -> Adapted:
    """Lines of session, query, [documents], [types], [clicks] and perhaps [grades], by tabs."""
    lines = _read_lines(source)
    every = _filled(lines)
    lines.require(every, 5, "session, query, documents, types and clicks")
    columns = {
        "session": lines.column(every, 0),
        "query": pc.utf8_trim_whitespace(lines.column(every, 1)),
        "documents": _bracketed(lines, every, 2, "documents"),
        "clicks": _bracketed(lines, every, 4, "clicks"),
    }
    roles = {"query": "query", "document": "documents", "click": "clicks", "session": "session"}
    graded = lines.lengths[every] >= 6
    oddities = {}
    if graded.any():
        columns["grades"] = _known_grades(lines, every, graded, columns["documents"])
        roles["grade"] = "grades"
        oddities["ungraded_lines"] = int((~graded).sum())
    return Adapted(lines.as_source(pa.table(columns), every), roles, oddities)


def session_labels(source: Source) -> Adapted:
    """Lines of a session log with [grades] at their end."""
    lines = _read_lines(source)
    every = _filled(lines)
    lines.require(every, 6, "session, query, documents, types, clicks and grades")
    columns = {
        "query": pc.utf8_trim_whitespace(lines.column(every, 1)),
        "documents": _bracketed(lines, every, 2, "documents"),
        "grades": _session_grades(lines, every),
    }
    roles = {"query": "query", "document": "documents", "grade": "grades"}
    return Adapted(lines.as_source(pa.table(columns), every), roles)


def _known_grades(
    lines: _Lines, every: Integers, graded: Booleans, documents: pa.ListArray
) -> pa.ListArray:
    """Return the grades of lines that have them, and missing ones for the documents of others."""
    given, rest = np.flatnonzero(graded), np.flatnonzero(~graded)
    grades = _session_grades(lines, every[given])
    unknown = np.repeat(rest, list_lengths(documents)[rest])
    row = np.concatenate([np.repeat(given, list_lengths(grades)), unknown])
    values = pa.concat_arrays([grades.flatten(), pa.nulls(len(unknown), pa.string())])
    order = np.argsort(row, kind="stable")
    return make_lists(values.take(pa.array(order)), row[order], len(every))


def _session_grades(lines: _Lines, every: Integers) -> pa.ListArray:
    grades = _bracketed(lines, every, 5, "grades")
    known = pc.replace_substring_regex(grades.flatten(), r"^-2$", "0")  # spam, as in LETOR
    return pa.ListArray.from_arrays(grades.offsets, known)


def _bracketed(lines: _Lines, every: Integers, place: int, what: str) -> pa.ListArray:
    texts = pc.utf8_trim_whitespace(lines.column(every, place))
    wrong = np.flatnonzero(~as_mask(pc.match_substring_regex(texts, r"^\[.*\]$")))
    if len(wrong):
        line = int(every[wrong[0]]) + 1
        raise BadLog(f"{lines.path}, line {line}: the {what} are no list in brackets")
    return split(pc.utf8_slice_codeunits(texts, 1, -1), ",", " \t")
