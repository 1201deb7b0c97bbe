"""Columns of a table as arrays: ids as codes, numbers, flags, what stays with the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....common.typing import Booleans, Floats, Integers
from .sources import BadLog, BadValue, TableSource, shorten

_YES = ("1", "true", "t", "yes", "y", "click", "clicked")
EMPTY = ("", "none", "null", "nan", "na", "n/a", "<na>", "\\n")
_NO = ("0", "false", "f", "no", "n", "skip", "skipped", "impression", "view", "viewed",
       "show", "shown", "exposure", "no click", "noclick", "no_click", "not clicked", "unclicked",
       *EMPTY)  # fmt: skip
_COUNT = r"^[0-9]{1,15}(\.0*)?$"
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True)
class Ids:
    """Ids as numbers: ``names[code]`` is the text of each; there may be names that no row has."""

    codes: Integers
    names: pa.StringArray

    def used(self) -> pa.StringArray:
        """Return the names that some row has."""
        used = np.zeros(len(self.names), dtype=bool)
        used[self.codes] = True
        return self.names.filter(pa.array(used))


def encode_ids(column: pa.ChunkedArray, what: str, source: TableSource) -> Ids:
    """Return a column of ids (text or whole numbers) as codes; a missing one is an error."""
    missing = first_null(column)
    if missing is not None:
        raise BadLog(f"{source.describe_row(missing)}: the {what} is missing")
    kind = value_type(column)
    if pa.types.is_nested(kind):
        raise BadLog(f"{source.where}: the {what} must be a text or a whole number, not {kind}")
    if pa.types.is_floating(kind):
        column = _whole_numbers(column, what, source)
    encoded = one_dictionary(column)
    try:
        names = encoded.dictionary.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadLog(f"{source.where}: the {what} cannot be read as text ({error})") from error
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    empty = as_mask(pc.equal(pc.utf8_trim_whitespace(names), ""))
    if empty.any():
        rows = np.flatnonzero(empty[codes])
        if len(rows):
            raise BadLog(f"{source.describe_row(int(rows[0]))}: the {what} is empty")
    return Ids(codes, names)


def value_type(column: pa.ChunkedArray) -> pa.DataType:
    """Return the type of a column's values, also where a dictionary holds them."""
    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of ids as texts; whole numbers that are written as floats are such."""
    kind = value_type(column)
    if kind != column.type:
        column = column.cast(kind)
    if pa.types.is_floating(kind):
        values = column.cast(pa.float64())
        whole = pc.and_(pc.equal(values, pc.round(values)), pc.less(pc.abs(values), 2.0**53))
        texts = pc.if_else(whole, values, None).cast(pa.int64()).cast(pa.string())
        odd = pc.if_else(pc.is_nan(values), None, values).cast(pa.string())
        return pc.coalesce(texts, odd)
    return column.cast(pa.string())


def as_mask(flags: pa.Array | pa.ChunkedArray) -> Booleans:
    """Return Arrow's booleans as an array; missing ones are False."""
    if isinstance(flags, pa.ChunkedArray):
        return pc.fill_null(flags, False).to_numpy().astype(bool)
    mask: Booleans = pc.fill_null(flags, False).to_numpy(zero_copy_only=False)
    return mask


def first_null(column: pa.ChunkedArray) -> int | None:
    """Return the first row without a value; None where all have one."""
    return int(np.flatnonzero(as_mask(column.is_null()))[0]) if column.null_count else None


