"""A world and a log from the slots of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ....common.memory import require_memory
from ....common.typing import Floats, Integers
from ...document_ids import DocumentIds
from ...log import ClickLog
from ...world import World
from .blocks import usual_types
from .columns import IDS
from .labels import Labels
from .report import LogReport
from .rows import Rows
from .slots import Slots, first_rows
from .sources import BadLog
from .values import Ids, number, page_array

_KEPT = ("session", "user", "time", "page")  # roles that stay with the log
_BLANK = r"[\s\p{Z}\p{Cc}\p{Cf}]+"  # white space of any script, and marks of no width
_FEW = 20  # shown documents, which may all be clicked by chance
_ADVICE = "read fewer slots (slots), fewer features, or a part of the log"


@dataclass(frozen=True)
class Wanted:
    """What to make of a table: arguments of ``read_log``."""

    features: tuple[str, ...]
    extra: tuple[str, ...]
    max_grade: int
    catalogue: bool
    name: str

    def with_catalogue(self, catalogue: bool) -> Wanted:
        """Return the same with or without one list of documents for all queries."""
        return replace(self, catalogue=catalogue)


@dataclass(frozen=True)
class _Pairs:
    """The query-document pairs of the slots.

    Attributes
    ----------
    of_slot : (S,)
        The pair of each slot.
    query, document : (P,)
        Numbers of each pair's query and document, by first appearance.
    place : (P,)
        Index of each pair's document among those of its query.
    queries, documents : names, (Q,) and (D,)
    n_docs : int
        N.
    """

    of_slot: Integers
    query: Integers
    document: Integers
    place: Integers
    queries: pa.StringArray
    documents: pa.StringArray
    n_docs: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.queries), self.n_docs


def build_world_and_log(
    rows: Rows, slots: Slots, propensity: Floats | None, labels: Labels | None, wanted: Wanted
) -> tuple[World, ClickLog]:
    """Return the world of what the pages show, and the pages as a log; count what is odd."""
    query, queries = _renumber(slots.query)
    pairs = _find_pairs(query, queries, slots, wanted.catalogue)
    n_pages, width = len(slots.lengths), int(slots.lengths.max())
    _check_memory(pairs, slots, width, rows.source.where)
    _count_oddities(slots, pairs, rows.report)
    shown = np.arange(width) < slots.lengths[:, None]
    ranking = np.full((n_pages, width), -1, dtype=np.int32)
    ranking[shown] = pairs.place[pairs.of_slot]
    clicks = np.zeros(ranking.shape, dtype=bool)
    clicks[shown] = slots.clicked
    weight = _weights(rows, slots)
    counts = np.bincount(query, weight, len(queries))
    if not counts.sum() > 0:
        raise BadLog(f"{rows.source.where}: the weights are all 0")
    types, places = _verticals(slots, width, rows.report)
    vertical = slots.blocks
    if vertical is not None:
        vertical = usual_types(query, vertical[:, 0], weight, len(queries), rows.report)
    candidates = np.full(pairs.shape, wanted.catalogue)
    candidates[pairs.query, pairs.place] = True
    world = World(
        _grades(rows, slots, pairs, labels, wanted.max_grade),
        features=_features(slots, pairs, wanted.catalogue, rows.report),
        query_probs=counts / counts.sum(),
        candidates=candidates,
        query_ids=queries.to_numpy(zero_copy_only=False).astype(np.str_),
        doc_ids=_name_documents(pairs, wanted.catalogue),
        max_grade=wanted.max_grade,
        name=wanted.name,
        vertical=vertical,
    )
    log = ClickLog(
        query.astype(np.int32), ranking, clicks, propensity, weight, vertical=types,
        vertical_position=places, extra=_extra(rows, slots, wanted.extra),
        fingerprint=world.fingerprint,
    )  # fmt: skip
    report = rows.report
    report.pages, report.queries, report.documents = n_pages, len(queries), len(pairs.documents)
    report.pairs, report.clicks, report.slots = len(pairs.query), int(slots.clicked.sum()), width
    return world, log


def _renumber(ids: Ids) -> tuple[Integers, pa.StringArray]:
    """Return dense numbers by first appearance, (n,), and the names in that order."""
    first = np.full(len(ids.names), len(ids.codes), dtype=np.int64)
    first[ids.codes[::-1]] = np.arange(len(ids.codes))[::-1]
    order = np.argsort(first, kind="stable")[: int((first < len(ids.codes)).sum())]
    numbers = np.empty(len(ids.names), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    return numbers[ids.codes], ids.names.take(pa.array(order))


def _find_pairs(query: Integers, queries: pa.StringArray, slots: Slots, catalogue: bool) -> _Pairs:
    document, documents = _renumber(slots.document)
    size = np.int64(len(documents))
    encoded = pa.array(np.repeat(query, slots.lengths) * size + document).dictionary_encode()
    keys = encoded.dictionary.to_numpy()
    of_slot = encoded.indices.to_numpy().astype(np.int64)
    pair_query, pair_document = np.divmod(keys, size)
    place = pair_document if catalogue else _places_within(pair_query, len(queries))
    n_docs = len(documents) if catalogue else int(place.max()) + 1
    return _Pairs(of_slot, pair_query, pair_document, place, queries, documents, n_docs)


def _places_within(group: Integers, n_groups: int) -> Integers:
    """Return the index of each element among those of its group, (P,)."""
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group, minlength=n_groups)
    place = np.empty(len(group), dtype=np.int64)
    place[order] = np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place


def _name_documents(pairs: _Pairs, catalogue: bool) -> DocumentIds:
    names = pairs.documents.to_numpy(zero_copy_only=False)
    if catalogue:
        n_queries, n_docs = pairs.shape
        codes = np.tile(np.arange(n_docs, dtype=np.int32), n_queries)
        return DocumentIds(names, codes, np.arange(n_queries + 1) * n_docs, n_docs)
    return DocumentIds.from_pairs(names, pairs.query, pairs.place, pairs.document, pairs.shape)


def _check_memory(pairs: _Pairs, slots: Slots, width: int, where: str) -> None:
    """Refuse a world that would not fit, before it is made.

    For each place 8 bytes of the world's arrays and their checks, and 8 of its gain; 5 for each
    feature. For each slot of a page, empty ones too, 24 bytes of rankings, clicks and their checks.
    """
    features = 0 if slots.features is None else slots.features.shape[1]
    places = float(pairs.shape[0]) * pairs.shape[1]
    letters = pc.max(pc.utf8_length(pairs.queries)).as_py() * len(pairs.queries)
    slot_bytes = 24.0 * len(slots.lengths) * width
    where += f" ({pairs.shape[0]:,} queries, one of them with {pairs.shape[1]:,} documents)"
    require_memory((16 + 5 * features) * places + slot_bytes + 8 * letters, where, _ADVICE)


def _count_oddities(slots: Slots, pairs: _Pairs, report: LogReport) -> None:
    joined = np.sort(slots.page * np.int64(len(pairs.query)) + pairs.of_slot)
    twice = joined[1:][joined[1:] == joined[:-1]] // len(pairs.query)
    report.count(slots.repeats, len(np.unique(twice)))
    usual = int(np.quantile(slots.lengths, 0.99, method="inverted_cdf"))
    report.count("long_pages", int((slots.lengths > usual).sum()))
    if len(slots.clicked) >= _FEW:
        report.count("all_clicked", len(slots.clicked) if slots.clicked.all() else 0)
        report.count("none_clicked", len(slots.clicked) if not slots.clicked.any() else 0)
    report.count("similar_queries", _similar(pairs.queries))
    report.count("similar_documents", _similar(pairs.documents))


def _similar(names: pa.StringArray) -> int:
    """Return how many names are another's but for case and white space, or what cannot be seen."""
    plain = pc.ascii_lower(names)
    foreign = pc.invert(pc.string_is_ascii(names))
    if pc.any(foreign).as_py():  # Arrow has no case folding, which makes ß and SS alike
        folded = [name.casefold() for name in names.filter(foreign).to_pylist()]
        plain = pc.replace_with_mask(plain, foreign, pa.array(folded, plain.type))
    if pc.any(pc.match_substring_regex(plain, _BLANK)).as_py():
        plain = pc.replace_substring_regex(plain, _BLANK, "")
    return len(names) - len(pc.unique(plain))


