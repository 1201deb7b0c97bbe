"""Rows of a table as the slots of pages: one long array of slots, whatever form the rows have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....common.typing import Booleans, Floats, Integers
from .columns import Columns
from .report import LogReport
from .sources import BadLog, TableSource
from .values import (
    Ids,
    as_lists,
    click_flags,
    encode_ids,
    is_list_text,
    number,
    split_text,
    whole_number,
)


@dataclass
class Slots:
    """Slots of all pages, page by page in order of the pages' first rows, each in rank order.

    Attributes
    ----------
    lengths : (n,)
        Number of documents of each page.
    row : (n,)
        The table's row that each page begins with, for what a page has one of.
    query : Ids
        Of each page, (n,).
    document : Ids
        Of each slot, (S,).
    clicked : (S,) bool
    grade : (S,) or None
    propensity : (S,) or None
        Of each slot.
    features : (S, F) or None
    """

    lengths: Integers
    row: Integers
    query: Ids
    document: Ids
    clicked: Booleans
    grade: Integers | None = None
    propensity: Floats | None = None
    features: Floats | None = None

    @property
    def page(self) -> Integers:
        """The page of each slot, (S,)."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def keep_pages(self, kept: Booleans) -> Slots:
        """Return the chosen pages."""
        slots = np.repeat(kept, self.lengths)
        return Slots(
            self.lengths[kept],
            self.row[kept],
            Ids(self.query.codes[kept], self.query.names),
            Ids(self.document.codes[slots], self.document.names),
            self.clicked[slots],
            **self._choose(slots),
        )

    def _choose(self, slots: Booleans) -> dict[str, Any]:
        """Return the chosen slots of the optional columns."""
        columns = {name: getattr(self, name) for name in ("grade", "propensity", "features")}
        return {name: None if a is None else a[slots] for name, a in columns.items()}

    def cut(self, slots: int) -> Slots:
        """Return the pages with at most so many slots."""
        place = np.arange(len(self.clicked)) - np.repeat(
            np.cumsum(self.lengths) - self.lengths, self.lengths
        )
        kept = place < slots
        return Slots(
            np.minimum(self.lengths, slots),
            self.row,
            self.query,
            Ids(self.document.codes[kept], self.document.names),
            self.clicked[kept],
            **self._choose(kept),
        )


def read_slots(
    table: pa.Table,
    columns: Columns,
    features: list[str],
    source: TableSource,
    report: LogReport,
) -> Slots:
    """Return the slots of a table with one row per document, or one row per page."""
    documents = table[columns.by_role["document"]]
    nested = pa.types.is_nested(documents.type)
    if nested or is_list_text(documents):
        return _from_lists(table, columns, features, source, report)
    return _from_rows(table, columns, features, source, report)


def _from_rows(
    table: pa.Table, columns: Columns, features: list[str], source: TableSource, report: LogReport
) -> Slots:
    """One row per shown document."""
    query = encode_ids(table[columns.by_role["query"]], "query", source)
    document = encode_ids(table[columns.by_role["document"]], "document", source)
    name = columns.get("rank")
    rank = None if name is None else whole_number(table[name], "rank", source)
    page = _pages_of_rows(table, columns, query, rank, source, report)
    n_pages = int(page.max()) + 1
    order = _order(page, rank)
    row = _first_rows(page, n_pages)
    flags, ids = _clicks_of_rows(table, columns, source, page)
    slots = _assemble(page, order, n_pages, row, query.codes[row], query.names, document)
    _check_ranks(page, rank, order, slots.lengths, report)
    slots.clicked = (
        flags[order] if flags is not None else _match(slots, ids[0], ids[1], report)
    )
    name = columns.get("grade")
    if name is not None:
        slots.grade = _grades(table[name], source)[order]
    name = columns.get("propensity")
    if name is not None:
        slots.propensity = number(table[name], "propensity", source)[order]
    if features:
        slots.features = _feature_rows(table, features, source)[order]
    return slots


def _assemble(
    page: Integers,
    order: Integers | slice,
    n_pages: int,
    row: Integers,
    query: Integers,
    names: pa.StringArray,
    document: Ids,
) -> Slots:
    lengths = np.bincount(page, minlength=n_pages)
    codes = document.codes[order]
    return Slots(
        lengths, row, Ids(query, names), Ids(codes, document.names), np.zeros(len(codes), bool)
    )


def _pages_of_rows(
    table: pa.Table,
    columns: Columns,
    query: Ids,
    rank: Integers | None,
    source: TableSource,
    report: LogReport,
) -> Integers:
    """Return the page of each row, numbered by first appearance, (n,)."""
    name = columns.get("page")
    if name is not None:
        page = encode_ids(table[name], "page", source)
        joined = page.codes * np.int64(len(query.names)) + query.codes
        pages = _number(joined)
        report.count("mixed_pages", int(pages.max()) + 1 - len(np.unique(page.codes)))
        return pages
    if rank is None:
        raise BadLog(
            f"{source.where}: neither a page id nor ranks, so nothing says where a page ends; "
            "give page=… or rank=…"
        )
    begins = np.ones(len(rank), dtype=bool)
    begins[1:] = (np.diff(query.codes) != 0) | (np.diff(rank) <= 0)
    for role in ("session", "user"):
        name = columns.get(role)
        if name is not None and name != columns.by_role["query"]:
            begins[1:] |= np.diff(encode_ids(table[name], role, source).codes) != 0
    return np.cumsum(begins) - 1


def _number(values: Integers) -> Integers:
    """Return dense numbers of values by first appearance, (n,)."""
    encoded = pa.array(values).dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _first_rows(page: Integers, n_pages: int) -> Integers:
    row = np.empty(n_pages, dtype=np.int64)
    row[page[::-1]] = np.arange(len(page))[::-1]  # the first row of a page is written last
    return row


def _order(page: Integers, rank: Integers | None) -> Integers | slice:
    """Return the order of rows by page and rank; equal ones stay as they are."""
    steps = np.diff(page)
    if (steps >= 0).all() and (rank is None or ((np.diff(rank) > 0) | (steps > 0)).all()):
        return slice(None)
    return np.argsort(page, kind="stable") if rank is None else np.lexsort((rank, page))


def _check_ranks(
    page: Integers,
    rank: Integers | None,
    order: Integers | slice,
    lengths: Integers,
    report: LogReport,
) -> None:
    if rank is None:
        return
    sorted_page, sorted_rank = page[order], rank[order]
    same = sorted_page[1:] == sorted_page[:-1]
    steps = np.diff(sorted_rank)
    starts = np.cumsum(lengths) - lengths
    base = min(int(sorted_rank.min()), 1)
    gaps = np.unique(
        np.concatenate(
            [sorted_page[1:][same & (steps > 1)], sorted_page[starts][sorted_rank[starts] > base]]
        )
    )
    report.count("rank_gaps", len(gaps))
    report.count("rank_ties", len(np.unique(sorted_page[1:][same & (steps == 0)])))


def _clicks_of_rows(
    table: pa.Table, columns: Columns, source: TableSource, page: Integers
) -> tuple[Booleans | None, tuple[Integers, pa.StringArray]]:
    """Return flags per row, or pairs of page and clicked id."""
    column = table[columns.by_role["click"]]
    nothing = (np.zeros(0, np.int64), pa.array([], pa.string()))
    if not pa.types.is_nested(column.type) and not is_list_text(column):
        flags = click_flags(column, "click", source)
        if flags is not None:
            return flags, nothing
    lists = as_lists(column)
    if lists is None:
        raise BadLog(f"{source.where}: clicks must be flags, counts or ids, not {column.type}")
    lengths = np.diff(lists.offsets.to_numpy())
    pages, ids = np.repeat(page, lengths), lists.flatten().cast(pa.string())
    codes = ids.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    # Every row of a page repeats the page's clicks.
    _, first = np.unique(pages * np.int64(len(ids) + 1) + codes, return_index=True)
    return None, (pages[first], ids.take(pa.array(first)))


def _match(slots: Slots, page: Integers, ids: pa.StringArray, report: LogReport) -> Booleans:
    """Return which slots are clicked, (S,), from pairs of page and id; others are counted."""
    document = pc.index_in(ids, slots.document.names)
    known = document.is_valid().to_numpy(zero_copy_only=False)
    size = np.int64(len(slots.document.names))
    pairs = page[known] * size + document.drop_null().to_numpy()
    shown = slots.page * size + slots.document.codes
    order = np.argsort(shown, kind="stable")
    place = np.searchsorted(shown[order], pairs)
    found = place < len(shown)
    found[found] = shown[order][place[found]] == pairs[found]
    clicked = np.zeros(len(shown), dtype=bool)
    clicked[order[place[found]]] = True  # the higher slot of a document that is there twice
    report.count("clicks_not_shown", int((~found).sum() + (~known).sum()))
    return clicked


def _grades(column: pa.ChunkedArray, source: TableSource) -> Integers:
    """Return grades, -1 where there is none."""
    return whole_number(pc.fill_null(column, -1), "grade", source)


def _feature_rows(table: pa.Table, features: list[str], source: TableSource) -> Floats:
    if len(features) == 1 and pa.types.is_nested(table[features[0]].type):
        return _feature_lists(table[features[0]], source)
    return np.column_stack([number(table[name], name, source) for name in features])


