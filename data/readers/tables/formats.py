"""Special formats of real logs, each turned into a plain table of clicks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ....common.typing import Booleans, Integers
from .sources import BadLog, Source, TableSource, open_source

_CLICKED_LATER = "clicks_not_shown"


@dataclass(frozen=True)
class Adapted:
    """A source in a plain form, and which of its columns means what."""

    source: TableSource
    columns: Mapping[str, str | None]
    oddities: Mapping[str, int]


def adapt(source: Source, format: str) -> Adapted:
    """Return ``source``, which has a special format, as a plain table of clicks."""
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    return FORMATS[format](source)


def _in_table(where: str, table: pa.Table) -> TableSource:
    return TableSource(
        where, tuple(table.column_names), 0, lambda columns, ids: table.select(columns)
    )


# Text in which each line is a record of its own kind: Yandex


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


def _read_lines(source: Source, separator: str = "\t") -> _Lines:
    """Return the lines of a text file, split at a separator; it may be compressed."""
    if not isinstance(source, (str, os.PathLike)):
        raise BadLog("this format is read from a file")
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        with pa.input_stream(str(path), compression="detect") as file:
            table = pyarrow.csv.read_csv(
                file,
                pyarrow.csv.ReadOptions(column_names=["line"]),
                pyarrow.csv.ParseOptions(delimiter="\x01", quote_char=False),
                pyarrow.csv.ConvertOptions(column_types={"line": pa.string()}),
            )
    except (pa.ArrowException, OSError, ValueError) as error:
        text = " ".join(str(error).split())[:300]
        raise BadLog(f"{path}: cannot be read ({text})") from error
    if not table.num_rows:
        raise BadLog(f"{path}: no lines in it")
    split = pc.split_pattern(table["line"], separator).combine_chunks()
    offsets = split.offsets.to_numpy().astype(np.int64)
    return _Lines(str(path), split.flatten(), offsets[:-1] - offsets[0], np.diff(offsets))


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
    """Return for each click the latest shown element with its code in an earlier line, or -1."""
    order = np.lexsort((shown_line, shown))
    size = np.int64(max(shown_line.max(initial=0), clicked_line.max(initial=0)) + 1)
    keys = shown[order] * size + shown_line[order]
    place = np.searchsorted(keys, clicked * size + clicked_line) - 1
    found = place >= 0
    found[found] = shown[order][place[found]] == clicked[found]
    return np.where(found, order[np.maximum(place, 0)], -1)


def _pages_and_clicks(
    lines: _Lines,
    pages: Integers,
    first: int,
    page_key: list[pa.StringArray],
    clicks: Integers,
    click_key: list[pa.StringArray],
    url: pa.StringArray,
    columns: dict[str, pa.Array],
    roles: Mapping[str, str | None],
    without_domain: bool,
) -> Adapted:
    """Return pages, whose documents begin at field ``first``, with their clicks as flags."""
    counts = lines.lengths[pages] - first
    index = np.repeat(lines.starts[pages] + first, counts) + _ramp(counts)
    documents = lines.fields.take(pa.array(index))
    if without_domain:  # "url,domain"
        documents = pc.replace_substring_regex(documents, r",.*$", "")
    page = np.repeat(np.arange(len(pages)), counts)
    both = [
        pa.concat_arrays([shown.take(pa.array(page)), clicked])
        for shown, clicked in zip(page_key, click_key, strict=True)
    ]
    codes = _codes(*both, pa.concat_arrays([documents, url]))
    target = _latest_before(
        codes[: len(documents)], pages[page], codes[len(documents) :], clicks
    )
    flags: Booleans = np.zeros(len(documents), dtype=bool)
    flags[target[target >= 0]] = True
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    table = pa.table(
        columns
        | {
            "documents": pa.ListArray.from_arrays(offsets, documents),
            "clicks": pa.ListArray.from_arrays(offsets, pa.array(flags)),
        }
    )
    dropped = {_CLICKED_LATER: int((target < 0).sum())}
    return Adapted(
        _in_table(lines.path, table), {"document": "documents", "click": "clicks", **roles}, dropped
    )


def _ramp(counts: Integers) -> Integers:
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _kinds(lines: _Lines, known: tuple[str, ...], place: int) -> np.ndarray[Any, Any]:
    every = np.arange(len(lines.lengths))
    lines.require(every, place + 1, "a record")
    kinds = lines.column(every, place).to_numpy(zero_copy_only=False)
    wrong = ~np.isin(kinds.astype(str), known)
    if wrong.any():
        line = int(np.flatnonzero(wrong)[0])
        raise BadLog(f"{lines.path}, line {line + 1}: a record of kind {kinds[line]!r}")
    return kinds


def _yandex_2011(source: Source) -> Adapted:
    """Lines ``session time Q query region url…`` and ``session time C url``, split by tabs.

    A click belongs to the latest page of its session that shows the document.
    """
    lines = _read_lines(source)
    kinds = _kinds(lines, ("Q", "C"), 2)
    pages, clicks = np.flatnonzero(kinds == "Q"), np.flatnonzero(kinds == "C")
    lines.require(pages, 6, "a page")
    lines.require(clicks, 4, "a click")
    session = lines.column(pages, 0)
    columns = {
        "session": session,
        "time": _integers(lines, pages, 1),
        "query": lines.column(pages, 3),
        "region": lines.column(pages, 4),
    }
    roles = {"query": "query", "session": "session", "time": "time"}
    return _pages_and_clicks(
        lines, pages, 5, [session], clicks, [lines.column(clicks, 0)], lines.column(clicks, 3),
        columns, roles, without_domain=False,
    )  # fmt: skip


def _yandex_2013(source: Source) -> Adapted:
    """Lines ``session M day user``, ``session time Q|T serp query terms url,domain…`` and clicks.

    A click, ``session time C serp url``, belongs to the page of its session with that number.
    """
    lines = _read_lines(source)
    every = np.arange(len(lines.lengths))
    lines.require(every, 4, "a record")
    second = lines.column(every, 1).to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(second == "M")
    rest = np.flatnonzero(second != "M")
    kinds = lines.column(rest, 2).to_numpy(zero_copy_only=False)
    wrong = ~np.isin(kinds.astype(str), ("Q", "T", "C"))
    if wrong.any():
        line = int(rest[np.flatnonzero(wrong)[0]])
        raise BadLog(f"{lines.path}, line {line + 1}: a record of an unknown kind")
    pages, clicks = rest[kinds != "C"], rest[kinds == "C"]
    lines.require(pages, 7, "a page")
    lines.require(clicks, 5, "a click")
    session = lines.column(pages, 0)
    columns = {
        "session": session,
        "time": _integers(lines, pages, 1),
        "query": lines.column(pages, 4),
    }
    roles: dict[str, str | None] = {"query": "query", "session": "session", "time": "time"}
    if len(starts):
        place = np.searchsorted(starts, pages) - 1
        if (place < 0).any():
            raise BadLog(f"{lines.path}, line {int(pages[0]) + 1}: a page before its session")
        owner = starts[place]
        columns["user"] = lines.column(owner, 3)
        columns["day"] = _integers(lines, owner, 2)
        roles["user"] = "user"
    return _pages_and_clicks(
        lines, pages, 6, [session, lines.column(pages, 3)], clicks,
        [lines.column(clicks, 0), lines.column(clicks, 3)], lines.column(clicks, 4),
        columns, roles, without_domain=True,
    )  # fmt: skip


def _integers(lines: _Lines, chosen: Integers, place: int) -> pa.Array:
    texts = lines.column(chosen, place)
    try:
        return texts.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise BadLog(f"{lines.path}: field {place + 1} is not a whole number ({error})") from error


def _pyclick(source: Source) -> Adapted:
    """Lines of pages ``query<TAB>d1,…,dK : c1 , c2`` that are split by ``;``."""
    lines = _read_lines(source, ";")
    texts = pc.utf8_trim_whitespace(lines.fields)
    filled = pc.not_equal(texts, "").to_numpy(zero_copy_only=False)
    line = np.repeat(np.arange(len(lines.lengths)), lines.lengths)[filled]
    form = r"^(?P<query>[^\t]*)\t(?P<documents>[^:]*):(?P<clicks>[^:]*)$"
    parts = pc.extract_regex(texts.filter(pa.array(filled)), form)
    if parts.null_count:
        wrong = np.flatnonzero(parts.is_null().to_numpy(zero_copy_only=False))[0]
        number = int(line[wrong]) + 1
        raise BadLog(f"{lines.path}, line {number}: a page is not query<TAB>documents : clicks")
    lists = {
        name: _lists_by(",", pc.struct_field(parts, name)) for name in ("documents", "clicks")
    }
    queries = pc.utf8_trim_whitespace(pc.struct_field(parts, "query"))
    table = pa.table({"query": queries} | lists)
    roles: dict[str, str | None] = {"query": "query", "document": "documents", "click": "clicks"}
    return Adapted(_in_table(lines.path, table), roles, {})


def _sessions(source: Source) -> Adapted:
    """Lines of session, query, [documents], [types], [clicks] and perhaps [grades], by tabs."""
    lines = _read_lines(source)
    every = np.arange(len(lines.lengths))
    lines.require(every, 5, "session, query, documents, types and clicks")
    columns = {
        "session": lines.column(every, 0),
        "query": pc.utf8_trim_whitespace(lines.column(every, 1)),
        "documents": _lists_by(",", pc.utf8_trim(lines.column(every, 2), "[] ")),
        "clicks": _lists_by(",", pc.utf8_trim(lines.column(every, 4), "[] ")),
    }
    roles: dict[str, str | None] = {
        "query": "query", "document": "documents", "click": "clicks", "session": "session",
    }  # fmt: skip
    if (lines.lengths == 6).all():
        grades = _lists_by(",", pc.utf8_trim(lines.column(every, 5), "[] "))
        known = pc.replace_substring_regex(grades.flatten(), r"^-2$", "0")  # spam, as in LETOR
        columns["grades"] = pa.ListArray.from_arrays(grades.offsets, known.cast(pa.int64()))
        roles["grade"] = "grades"
    return Adapted(_in_table(lines.path, pa.table(columns)), roles, {})


def _lists_by(separator: str, texts: pa.StringArray) -> pa.ListArray:
    """Return texts split at a separator, without white space; an empty text is an empty list."""
    split = pc.split_pattern(texts, separator)
    counts = np.diff(split.offsets.to_numpy())
    values = pc.utf8_trim_whitespace(split.flatten())
    kept = pc.not_equal(values, "").to_numpy(zero_copy_only=False)
    page = np.repeat(np.arange(len(counts)), counts)[kept]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(page, minlength=len(counts)))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values.filter(pa.array(kept)))


# Tables with columns of their own


def _clax(source: Source) -> Adapted:
    """One row per page: ``query_doc_ids[]``, ``clicks[]``, perhaps ``query_id``, ``doc_ids[]``.

    Without a query, those are found whose documents stand on a page together: a ``query_doc_id``
    belongs to one query only, so connected pages are of one query.
    """
    opened = open_source(source)
    document = "doc_ids" if "doc_ids" in opened.names else "query_doc_ids"
    _require(opened, (document, "clicks"))
    rank = "positions" if "positions" in opened.names else ""
    roles: dict[str, str | None] = {"document": document, "click": "clicks", "rank": rank}
    if "query_id" in opened.names:
        return Adapted(opened, roles | {"query": "query_id"}, {})
    table = opened.read(["query_doc_ids", "clicks", *([rank] if rank else [])], [])
    lists = table["query_doc_ids"].combine_chunks()
    counts = np.diff(lists.offsets.to_numpy())
    page = np.repeat(np.arange(len(counts)), counts)
    documents = lists.flatten().dictionary_encode()
    size = len(counts) + len(documents.dictionary)
    column = documents.indices.to_numpy() + len(counts)
    graph = coo_array((np.ones(len(page), dtype=bool), (page, column)), shape=(size, size))
    _, component = connected_components(graph, directed=False)
    table = table.append_column("query", pa.array(component[: len(counts)]))
    roles = roles | {"query": "query", "document": "query_doc_ids"}
    return Adapted(_in_table(opened.where, table), roles, {})


def _baidu_ultr(source: Source) -> Adapted:
    """One row per document: ``query_id``, ``position``, ``click``, and the document's hash.

    The query is ``query_md5`` where there is one: the query ids of this data collide.
    """
    opened = open_source(source)
    query = "query_md5" if "query_md5" in opened.names else "query_id"
    names = ("text_md5", "url_md5", "document_id", "doc_id")
    document = next((name for name in names if name in opened.names), names[0])
    _require(opened, (query, document, "position", "click"))
    roles: dict[str, str | None] = {
        "query": query, "document": document, "rank": "position", "click": "click",
        "page": "", "session": "", "user": "", "time": "",
    }  # fmt: skip
    return Adapted(opened, roles, {})


def _open_bandit(source: Source) -> Adapted:
    """One row per shown item: ``timestamp, item_id, position, click, propensity_score``.

    Slates cannot be put together again, so a row is a page of one slot whose query is its
    position.
    """
    opened = open_source(source)
    _require(opened, ("item_id", "position", "click", "propensity_score"))
    wanted = [
        name
        for name in ("timestamp", "item_id", "position", "click", "propensity_score")
        if name in opened.names
    ]
    table = opened.read(wanted, ("item_id", "position"))
    table = table.append_column("row", pa.array(np.arange(table.num_rows)))
    roles: dict[str, str | None] = {
        "query": "position", "document": "item_id", "click": "click", "page": "row", "rank": "",
        "propensity": "propensity_score", "user": "", "session": "",
    }  # fmt: skip
    return Adapted(_in_table(opened.where, table), roles, {})


def _require(opened: TableSource, names: tuple[str, ...]) -> None:
    missing = [name for name in names if name not in opened.names]
    if missing:
        raise BadLog(
            f"{opened.where}: no column {', '.join(map(repr, missing))}, which this format has"
        )


FORMATS: dict[str, Callable[[Source], Adapted]] = {
    "pyclick": _pyclick,
    "sessions": _sessions,
    "yandex-2011": _yandex_2011,
    "yandex-2013": _yandex_2013,
    "clax": _clax,
    "baidu-ultr": _baidu_ultr,
    "open-bandit": _open_bandit,
}