def _grades(
    rows: Rows, slots: Slots, pairs: _Pairs, labels: Labels | None, max_grade: int
) -> NDArray[np.int8]:
    """Return the most frequent grade of each pair, the highest of equals, (Q, N); -1 for none."""
    relevance = np.full(pairs.shape, -1, dtype=np.int8)
    if labels is not None:
        keys = pairs.query * np.int64(len(pairs.documents)) + pairs.document
        pair, grade = labels.find_pairs(pairs.queries, pairs.documents, keys), labels.grade
        rows.report.count("unknown_labels", int(((pair < 0) & (grade >= 0)).sum()))
    elif slots.grade is not None:
        pair, grade = pairs.of_slot, slots.grade
    else:
        return relevance
    outside = (grade < -1) | (grade > max_grade)
    if outside.any():
        index = int(np.flatnonzero(outside)[0])
        where = (
            labels.where
            if labels is not None
            else (rows.source.describe_row(int(slots.row[slots.page[index]])) + ", on its page")
        )
        raise BadLog(
            f"{where}: a grade of {grade[index]}, outside -1..{max_grade} "
            '(grade="" reads the log without grades; in Python, max_grade=… allows higher ones)'
        )
    given = (grade >= 0) & (pair >= 0)
    votes = np.bincount(
        pair[given] * (max_grade + 1) + grade[given], minlength=len(pairs.query) * (max_grade + 1)
    ).reshape(-1, max_grade + 1)
    best = max_grade - np.argmax(votes[:, ::-1], axis=1)
    relevance[pairs.query, pairs.place] = np.where(votes.any(axis=1), best, -1)
    rows.report.count("grade_conflicts", int(((votes > 0).sum(axis=1) > 1).sum()))
    return relevance


