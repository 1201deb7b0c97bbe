"""Columns of lists, as such or written as text."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from ....common.typing import Booleans, Integers
from .sources import BadLog, TableSource, shorten
from .values import are_counts, as_mask, as_texts, is_text, one_dictionary, value_type

_HEAD = 1000  # rows that are looked at first
# How people split several ids in one text that has no brackets; the whole text comes first.
SEPARATORS = ("", "|", ";", ",", " ")


def is_lists(column: pa.ChunkedArray) -> bool:
    """Whether a column holds lists: as such, or most texts are lists in brackets."""
    kind = value_type(column)
    if pa.types.is_list(kind):
        return True
    if not is_text(kind):
        return False
    head = _share_in_brackets(column.slice(0, _HEAD))
    if head is not None and head <= 0.5:
        return False
    whole = _share_in_brackets(column)
    return whole is not None and whole > 0.5


def _share_in_brackets(column: pa.ChunkedArray) -> float | None:
    """Return the share of lists in brackets among texts; None where all are empty."""
    texts = _trimmed(column)
    filled = as_mask(pc.not_equal(texts, ""))
    return float(_in_brackets(texts)[filled].mean()) if filled.any() else None


def _trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.utf8_trim_whitespace(pc.fill_null(column.cast(pa.string()), ""))


def _in_brackets(texts: pa.ChunkedArray) -> Booleans:
    """Return which texts are ``[…]``, or ``{…}`` as databases write their arrays, or ``(…)``."""
    lists = as_mask(pc.match_substring_regex(texts, r"(?s)^(\[.*\]|\{.*\}|\(.*\))$"))
    return lists & ~as_mask(pc.match_substring_regex(texts, r'^\{\s*"[^"]*"\s*:'))


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


def make_lists(
    values: pa.Array, row: Integers, n_rows: int, missing: Booleans | None = None
) -> pa.ListArray:
    """Return values as lists: those of each of the rows, which rise; some may be ``missing``."""
    ends = np.cumsum(np.bincount(row, minlength=n_rows))
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    mask = None if missing is None else pa.array(missing)
    return pa.ListArray.from_arrays(offsets, values, mask=mask)


def _parse_brackets(column: pa.ChunkedArray, what: str, source: TableSource) -> pa.ListArray:
    """Return ``["a", "b"]``, ``['a', 'b']``, ``['a' 'b']``, ``[a, b]`` and ``[1 2]`` as lists."""
    texts = _joined(_trimmed(column))
    empty = as_mask(pc.equal(texts, ""))
    wrong = ~(_in_brackets(texts) | empty)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        shown = texts[row].as_py()
        raise BadLog(
            f"{source.describe_row(row)}: the {what} {shorten(shown)!r} is no list in brackets, "
            "as those of other rows are"
        )
    texts = pc.if_else(pa.array(empty), "[]", texts)
    if bool(pc.any(pc.match_substring(texts, '"')).as_py()):
        try:
            return _parse_json(texts)
        except pa.ArrowInvalid as error:
            single = bool(pc.any(pc.match_substring(texts, "'")).as_py())
            if not single and bool(pc.all(pc.starts_with(texts, "[")).as_py()):
                raise BadLog(
                    f"{source.where}: the {what} are no JSON lists ({shorten(error)})"
                ) from error
    inside = pc.utf8_slice_codeunits(texts, 1, -1)
    if bool(pc.any(pc.match_substring_regex(inside, r"^\s*['\"]")).as_py()):
        return split(inside, r"""['"][\s,]+['"]""", "'\", \t\r\n")
    if bool(pc.any(pc.match_substring(inside, ",")).as_py()):
        gaps = np.flatnonzero(as_mask(pc.match_substring_regex(inside, r"^\s*,|,\s*,")))
        if len(gaps):
            shown = shorten(texts[int(gaps[0])].as_py())
            raise BadLog(
                f"{source.describe_row(int(gaps[0]))}: nothing stands between two commas of the "
                f"{what} {shown!r}"
            )
        return split(inside, ",", "\" \t\r\n")
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


def find_separator(document: pa.ChunkedArray, click: pa.ChunkedArray) -> str | None:
    """Return what splits texts such as ``x|y|z`` into the documents of a page; None for no lists.

    They are lists only where the clicks say so too: as many flags or counts in every row, split
    in the same way, or ids of documents that their own row names.
    """
    if not is_text(value_type(document)) or is_lists(document) or is_lists(click):
        return None
    head = document.slice(0, _HEAD).cast(pa.string())
    found = [s for s in SEPARATORS[1:] if as_mask(pc.match_substring(head, s)).any()]
    if not found:
        return None
    kind = value_type(click)
    filled = pc.not_equal(click.cast(kind), "") if is_text(kind) else click.is_valid()
    chosen = pc.indices_nonzero(pc.fill_null(filled, False))[:_HEAD]
    first = document.take(chosen), click.take(chosen)
    for separator in found:
        for is_alike in (_same_counts, _name_shown):
            if is_alike(*first, separator) and is_alike(document, click, separator):
                return separator
    return None


def _same_counts(document: pa.ChunkedArray, click: pa.ChunkedArray, separator: str) -> bool:
    """Whether every row has as many flags or counts as documents."""
    texts = [pc.fill_null(as_texts(column), "") for column in (document, click)]
    counts = [pc.count_substring(column, separator) for column in texts]
    if not pc.all(pc.equal(*counts)).as_py() or not pc.any(pc.greater(counts[0], 0)).as_py():
        return False
    flat = pa.chunked_array([split_at(texts[1], separator).flatten()])
    return are_counts(flat)


def _name_shown(document: pa.ChunkedArray, click: pa.ChunkedArray, separator: str) -> bool:
    """Whether nearly all clicks are on one of the documents that their row names."""
    texts = [as_texts(column) for column in (document, click)]
    both = pc.and_(pc.equal(*texts), pc.match_substring(texts[0], separator))
    if pc.any(both).as_py():  # one document, whose name has a separator
        return False
    pairs = []
    lists = [split_at(column, separator) for column in texts]
    names = one_dictionary(pa.chunked_array([part.flatten() for part in lists]))
    codes = names.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    for part, own in zip(lists, np.split(codes, [len(lists[0].flatten())]), strict=True):
        row = np.repeat(np.arange(len(part)), list_lengths(part))
        pairs.append(row * np.int64(len(names.dictionary)) + own)
    return len(pairs[1]) > 0 and bool(np.isin(pairs[1], pairs[0]).mean() > 0.9)


def split_at(column: pa.ChunkedArray, separator: str) -> pa.ListArray:
    """Return texts split at a separator, as lists."""
    return split(as_texts(column), rf"(?:\Q{separator}\E)+", " \t")


def split_beside(
    column: pa.ChunkedArray, documents: pa.ListArray, separator: str, are_clicks: bool
) -> pa.ListArray:
    """Return texts split at a separator, as lists; that of an empty text is missing.

    An empty piece keeps its place, as a missing value, where every row has as many pieces as
    documents; of clicks only if they are flags or counts, for ids have no places.
    """
    texts = _joined(pc.fill_null(as_texts(column), ""))
    blank = as_mask(pc.equal(pc.utf8_trim_whitespace(texts), ""))
    pieces = pc.split_pattern(texts, separator)
    values = pc.utf8_trim(pieces.flatten(), " \t")
    alike = blank | (list_lengths(pieces) == list_lengths(documents))
    if not alike.all() or (are_clicks and not are_counts(pa.chunked_array([values]))):
        pieces = split_at(column, separator)
        values = pieces.flatten()
    row = np.repeat(np.arange(len(texts)), list_lengths(pieces))
    kept = pa.array(~blank[row])
    values = pc.if_else(pc.equal(values, ""), None, values).filter(kept)
    return make_lists(values, row[~blank[row]], len(texts), blank)


def looks_like_lists(column: pa.ChunkedArray) -> str | None:
    """Return a separator that stands twice or more in most texts; None where there is none."""
    if not is_text(value_type(column)) or is_lists(column):
        return None
    head = column.slice(0, _HEAD).cast(pa.string())
    for separator in "|;,":
        counts = pc.fill_null(pc.count_substring(head, separator), 0).to_numpy()
        if (counts >= 2).mean() > 0.5:
            return separator
    return None


def _joined(column: pa.Array | pa.ChunkedArray) -> Any:
    if not isinstance(column, pa.ChunkedArray):
        return column
    joined = column.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined
