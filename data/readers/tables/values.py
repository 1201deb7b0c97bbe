"""Columns of a table as arrays: ids as codes, flags, numbers, lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....common.typing import Booleans, Floats, Integers
from .sources import BadLog, TableSource

_YES = ("1", "true", "t", "yes", "y", "click", "clicked")
_NO = ("0", "false", "f", "no", "n", "", "skip", "none", "null", "nan")
_BETWEEN = r"[,;|\s]+"


@dataclass(frozen=True)
class Ids:
    """Ids as numbers: ``names[code]`` is the text of each; text may be one that no row has."""

    codes: Integers
    names: pa.StringArray


def encode_ids(column: pa.ChunkedArray, what: str, source: TableSource) -> Ids:
    """Return a column of ids (text or whole numbers) as codes; a missing one is an error."""
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise BadLog(f"{source.describe_row(row)}: the {what} is missing")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_nested(kind):
        raise BadLog(f"{source.where}: the {what} must be a text or a whole number, not {kind}")
    if pa.types.is_floating(kind):
        column = _whole_numbers(column, what, source)
    encoded = _one_dictionary(column)
    try:
        names = encoded.dictionary.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadLog(f"{source.where}: the {what} cannot be read as text ({error})") from error
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    empty = pc.equal(pc.utf8_trim_whitespace(names), "").to_numpy(zero_copy_only=False)
    if empty.any():
        rows = np.flatnonzero(empty[codes])
        if len(rows):
            raise BadLog(f"{source.describe_row(int(rows[0]))}: the {what} is empty")
    return Ids(codes, names)


def _one_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return the column with one dictionary of distinct values."""
    if pa.types.is_dictionary(column.type):
        encoded = column.unify_dictionaries().combine_chunks()
        distinct = encoded.dictionary.null_count == 0
        if distinct and len(pc.unique(encoded.dictionary)) == len(encoded.dictionary):
            return encoded
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # several chunks where one would be too large
        encoded = encoded.unify_dictionaries().combine_chunks()
    return encoded


def _whole_numbers(column: pa.ChunkedArray, what: str, source: TableSource) -> pa.ChunkedArray:
    """Return floats that are whole numbers (as frames with gaps have them) as integers."""
    values = column.to_numpy()
    wrong = ~np.isfinite(values) | (values != np.rint(values)) | (np.abs(values) > 2.0**53)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadLog(f"{source.describe_row(row)}: the {what} {values[row]} is no id")
    return pa.chunked_array([pa.array(values.astype(np.int64))])


def number(column: pa.ChunkedArray, what: str, source: TableSource) -> Floats:
    """Return a column of finite numbers as floats, (n,)."""
    try:
        values = column.cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadLog(
            f"{source.where}: the {what} must be a number ({_short(error)})"
        ) from error
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadLog(f"{source.describe_row(row)}: the {what} is missing or not finite")
    return values


def whole_number(column: pa.ChunkedArray, what: str, source: TableSource) -> Integers:
    """Return a column of whole numbers, (n,)."""
    values = number(column, what, source)
    wrong = (values != np.rint(values)) | (np.abs(values) > 2.0**53)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadLog(f"{source.describe_row(row)}: the {what} is {values[row]}, no whole number")
    return values.astype(np.int64)


def click_flags(column: pa.ChunkedArray, what: str, source: TableSource) -> Booleans | None:
    """Return clicks given as flags or counts, (n,); None where the column holds ids.

    Flags may be written as 0 and 1, true and false, yes and no.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_boolean(kind):
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise BadLog(f"{source.describe_row(row)}: the {what} is missing")
        return column.to_numpy().astype(bool)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        values = number(column, what, source)
        if (values < 0).any():
            row = int(np.flatnonzero(values < 0)[0])
            raise BadLog(f"{source.describe_row(row)}: the {what} is {values[row]}, below 0")
        return values > 0
    if pa.types.is_null(kind):
        raise BadLog(f"{source.where}: the {what} is missing in every row")
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    encoded = _one_dictionary(column)
    words = pc.utf8_lower(pc.utf8_trim_whitespace(encoded.dictionary.cast(pa.string())))
    yes, no = (
        pc.is_in(words, pa.array(known)).to_numpy(zero_copy_only=False) for known in (_YES, _NO)
    )
    if column.null_count or not (yes | no).all():
        return None
    flags: Booleans = yes[encoded.indices.to_numpy(zero_copy_only=False)]
    return flags


def as_lists(column: pa.ChunkedArray) -> pa.ListArray | None:
    """Return a column of lists; text such as ``[a, b]`` or ``a|b`` is split; None for neither."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lists = column.cast(pa.list_(kind.value_type)).combine_chunks()
        return lists if isinstance(lists, pa.Array) else lists.chunk(0)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return split_text(column.cast(pa.string()))
    return None


def is_list_text(column: pa.ChunkedArray) -> bool:
    """Whether every text of a column is a list in brackets."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)) or not len(column):
        return False
    texts = pc.utf8_trim_whitespace(column.cast(pa.string()))
    brackets = pc.and_(pc.starts_with(texts, "["), pc.ends_with(texts, "]"))
    return bool(pc.all(brackets, skip_nulls=False).as_py())


def split_text(column: pa.ChunkedArray) -> pa.ListArray:
    """Return texts such as ``[a, "b"]``, ``a|b`` or ``a b`` as lists; missing is empty."""
    texts = pc.utf8_trim(pc.fill_null(column, ""), "[]() \t")
    pieces = pc.split_pattern_regex(texts, _BETWEEN)
    pieces = pieces.combine_chunks() if isinstance(pieces, pa.ChunkedArray) else pieces
    lengths = np.diff(pieces.offsets.to_numpy())
    values = pc.utf8_trim(pieces.flatten(), "\"' ")
    kept = pc.not_equal(values, "").to_numpy(zero_copy_only=False)
    page = np.repeat(np.arange(len(lengths)), lengths)[kept]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(page, minlength=len(lengths)))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values.filter(pa.array(kept)))


def plain_array(column: pa.ChunkedArray, what: str, source: TableSource) -> np.ndarray[Any, Any]:
    """Return a column that stays with the log, (n,): numbers, times or text."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    if pa.types.is_nested(kind):
        raise BadLog(f"{source.where}: {what} must be one value per page, not {kind}")
    if pa.types.is_integer(kind) and not column.null_count:
        return column.to_numpy()
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return column.cast(pa.float64()).to_numpy()
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return column.cast(pa.timestamp("us")).to_numpy()
    texts = pc.fill_null(column.cast(pa.string()), "")
    return np.asarray(texts.to_numpy(zero_copy_only=False), dtype=np.str_)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