def _features(
    slots: Slots, pairs: _Pairs, catalogue: bool, report: LogReport
) -> NDArray[np.float32] | None:
    """Return the features of each pair's first slot, (Q, N, F)."""
    if slots.features is None:
        return None
    if (np.abs(slots.features) > np.finfo(np.float32).max).any():
        raise BadLog(f"{report.where}: a feature is beyond float32")
    given = slots.features.astype(np.float32)
    chosen = given[first_rows(pairs.of_slot, len(pairs.query))]
    differ = (given != chosen[pairs.of_slot]).any(axis=1)
    report.count("feature_conflicts", len(np.unique(pairs.of_slot[differ])))
    result = np.zeros((*pairs.shape, given.shape[1]), dtype=np.float32)
    if catalogue:  # a document that a query never showed has the features that it has elsewhere
        result[:] = given[first_rows(pairs.document[pairs.of_slot], len(pairs.documents))]
    result[pairs.query, pairs.place] = chosen
    result.flags.writeable = False  # shared with the world, not copied
    return result


def _weights(rows: Rows, slots: Slots) -> Floats | None:
    column = rows.column("weight")
    if column is None:
        return None
    values = number(column, "weight", rows.source)[slots.row]
    if (values < 0).any():
        page = int(np.flatnonzero(values < 0)[0])
        raise BadLog(f"{rows.source.describe_row(int(slots.row[page]))}: the weight is below 0")
    return values


def _verticals(
    slots: Slots, width: int, report: LogReport
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | tuple[None, None]:
    """Return the type of the block that each page shows and its place, (n,); -1 for none."""
    if slots.blocks is None:
        return None, None
    shown = (slots.blocks >= 0).all(axis=1)
    types, places = np.where(shown, slots.blocks.T, -1).astype(np.int32)
    report.count("cut_verticals", int((places > width).sum()))
    return types, np.minimum(places, width, dtype=np.int32)


def _extra(rows: Rows, slots: Slots, names: tuple[str, ...]) -> dict[str, Any]:
    """Return what stays with the log, by role or by column: the value of each page's first row."""
    by_role = rows.columns.by_role
    kept = {
        role: by_role[role]
        for role in _KEPT
        if role in by_role and by_role[role] != by_role["query"]
    }
    first = pa.array(slots.row)
    result = {}
    for name, column in ({name: name for name in names} | kept).items():
        values = rows.table[column].take(first)
        result[name] = page_array(values, name, name in kept and name in IDS, rows.source)
        if name == "time" and result[name].dtype.kind == "U":
            rows.report.notes.append(
                f"Times are texts such as {str(result[name][0])!r}, which have no order in time; "
                "write them as 2024-05-31 14:30:00 to split by them."
            )
    return result
