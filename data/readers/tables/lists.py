"""Columns of lists, as such or written as text."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from ....common.typing import Integers
from .sources import BadLog, TableSource, shorten
from .values import as_mask, is_text, value_type

# How people split several ids in one text that has no brackets; the whole text comes first.
SEPARATORS = ("", "|", ";", ",", " ")


def is_lists(column: pa.ChunkedArray) -> bool:
    """Whether a column holds lists: as such, or every text is a list in brackets."""
    kind = value_type(column)
    if pa.types.is_list(kind):
        return True
    if not is_text(kind) or not len(column) or not _in_brackets(column.slice(0, 1)):
        return False
    return _in_brackets(column)


def _in_brackets(column: pa.ChunkedArray) -> bool:
    texts = pc.utf8_trim_whitespace(column.cast(pa.string()))
    brackets = pc.and_(pc.starts_with(texts, "["), pc.ends_with(texts, "]"))
    return bool(pc.all(brackets, skip_nulls=False).as_py())


def as_lists(column: pa.ChunkedArray, what: str, source: TableSource) -> pa.ListArray:
    """Return a column for which ``is_lists`` as one array of lists; a missing one is empty."""
    if not is_lists(column):
        raise BadLog(f"{source.where}: the {what} must be lists, as the documents are")
    if is_text(value_type(column)):
        return _parse_brackets(column.cast(pa.string()), what, source)
    joined = column.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


def list_lengths(lists: pa.ListArray) -> Integers:
    """Return the number of elements of each list, (n,)."""
    lengths: Integers = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    return lengths


def make_lists(values: pa.Array, row: Integers, n_rows: int) -> pa.ListArray:
    """Return values as lists: those of each of the rows, which rise."""
    ends = np.cumsum(np.bincount(row, minlength=n_rows))
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    return pa.ListArray.from_arrays(offsets, values)


def _parse_brackets(column: pa.ChunkedArray, what: str, source: TableSource) -> pa.ListArray:
    """Return ``["a", "b"]``, ``['a', 'b']``, ``[a, b]`` and ``[1 2]`` as lists."""
    texts = pc.utf8_trim_whitespace(column)
    texts = _joined(texts)
    if bool(pc.any(pc.match_substring(texts, '"')).as_py()):
        try:
            return _parse_json(texts)
        except pa.ArrowInvalid as error:
            if not bool(pc.any(pc.match_substring(texts, "'")).as_py()):
                raise BadLog(
                    f"{source.where}: the {what} are no JSON lists ({shorten(error)})"
                ) from error
    inside = pc.utf8_slice_codeunits(texts, 1, -1)
    if bool(pc.any(pc.match_substring_regex(inside, r"^\s*['\"]")).as_py()):
        return split(inside, r"""['"]\s*,\s*['"]""", "'\" ")
    if bool(pc.any(pc.match_substring(inside, ",")).as_py()):
        return split(inside, ",", " \t")
    return split(inside, r"\s+", "")


def _parse_json(texts: pa.StringArray) -> pa.ListArray:
    lines = pc.binary_join_element_wise('{"v":', texts, "}", "")
    plain = pc.replace_substring_regex(lines, r"[\r\n]+", " ")
    content = "\n".join(plain.to_pylist()).encode()
    options = pyarrow.json.ReadOptions(block_size=max(len(content) + 1, 1 << 20))
    table = pyarrow.json.read_json(io.BytesIO(content), options)
    lists = _joined(table["v"])
    if not pa.types.is_list(lists.type) or len(lists) != len(texts):
        raise pa.ArrowInvalid("not one list per row")
    if pa.types.is_temporal(lists.type.value_type):  # ids that look like dates
        schema = pa.schema([("v", pa.list_(pa.string()))])
        parse = pyarrow.json.ParseOptions(explicit_schema=schema)
        lists = _joined(pyarrow.json.read_json(io.BytesIO(content), options, parse)["v"])
    return lists


def split(texts: pa.Array | pa.ChunkedArray, separator: str, around: str) -> pa.ListArray:
    """Return texts split at a regular expression, without ``around`` and empty pieces."""
    texts = _joined(pc.fill_null(texts, ""))
    pieces = (
        pc.split_pattern_regex(texts, separator) if separator else pc.split_pattern(texts, "\x00")
    )
    row = np.repeat(np.arange(len(texts)), list_lengths(pieces))
    values = pieces.flatten()
    if around:
        values = pc.utf8_trim(values, around)
    kept = as_mask(pc.not_equal(values, ""))
    return make_lists(values.filter(pa.array(kept)), row[kept], len(texts))


def split_ids(column: pa.ChunkedArray, names: pa.StringArray, source: TableSource) -> pa.ListArray:
    """Return texts of several ids, such as ``a|b``, as lists.

    They are split in the way that gives the largest share of ids among ``names``.
    """
    texts = column.cast(pa.string())
    if is_lists(column):
        return as_lists(column, "click", source)
    best: tuple[float, pa.ListArray] | None = None
    for separator in SEPARATORS:
        if separator and not pc.any(pc.match_substring(texts, separator)).as_py():
            continue
        lists = split(texts, f"[{separator}]+" if separator else "", " \t")
        values = lists.flatten()
        share = float(as_mask(pc.is_in(values, names)).mean()) if len(values) else 1.0
        if best is None or share > best[0]:
            best = share, lists
    assert best is not None
    return best[1]


def _joined(column: pa.Array | pa.ChunkedArray) -> Any:
    if not isinstance(column, pa.ChunkedArray):
        return column
    joined = column.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined
