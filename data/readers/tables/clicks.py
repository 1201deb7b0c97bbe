"""Which slots are clicked: flags, counts, or ids of clicked documents."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....common.typing import Booleans, Floats, Integers
from .lists import as_lists, is_lists, list_lengths, make_lists, split_ids
from .report import LogReport
from .slots import Slots
from .sources import BadLog, BadValue, TableSource
from .values import (
    Ids,
    as_mask,
    as_texts,
    click_counts,
    encode_ids,
    find_odd_click,
    is_text,
    value_type,
)


def clicks_of_rows(
    column: pa.ChunkedArray,
    page: Integers,
    order: Integers | slice,
    slots: Slots,
    source: TableSource,
    report: LogReport,
) -> Booleans:
    """Return the clicked slots, (S,), of rows with one document each.

    Ids of clicked documents are those of the page, and may stand in all of its rows.
    """
    if not is_lists(column):
        counts = click_counts(column, "click", source)
        if counts is not None and not _are_page_ids(counts[order], slots):
            return _flags(counts[order], report)
        lists = split_ids(as_texts(column), slots.document.names, source)
        if is_text(value_type(column)):
            _refuse_odd(column, lists, slots, source)
    else:
        lists = as_lists(column, "click", source)
    ids = encode_ids(pa.chunked_array([lists.flatten()]), "click", source)
    pages = np.repeat(page, list_lengths(lists))
    pairs = np.unique(pages * np.int64(len(ids.names) + 1) + ids.codes)
    pages, codes = np.divmod(pairs, len(ids.names) + 1)
    return match_clicks(slots, pages, Ids(codes, ids.names), report)


def _refuse_odd(
    column: pa.ChunkedArray, lists: pa.ListArray, slots: Slots, source: TableSource
) -> None:
    """Raise where a text stands among flags and counts and no text names a document."""
    row = find_odd_click(column, slots.document.names)
    if row is None or pc.any(pc.is_in(lists.flatten(), slots.document.names)).as_py():
        return
    raise BadValue(
        f"{source.describe_row(row)}: the clicks, such as {column[row].as_py()!r} here, are "
        "neither flags nor counts nor ids of documents on their page"
    )


def _are_page_ids(counts: Floats, slots: Slots) -> bool:
    """Whether numbers must be ids: above 1, and the same in all rows of every page."""
    known = np.nan_to_num(counts)
    if not (known > 1).any() or (slots.lengths == 1).all():
        return False
    same = known == np.repeat(known[slots.starts], slots.lengths)
    return bool(same.all()) and bool((known == np.rint(known)).all())


def _flags(counts: Floats, report: LogReport) -> Booleans:
    report.count("missing_clicks", int(np.isnan(counts).sum()))
    many = (counts >= 10) & (counts == np.rint(counts))  # others are times that people stayed
    report.count("summed_clicks", int(many.sum()))
    report.count("multiple_clicks", int(((counts > 1) & (counts == np.rint(counts)) & ~many).sum()))
    flags: Booleans = counts > 0
    return flags


def clicks_of_lists(
    column: pa.ChunkedArray,
    lengths: Integers,
    order: Integers | slice,
    slots: Slots,
    source: TableSource,
    report: LogReport,
) -> Booleans:
    """Return the clicked slots, (S,), of rows with one page each.

    Lists of flags or counts are as long as those of the documents, or missing for a page without
    a click; others are lists of ids.
    """
    if is_lists(column):
        lists = as_lists(column, "click", source)
    elif is_text(value_type(column)):
        lists = split_ids(column, slots.document.names, source)
    elif (lengths <= 1).all():
        present = np.flatnonzero(lengths)
        lists = make_lists(column.take(pa.array(present)).combine_chunks(), present, len(lengths))
    elif _has_ids(column):
        lists = split_ids(as_texts(column), slots.document.names, source)
    else:
        raise BadLog(
            f"{source.where}: the clicks of list rows must be lists, or ids of the clicked "
            f"documents, not one {column.type} for the whole page"
        )
    found = list_lengths(lists)
    missing = _are_blank(column) & (found == 0) & (lengths > 0)
    flat = pa.chunked_array([lists.flatten()])
    if not len(flat):
        return np.zeros(len(slots.clicked), dtype=bool)
    counts = click_counts(flat, "click", source)
    if counts is not None:
        are_flags = bool((np.isin(counts, (0, 1)) | np.isnan(counts)).all())
        differ = np.flatnonzero((found != lengths) & ~missing)
        if not len(differ) and (are_flags or not missing.any()):
            every = np.full(len(slots.clicked), np.nan)
            every[~np.repeat(missing, lengths)] = counts
            return _flags(every[order], report)
        if are_flags and len(differ) and 2 * len(differ) <= len(lengths):
            row = int(differ[0])
            raise BadLog(
                f"{source.describe_row(row)}: {lengths[row]} documents, but {found[row]} clicks"
            )
    pages = np.repeat(np.arange(len(found)), found)
    return match_clicks(slots, pages, encode_ids(flat, "click", source), report)


def _are_blank(column: pa.ChunkedArray) -> Booleans:
    """Return which rows have no list, (n,): none at all, or an empty text."""
    blank = as_mask(column.is_null())
    if is_text(value_type(column)):
        blank |= as_mask(pc.equal(pc.utf8_trim_whitespace(as_texts(column)), ""))
    return blank


def _has_ids(column: pa.ChunkedArray) -> bool:
    """Whether a column of numbers has any that is no flag."""
    kind = value_type(column)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return False
    return bool(pc.any(pc.greater(column.cast(pa.float64()), 1.0)).as_py())


def match_clicks(slots: Slots, page: Integers, clicked: Ids, report: LogReport) -> Booleans:
    """Return which slots are clicked, (S,), from pairs of page and id; others are counted."""
    found = pc.index_in(clicked.names, slots.document.names)
    document = pc.fill_null(found, -1).to_numpy(zero_copy_only=False)[clicked.codes]
    known = as_mask(found.is_valid())[clicked.codes]
    size = np.int64(len(slots.document.names))
    pairs = page[known] * size + document[known]
    shown = slots.page * size + slots.document.codes
    order = np.argsort(shown, kind="stable")
    place = np.searchsorted(shown[order], pairs)
    there = place < len(shown)
    there[there] = shown[order][place[there]] == pairs[there]
    flags = np.zeros(len(shown), dtype=bool)
    flags[order[place[there]]] = True  # the higher slot of a document that is there twice
    if len(page) and not flags.any():
        examples = ", ".join(map(repr, clicked.used()[:3].to_pylist()))
        raise BadLog(
            f"{report.where}: the clicks, such as {examples}, are neither flags nor counts nor "
            "ids of documents on their page; if they are ranks or the like, make flags of them"
        )
    report.count("clicks_not_shown", int((~there).sum() + (~known).sum()))
    return flags