def one_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return the column with one dictionary of distinct values."""
    if pa.types.is_dictionary(column.type):
        encoded = _one_chunk(column.unify_dictionaries())
        distinct = encoded.dictionary.null_count == 0
        if distinct and len(pc.unique(encoded.dictionary)) == len(encoded.dictionary):
            return encoded
        column = column.cast(column.type.value_type)
    return _one_chunk(column.dictionary_encode().unify_dictionaries())


def _one_chunk(column: pa.ChunkedArray) -> pa.DictionaryArray:
    joined = column.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


def _whole_numbers(column: pa.ChunkedArray, what: str, source: TableSource) -> pa.ChunkedArray:
    """Return floats that are whole numbers (as frames with gaps have them) as integers."""
    values = column.cast(pa.float64()).to_numpy()
    wrong = ~np.isfinite(values) | (values != np.rint(values)) | (np.abs(values) > 2.0**53)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadLog(f"{source.describe_row(row)}: the {what} {values[row]} is no id")
    return pa.chunked_array([pa.array(values.astype(np.int64))])


def number(
    column: pa.ChunkedArray, what: str, source: TableSource, missing: float | None = None
) -> Floats:
    """Return a column of finite numbers as floats, (n,).

    A missing one (null or NaN) becomes ``missing``; without that it is an error.
    """
    kind = value_type(column)
    if kind != column.type:
        column = column.cast(kind)
    if is_text(kind):
        column = pc.utf8_trim_whitespace(column)
        wrong = as_mask(pc.invert(pc.match_substring_regex(column, _NUMBER)))
        empty = pc.is_in(pc.utf8_lower(column), pa.array(EMPTY))
        if missing is not None:
            wrong &= ~as_mask(empty)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise BadLog(
                f"{source.describe_row(row)}: the {what} is {column[row].as_py()!r}, not a number"
            )
        column = pc.if_else(empty, None, column)
    try:
        values = column.cast(pa.float64(), safe=False).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadLog(f"{source.where}: the {what} must be a number ({shorten(error)})") from error
    if missing is not None:
        values = np.where(np.isnan(values), missing, values)
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadLog(f"{source.describe_row(row)}: the {what} is missing or not finite")
    return values


def whole_number(
    column: pa.ChunkedArray, what: str, source: TableSource, missing: int | None = None
) -> Integers:
    """Return a column of whole numbers, (n,); a missing one as in ``number``."""
    values = number(column, what, source, missing)
    wrong = (values != np.rint(values)) | (np.abs(values) > 2.0**53)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadLog(f"{source.describe_row(row)}: the {what} is {values[row]}, no whole number")
    return values.astype(np.int64)


def click_counts(column: pa.ChunkedArray, what: str, source: TableSource) -> Floats | None:
    """Return clicks given as flags or counts, (n,), NaN where missing; None for other text.

    Flags may be written as 0 and 1, true and false, yes and no; a time is a click at that time.
    """
    kind = value_type(column)
    if pa.types.is_null(kind):
        raise BadLog(f"{source.where}: the {what} is missing in every row")
    if is_text(kind):
        encoded = one_dictionary(column)
        words = pc.utf8_lower(pc.utf8_trim_whitespace(encoded.dictionary.cast(pa.string())))
        yes, no = (as_mask(pc.is_in(words, pa.array(known))) for known in (_YES, _NO))
        if not (yes | no).all():
            return _written_counts(encoded, words)
        codes = pc.fill_null(encoded.indices, len(words)).to_numpy(zero_copy_only=False)
        empty = as_mask(pc.is_in(words, pa.array(EMPTY)))
        return np.append(np.where(empty, np.nan, yes.astype(np.float64)), np.nan)[codes]
    if kind != column.type:
        column = column.cast(kind)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_temporal(kind):  # when the click was
        column = column.is_valid().cast(pa.int8())
    try:
        values = column.cast(pa.float64(), safe=False).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BadLog(
            f"{source.where}: the {what} must be a flag, a count or ids ({shorten(error)})"
        ) from error
    wrong = (values < 0) | np.isinf(values)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise BadValue(
            f"{source.describe_row(row)}: the {what} is {values[row]}, neither a flag nor a count"
        )
    return values


def find_odd_click(column: pa.ChunkedArray, names: pa.StringArray) -> int | None:
    """Return the first row of a text that is no click, where most others are flags or counts.

    None where they are not, or where any flag or count is also the name of a document: clicks may
    be ids of documents then.
    """
    encoded = one_dictionary(column)
    words = pc.utf8_lower(pc.utf8_trim_whitespace(encoded.dictionary.cast(pa.string())))
    empty, *known = (as_mask(pc.is_in(words, pa.array(some))) for some in (EMPTY, _YES, _NO))
    plain = known[0] | known[1] | as_mask(pc.match_substring_regex(words, _COUNT))
    codes = pc.fill_null(encoded.indices, len(words)).to_numpy(zero_copy_only=False)
    given = np.append(~empty, False)[codes]
    odd = np.append(~plain, False)[codes]
    used = as_mask(pc.is_in(encoded.dictionary.cast(pa.string()), names))
    if not odd.any() or 2 * np.count_nonzero(odd) > np.count_nonzero(given):
        return None
    return None if used[plain & ~empty].any() else int(np.flatnonzero(odd)[0])


def are_counts(column: pa.ChunkedArray) -> bool:
    """Whether texts are flags or counts."""
    encoded = one_dictionary(column)
    words = pc.utf8_lower(pc.utf8_trim_whitespace(encoded.dictionary.cast(pa.string())))
    known = as_mask(pc.is_in(words, pa.array(_YES + _NO)))
    return bool(known.all()) or _written_counts(encoded, words) is not None


def _written_counts(encoded: pa.DictionaryArray, words: pa.StringArray) -> Floats | None:
    """Return counts that are written as text, (n,); None where a text is no whole number."""
    empty = pc.is_in(words, pa.array(EMPTY))
    written = pc.or_(empty, pc.match_substring_regex(words, _COUNT))
    if not as_mask(written).all():
        return None
    filled = pc.if_else(empty, None, words).cast(pa.float64())
    codes = pc.fill_null(encoded.indices, len(words)).to_numpy(zero_copy_only=False)
    return np.append(filled.to_numpy(zero_copy_only=False), np.nan)[codes]


def page_array(
    column: pa.ChunkedArray, role: str, as_ids: bool, source: TableSource
) -> np.ndarray[Any, Any]:
    """Return a column that stays with the log, (n,): numbers, times or text; ids are text."""
    kind = value_type(column)
    if kind != column.type:
        column = column.cast(kind)
    if pa.types.is_nested(kind):
        raise BadLog(f"{source.where}: {role} must be one value per page, not {kind}")
    if not as_ids and not is_text(kind) and not pa.types.is_time(kind):
        return _plain_numbers(column, kind)
    texts = as_texts(column)
    times = _parse_times(texts) if role == "time" else None
    if times is not None:
        return times
    return np.asarray(pc.fill_null(texts, "").to_numpy(zero_copy_only=False), dtype=np.str_)


def _parse_times(texts: pa.ChunkedArray) -> np.ndarray[Any, Any] | None:
    """Return dates as ISO 8601 has them, or whole numbers; None where texts are neither."""
    filled = pc.if_else(pc.equal(texts, ""), None, texts)
    if filled.null_count == len(filled):
        return None
    if as_mask(pc.match_substring_regex(texts, r"^[0-9]{1,18}$")).all():
        return texts.cast(pa.int64()).to_numpy()
    filled = pc.replace_substring_regex(filled, r"\s*UTC$", "Z")
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return filled.cast(kind).cast(pa.timestamp("us")).to_numpy()
        except pa.ArrowInvalid:
            pass
    return None


def _plain_numbers(column: pa.ChunkedArray, kind: pa.DataType) -> np.ndarray[Any, Any]:
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return column.cast(pa.timestamp("us", kind.tz if pa.types.is_timestamp(kind) else None),
                           safe=False).cast(pa.timestamp("us")).to_numpy()  # fmt: skip
    if pa.types.is_duration(kind):
        return column.cast(pa.duration("us"), safe=False).to_numpy()
    if column.null_count or not (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        return column.cast(pa.float64(), safe=False).to_numpy()
    if pa.types.is_boolean(kind):
        return column.to_numpy().astype(bool)
    return column.cast(pa.int64()).to_numpy() if kind != pa.uint64() else column.to_numpy()
