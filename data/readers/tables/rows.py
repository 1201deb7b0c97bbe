"""Rows of a table as slots: one row per shown document, or one per page."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....common.typing import Booleans, Floats, Integers
from .blocks import page_blocks
from .clicks import clicks_of_lists, clicks_of_rows
from .columns import Columns
from .lists import (
    as_lists,
    find_separator,
    is_lists,
    list_lengths,
    looks_like_lists,
    split_at,
    split_beside,
)
from .report import LogReport
from .slots import Slots, check_ranks, find_pieces, first_rows, number_values, rank_order
from .sources import BadLog, TableSource, inside_lists, shorten
from .values import (
    Ids,
    as_mask,
    encode_ids,
    is_text,
    number,
    one_dictionary,
    value_type,
    whole_number,
)


@dataclass(frozen=True)
class Rows:
    """A table that is read, and what is known of its columns.

    Attributes
    ----------
    table : pyarrow.Table
    columns : Columns
    features : tuple of str
    source : TableSource
        Where it comes from, for errors.
    report : LogReport
        What is odd is counted there.
    """

    table: pa.Table
    columns: Columns
    features: tuple[str, ...]
    source: TableSource
    report: LogReport

    def column(self, role: str) -> pa.ChunkedArray | None:
        """Return the column of a role; None where the table has none."""
        name = self.columns.get(role)
        return None if name is None else self.table[name]

    def required(self, role: str) -> pa.ChunkedArray:
        """Return the column of a role that every log has."""
        return self.table[self.columns.by_role[role]]


def split_texts(rows: Rows, separator: str | None) -> Rows:
    """Return rows in which texts such as ``x|y|z`` are lists of documents, of clicks, of ranks.

    None looks for a separator, ``""`` leaves texts as they are.
    """
    document, by_role = rows.required("document"), rows.columns.by_role
    if separator == "":
        return rows
    if separator is None:
        separator = find_separator(document, rows.required("click"))
        if separator is None:
            _check_unsplit(rows)
            return rows
        rows.report.notes.append(
            f"The column {by_role['document']!r} holds lists that {separator!r} splits; "
            'list_separator="" takes each text for one document.'
        )
    elif not is_text(value_type(document)) or is_lists(document):
        raise BadLog(
            f"{rows.source.where}: list_separator= splits texts, but the column "
            f"{by_role['document']!r} has {value_type(document)}, or lists in brackets"
        )
    table, documents = rows.table, split_at(document, separator)
    lists = ("document", "click", "rank", "grade", "propensity")
    for name in {*(by_role[role] for role in lists if role in by_role), *rows.features}:
        column = table[name]
        if is_text(value_type(column)) and not is_lists(column):
            are_clicks = name == by_role["click"]
            pieces = documents
            if name != by_role["document"]:
                pieces = split_beside(column, documents, separator, are_clicks)
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.chunked_array([pieces]))
    return replace(rows, table=table)


def _check_unsplit(rows: Rows) -> None:
    """Count documents that look like lists, though the clicks do not fit; or refuse them."""
    document = rows.required("document")
    separator = looks_like_lists(document)
    if separator is None:
        return
    if not {"page", "rank", "session"} & set(rows.columns.by_role):
        shown = next(text for text in document.slice(0, 1000).to_pylist() if text)
        raise BadLog(
            f"{rows.source.where}: the column {rows.columns.by_role['document']!r} seems to hold "
            f"the documents of a page in one text, such as {shorten(shown)!r}, but the clicks "
            f"beside it do not fit: they should be as many flags, as in {f'0{separator}1'!r}, or "
            f"ids of its documents. list_separator={separator!r} splits it anyway"
        )
    often = pc.greater_equal(pc.count_substring(document.cast(pa.string()), separator), 2)
    rows.report.count("unsplit_documents", int(as_mask(often).sum()))


def read_slots(rows: Rows) -> Slots:
    """Return the slots of a table with one row per document, or one row per page."""
    return _from_lists(rows) if is_lists(rows.required("document")) else _from_rows(rows)


def _from_rows(rows: Rows) -> Slots:
    """One row per shown document."""
    source = rows.source
    query = encode_ids(rows.required("query"), "query", source)
    document = encode_ids(rows.required("document"), "document", source)
    column = rows.column("rank")
    rank = None if column is None else whole_number(column, "rank", source)
    page, pieces = _pages_of_rows(rows, query, document, rank)
    n_pages = int(page.max()) + 1
    order = rank_order(page, rank)
    check_ranks(page, document.codes, rank, order, rows.report, source, pieces)
    row = first_rows(page, n_pages)
    slots = _assemble(page, order, n_pages, row, Ids(query.codes[row], query.names), document)
    slots.repeats = _name_repeats(rows)
    _check_weights(rows, page, row)
    slots.blocks = _blocks(rows, page, n_pages)
    slots.clicked = clicks_of_rows(rows.required("click"), page, order, slots, source, rows.report)
    column = rows.column("grade")
    if column is not None:
        slots.grade = whole_number(column, "grade", source, missing=-1)[order]
    column = rows.column("propensity")
    if column is not None:
        slots.propensity = number(column, "propensity", source)[order]
    if rows.features:
        slots.features = _feature_rows(rows)[order]
    if rank is not None:
        slots, merged = slots.merge_rows(rank[order])
        rows.report.count("repeated_rows", merged)
    return slots


def _assemble(
    page: Integers,
    order: Integers | slice,
    n_pages: int,
    row: Integers,
    query: Ids,
    document: Ids,
) -> Slots:
    """Return slots in order, none of them clicked yet."""
    lengths = np.bincount(page, minlength=n_pages)
    codes = document.codes[order]
    return Slots(lengths, row, query, Ids(codes, document.names), np.zeros(len(codes), bool))


def _pages_of_rows(
    rows: Rows, query: Ids, document: Ids, rank: Integers | None
) -> tuple[Integers, Booleans | None]:
    """Return the page of each row, numbered by first appearance, (n,), and which are pieces."""
    column = rows.column("page")
    if column is not None:
        page = encode_ids(column, "page", rows.source)
        joined = number_values(page.codes * np.int64(len(query.names)) + query.codes)
        owner = page.codes[first_rows(joined, int(joined.max()) + 1)]
        _check_mixed(rows, owner)
        pages = _part_people(rows, joined)
        times = np.bincount(joined[first_rows(pages, int(pages.max()) + 1)])
        rows.report.count("shared_pages", len(np.unique(owner[times > 1])))
        return pages, None
    if rank is None and rows.column("session") is None:
        raise BadLog(
            f"{rows.source.where}: neither page ids nor ranks nor sessions, so nothing says where "
            "a page ends; give page=…, rank=… or session=…"
        )
    keys = [query.codes, *(_codes_or_none(rows.required(role)) for role in _people(rows))]
    begins = np.arange(len(query.codes)) == 0
    for codes in keys:
        begins[1:] |= np.diff(codes) != 0
    if rank is not None:
        begins[1:] |= np.diff(rank) <= 0
    pieces = find_pieces(keys, np.flatnonzero(begins), rank, document)
    rows.report.count("page_pieces", int(pieces.sum()))
    return np.cumsum(begins) - 1, pieces


def _part_people(rows: Rows, page: Integers) -> Integers:
    """Return the page of each row, (n,), so that each is of one session and of one user.

    A row without session or user, as an event may be, is of the first that its page has.
    """
    for role in _people(rows):
        codes = _codes_or_none(rows.required(role))
        known = np.flatnonzero(codes >= 0)[::-1]
        first = np.full(int(page.max()) + 1, -1)
        first[page[known]] = codes[known]  # the first row of a page is written last
        codes = np.where(codes < 0, first[page], codes) + 1
        page = number_values(page * (codes.max() + np.int64(1)) + codes)
    return page


def _people(rows: Rows) -> list[str]:
    """Return the roles that say whose page it is, but for one that is the query."""
    by_role = rows.columns.by_role
    return [
        role for role in ("session", "user") if by_role.get(role) not in (None, by_role["query"])
    ]


def _name_repeats(rows: Rows) -> str:
    """Return the oddity that a document twice on a page is, once ranks are checked."""
    if rows.column("page") is not None:
        return "repeated_documents"
    if rows.column("rank") is None:
        return "repeated_queries"
    broken = {"page_pieces", "late_pages"} & set(rows.report.oddities)
    return "mixed_sessions" if broken and not _people(rows) else "repeated_documents"


def _check_mixed(rows: Rows, page_ids: Integers) -> None:
    """Count page ids that several queries have; ``page_ids`` (n,) are those of the pages.

    Where most have several, the column is no page id: a number of the page of results, perhaps.
    """
    times = np.bincount(page_ids)
    mixed = int((times > 1).sum())
    if "page" in rows.columns.guessed and mixed > 0.5 * (times > 0).sum():
        raise BadLog(
            f"{rows.source.where}: most ids of the column {rows.columns.by_role['page']!r} stand "
            'for several queries, so they are no page ids; give page=…, or page="" for none'
        )
    rows.report.count("mixed_pages", mixed)


def _check_weights(rows: Rows, page: Integers, first: Integers) -> None:
    """Count pages whose rows have different weights; ``first`` (n,) is the first row of each."""
    column = rows.column("weight")
    if column is not None:
        values = number(column, "weight", rows.source)
        differ = values != values[first][page]
        rows.report.count("weight_conflicts", len(np.unique(page[differ])))


def _blocks(rows: Rows, page: Integers, n_pages: int) -> Integers | None:
    types, places = rows.column("vertical"), rows.column("vertical_position")
    return page_blocks(types, places, page, n_pages, rows.source, rows.report)


def _codes_or_none(column: pa.ChunkedArray) -> Integers:
    """Return numbers of equal ids, (n,); -1 where there is none, as of a user not logged in."""
    encoded = one_dictionary(column.cast(value_type(column)))
    codes: Integers = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    if is_text(encoded.dictionary.type):
        blank = as_mask(pc.equal(pc.utf8_trim_whitespace(encoded.dictionary), ""))
        codes = np.append(np.where(blank, -1, np.arange(len(blank))), -1)[codes]
    return codes.astype(np.int64)


def _feature_rows(rows: Rows) -> Floats:
    if len(rows.features) == 1 and is_lists(rows.table[rows.features[0]]):
        lists = as_lists(rows.table[rows.features[0]], "features", rows.source)
        return _feature_lists(lists, rows.source)
    columns = [number(rows.table[name], name, rows.source) for name in rows.features]
    return np.column_stack(columns)


def _feature_lists(lists: pa.ListArray, source: TableSource) -> Floats:
    """Return lists of numbers, all of one length, as (n, F)."""
    lengths = list_lengths(lists)
    wrong = lengths != lengths[:1]
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadLog(
            f"{source.describe_row(row)}: {lengths[row]} features, the first row has {lengths[0]}"
        )
    if not len(lengths) or not lengths[0]:
        raise BadLog(f"{source.where}: the lists of features are empty")
    flat = pa.chunked_array([lists.flatten()])
    inside = inside_lists(source, np.repeat(np.arange(len(lengths)), lengths))
    return number(flat, "feature", inside).reshape(len(lengths), -1)


def _from_lists(rows: Rows) -> Slots:
    """One row per page: lists of documents, of clicks and perhaps of more."""
    source = rows.source
    documents = as_lists(rows.required("document"), "documents", source)
    lengths = list_lengths(documents)
    if not lengths.any():
        raise BadLog(f"{source.where}: no page shows a document")
    page = np.repeat(np.arange(len(lengths)), lengths)
    inside = inside_lists(source, page)
    document = encode_ids(pa.chunked_array([documents.flatten()]), "document", inside)
    query = encode_ids(rows.required("query"), "query", source)
    flat = _flat_column(rows, "rank", lengths)
    rank = None if flat is None else whole_number(flat, "rank", inside)
    order = rank_order(page, rank)
    check_ranks(page, document.codes, rank, order, rows.report, inside)
    every = np.arange(len(lengths))
    slots = _assemble(page, order, len(lengths), every, query, document)
    slots.blocks = _blocks(rows, every, len(lengths))
    slots.clicked = clicks_of_lists(
        rows.required("click"), lengths, order, slots, source, rows.report
    )
    flat = _flat_column(rows, "grade", lengths)
    if flat is not None:
        slots.grade = whole_number(flat, "grade", inside, missing=-1)[order]
    column = rows.column("propensity")
    if column is not None and is_lists(column):
        flat = _flat_column(rows, "propensity", lengths)
        slots.propensity = number(flat, "propensity", inside)[order]
    if rows.features:
        slots.features = _features_of_lists(rows, lengths, inside)[order]
    empty = lengths == 0
    rows.report.count("empty_pages", int(empty.sum()))
    return slots.keep_pages(~empty) if empty.any() else slots


def _features_of_lists(rows: Rows, lengths: Integers, inside: TableSource) -> Floats:
    """One column of lists of vectors, or several of lists of numbers."""
    columns = []
    for name in rows.features:
        flat = _same_lengths(rows.table[name], name, lengths, rows.source)
        if len(rows.features) == 1 and is_lists(flat):
            return _feature_lists(as_lists(flat, name, inside), inside)
        columns.append(number(flat, name, inside))
    return np.column_stack(columns)


def _flat_column(rows: Rows, role: str, lengths: Integers) -> pa.ChunkedArray | None:
    """Return the values of a role's lists one after the other; None without such a column."""
    column = rows.column(role)
    return None if column is None else _same_lengths(column, role, lengths, rows.source)


def _same_lengths(
    column: pa.ChunkedArray, what: str, lengths: Integers, source: TableSource
) -> pa.ChunkedArray:
    """Return the flat values of a column of lists that are as long as the documents'."""
    lists = as_lists(column, what, source)
    found = list_lengths(lists)
    differ = np.flatnonzero(found != lengths)
    if len(differ):
        row = int(differ[0])
        raise BadLog(
            f"{source.describe_row(row)}: {lengths[row]} documents, but {found[row]} values of "
            f"{what}"
        )
    return pa.chunked_array([lists.flatten()])