def _feature_lists(column: pa.ChunkedArray, source: TableSource) -> Floats:
    lists = as_lists(column)
    assert lists is not None
    lengths = np.diff(lists.offsets.to_numpy())
    if len(lengths) and (lengths != lengths[0]).any():
        row = int(np.flatnonzero(lengths != lengths[0])[0])
        raise BadLog(
            f"{source.describe_row(row)}: {lengths[row]} features, the first row has {lengths[0]}"
        )
    flat = number(pa.chunked_array([lists.flatten()]), "features", source)
    return flat.reshape(len(lengths), -1)


def _from_lists(
    table: pa.Table, columns: Columns, features: list[str], source: TableSource, report: LogReport
) -> Slots:
    """One row per page: lists of documents, of clicks and perhaps of more."""
    documents = _lists_of(table, columns.by_role["document"], "document", source)
    lengths = np.diff(documents.offsets.to_numpy())
    page = np.repeat(np.arange(len(lengths)), lengths)
    document = encode_ids(
        pa.chunked_array([documents.flatten()]), "document", _ListSource(source, page)
    )
    query = encode_ids(table[columns.by_role["query"]], "query", source)
    name = columns.get("rank")
    rank = None
    if name is not None:
        rank = whole_number(
            pa.chunked_array([_same_lengths(table, name, "rank", lengths, source)]), "rank", source
        )
    order = _order(page, rank)
    row = np.arange(len(lengths))
    slots = _assemble(page, order, len(lengths), row, query.codes, query.names, document)
    if rank is not None and len(page):
        _check_ranks(page, rank, order, lengths[lengths > 0], report)
    slots.clicked = _clicks_of_lists(table, columns, slots, lengths, order, source, report)
    for role in ("grade", "propensity"):
        name = columns.get(role)
        if name is None:
            continue
        if pa.types.is_nested(table[name].type) or is_list_text(table[name]):
            flat = pa.chunked_array([_same_lengths(table, name, role, lengths, source)])
            read = _grades(flat, source) if role == "grade" else number(flat, role, source)
            setattr(slots, role, read[order])
        elif role == "grade":
            raise BadLog(f"{source.where}: the grade must be a list, one per document of a page")
    if features:
        if len(features) != 1:
            raise BadLog(f"{source.where}: features of list rows are one column of lists")
        nested = _same_lengths(table, features[0], "features", lengths, source)
        slots.features = _feature_lists(pa.chunked_array([nested]), source)[order]
    empty = lengths == 0
    report.count("empty_pages", int(empty.sum()))
    return slots.keep_pages(~empty) if empty.any() else slots


class _ListSource(TableSource):
    """Names the row of the list that an element is in."""

    def __init__(self, source: TableSource, page: Integers) -> None:
        self.__dict__.update(source.__dict__)
        self.__dict__["_page"] = page

    def describe_row(self, row: int) -> str:
        """Return where the element's list stands."""
        return super().describe_row(int(self.__dict__["_page"][row]))


def _lists_of(table: pa.Table, name: str, what: str, source: TableSource) -> pa.ListArray:
    lists = as_lists(table[name])
    if lists is None:
        raise BadLog(f"{source.where}: the {what} must be lists, as the documents are")
    return lists


def _same_lengths(
    table: pa.Table, name: str, what: str, lengths: Integers, source: TableSource
) -> pa.Array:
    """Return the flat values of a column of lists that are as long as the documents'."""
    lists = _lists_of(table, name, what, source)
    differ = np.diff(lists.offsets.to_numpy()) != lengths
    if differ.any():
        row = int(np.flatnonzero(differ)[0])
        raise BadLog(
            f"{source.describe_row(row)}: {lengths[row]} documents, but "
            f"{len(lists[row])} values of {what}"
        )
    return lists.flatten()


def _clicks_of_lists(
    table: pa.Table,
    columns: Columns,
    slots: Slots,
    lengths: Integers,
    order: Integers | slice,
    source: TableSource,
    report: LogReport,
) -> Booleans:
    """Return which slots are clicked: lists of flags as long as the documents', or of ids."""
    column = table[columns.by_role["click"]]
    if not pa.types.is_nested(column.type) and not is_list_text(column):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise BadLog(f"{source.where}: the clicks of list rows must be lists, not {kind}")
        lists = split_text(column.cast(pa.string()))
    else:
        lists = _lists_of(table, columns.by_role["click"], "click", source)
    click_lengths = np.diff(lists.offsets.to_numpy())
    flat = lists.flatten()
    if (click_lengths == lengths).all():
        flags = click_flags(pa.chunked_array([flat]), "click", source)
        if flags is not None:
            return flags[order]
    pages = np.repeat(np.arange(len(click_lengths)), click_lengths)
    return _match(slots, pages, flat.cast(pa.string()), report)
