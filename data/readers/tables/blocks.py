"""The vertical blocks of pages, from two columns of a table: a type and a place."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....common.typing import Floats, Integers
from ...world import VERTICALS
from .report import LogReport
from .slots import first_rows
from .sources import BadLog, TableSource
from .values import EMPTY, as_mask, as_texts, whole_number


def page_blocks(
    types: pa.ChunkedArray | None,
    places: pa.ChunkedArray | None,
    page: Integers,
    n_pages: int,
    source: TableSource,
    report: LogReport,
) -> Integers | None:
    """Return the type of each page's block and how many results stand above it, (n_pages, 2).

    Both columns are of rows, ``page`` (n,) is each row's. The first row of a page that has
    a type counts, and others that have another block are odd. -1 is no type, and no place: a
    type without a place is that of a block which the page does not show.
    """
    if types is None or places is None:
        return None
    found = np.column_stack(
        [_types(types, source, report), _whole(places, "vertical_position", source)]
    )
    known = np.flatnonzero(found[:, 0] >= 0)
    row = first_rows(page, n_pages)
    row[page[known[::-1]]] = known[::-1]  # the first row of a page is written last
    differ = known[(found[known] != found[row[page[known]]]).any(axis=1)]
    report.count("vertical_conflicts", len(np.unique(page[differ])))
    return found[row]


def usual_types(
    query: Integers, types: Integers, weight: Floats | None, n_queries: int, report: LogReport
) -> Integers:
    """Return the type of most pages of each query, (n_queries,); -1 where none has any."""
    n_types = int(types.max(initial=-1)) + 1
    result = np.full(n_queries, -1)
    if n_types == 0:
        return result
    known = types >= 0
    pairs = query[known] * np.int64(n_types) + types[known]
    distinct, group = np.unique(pairs, return_inverse=True)
    counts = np.bincount(group, None if weight is None else weight[known], len(distinct))
    order = np.lexsort((-distinct, counts))  # the last of a query wins: most pages, lowest type
    result[distinct[order] // n_types] = distinct[order] % n_types
    several = int((np.bincount(distinct // n_types) > 1).sum())
    if several:
        report.notes.append(
            f"{several:,} queries have verticals of several types: the log keeps them, the world "
            "has the most frequent one of each query."
        )
    return result


def _types(column: pa.ChunkedArray, source: TableSource, report: LogReport) -> Integers:
    """Return types as numbers, (n,), -1 for blank ones.

    Texts, in any case, are the known types or further ones, which follow in alphabetical order.
    """
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(pc.fill_null(as_texts(column), "")))
    given = pc.if_else(pc.is_in(texts, pa.array(EMPTY)), "", texts)
    if as_mask(pc.match_substring_regex(given, r"^(-?\d+(\.0*)?)?$")).all():
        return _whole(column, "vertical", source)
    found = set(pc.unique(given).to_pylist()) - {"", "-1"}
    names = [*VERTICALS, *sorted(found - set(VERTICALS))]
    numbered = ", ".join(f"{number} = {name}" for number, name in enumerate(names) if name in found)
    report.notes.append(f"Types of verticals: {numbered}")
    numbers = pc.index_in(given, value_set=pa.array(names, pa.string()))
    return pc.fill_null(numbers, -1).to_numpy().astype(np.int64)


def _whole(column: pa.ChunkedArray, what: str, source: TableSource) -> Integers:
    """Return a column of numbers from 0 on, (n,); -1 where there is none."""
    values = whole_number(column, what, source, -1)
    wrong = (values < -1) | (values > np.iinfo(np.int32).max)
    if wrong.any():
        row = int(wrong.argmax())
        raise BadLog(
            f"{source.describe_row(row)}: the {what} is {values[row]}, but must be a number from 0 "
            "on, or -1 for none"
        )
    return values
