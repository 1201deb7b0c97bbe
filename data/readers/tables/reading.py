"""The one reader for tables of clicks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....common import checks
from ....common.runtime import warn_caller
from ....common.typing import Floats, Integers
from ...document_ids import DocumentIds
from ...log import ClickLog
from ...world import World
from .columns import IDS, Columns, find_columns
from .formats import adapt
from .report import LogReport
from .slots import Slots, read_slots
from .sources import BadLog, Source, TableSource, open_source
from .values import Ids, number, plain_array

_TINY = np.log(1e-5)
KEPT = ("session", "user", "time", "page")  # roles that stay with the log


class ReadLog(tuple[World, ClickLog]):
    """``world, log = read_log(…)``, with the ``report`` of what was read."""

    report: LogReport

    def __new__(cls, world: World, log: ClickLog, report: LogReport) -> ReadLog:
        """Return the pair."""
        result = super().__new__(cls, (world, log))
        result.report = report
        return result


def read_log(
    source: Source,
    query: str | None = None,
    document: str | None = None,
    rank: str | None = None,
    click: str | None = None,
    *,
    page: str | None = None,
    session: str | None = None,
    user: str | None = None,
    time: str | None = None,
    propensity: str | None = None,
    grade: str | None = None,
    weight: str | None = None,
    features: str | Sequence[str] | None = None,
    extra: Sequence[str] = (),
    format: str | None = None,
    propensity_of: str | None = None,
    slots: int | None = None,
    max_grade: int = 4,
    graded_only: bool = False,
    drop_clickless: bool = False,
    strict: bool = False,
) -> ReadLog:
    """Read any table of clicks as a world and a log: ``world, log = read_log("clicks.csv")``.

    Parameters
    ----------
    source : path, pandas or polars frame, Arrow table
        CSV, TSV or JSON lines (plain, ``.gz`` or ``.zst``), Parquet, Arrow or feather files.
        Rows are long (one per shown document) or lists (one per page, with lists of documents and
        of clicks; in text, lists are written ``[a, b]``).
    query, document, rank, click, page, session, user, time, propensity, grade, weight : str
        Names of columns. One that is not given is guessed from the names that people use; ``""``
        says that there is none. Queries, documents and clicks must be there. Ranks count from 0
        or 1; without them rows are in order. Without page ids a page ends where the query, the
        session or the user changes or the rank does not rise. Clicks are flags, counts, or the
        ids of clicked documents.
    features : str or sequence of str
        Columns of numbers, or one column of lists: the documents' features.
    extra : sequence of str
        More columns to keep with the log, one value per page (``log.extra``); session, user, time
        and page ids are kept anyway.
    format : {"yandex-2011", "yandex-2013", "clax", "baidu-ultr", "open-bandit"}, optional
        A format of its own kind.
    propensity_of : {"page", "slot"}, optional
        What a propensity belongs to; those of slots are multiplied. Default: of the page, if it
        is the same in all rows of every page.
    slots : int, optional
        Cut pages to so many documents.
    max_grade : int
        The highest grade there can be.
    graded_only, drop_clickless : bool
        Leave out queries without any grade, and pages without a click.
    strict : bool
        Refuse a table in which anything is odd, instead of warning.

    Returns
    -------
    world : World
        With the table's own ids. Queries are numbered in order of first appearance, and so are
        the documents of each, which are its candidates.
    log : ClickLog
        Pages in order of their first row. The pair also has a ``report``, which says what was
        guessed and what is odd.

    Warns
    -----
    UserWarning
        With the number of oddities of each kind: nothing is dropped or mended in silence.

    Raises
    ------
    BadLog
        With file and line or column: what cannot be read.
    """
    given = {
        "query": query, "document": document, "rank": rank, "click": click, "page": page,
        "session": session, "user": user, "time": time, "propensity": propensity, "grade": grade,
        "weight": weight,
    }  # fmt: skip
    report = LogReport("")
    if format is None:
        opened = open_source(source)
    else:
        adapted = adapt(source, format)
        opened = adapted.source
        given = {role: given[role] or adapted.columns.get(role, given[role]) for role in given}
        for oddity, count in adapted.oddities.items():
            report.count(oddity, count)
    columns = find_columns(opened, given)
    feature_names = [features] if isinstance(features, str) else list(features or ())
    for column in (*feature_names, *extra):
        if column not in opened.names:
            raise BadLog(f"{opened.where}: no column {column!r}; it has {', '.join(opened.names)}")
    ids = {columns.by_role[role] for role in IDS if role in columns.by_role}
    table = opened.read([*columns.by_role.values(), *feature_names, *extra], ids)
    report.where, report.columns, report.rows = opened.where, str(columns), table.num_rows
    found = read_slots(table, columns, feature_names, opened, report)
    log_propensity, found = _propensities(table, columns, found, propensity_of, opened, report)
    found, log_propensity = _filter_pages(
        found, log_propensity, slots, drop_clickless, graded_only, report
    )
    if not len(found.lengths):
        raise BadLog(f"{opened.where}: no pages are left")
    name = Path(source).name if isinstance(source, (str, os.PathLike)) else ""
    world, log = _build(
        table, columns, found, log_propensity, list(extra), max_grade, opened, report, name
    )
    if strict:
        report.refuse()
    elif report.summary:
        warn_caller(report.summary, UserWarning)
    return ReadLog(world, log, report)


def _propensities(
    table: pa.Table,
    columns: Columns,
    slots: Slots,
    propensity_of: str | None,
    source: TableSource,
    report: LogReport,
) -> tuple[Floats | None, Slots]:
    """Return log propensities of the pages, and the pages that could be shown at all."""
    name = columns.get("propensity")
    if name is None:
        return None, slots
    if propensity_of is not None:
        checks.choice(propensity_of, ("page", "slot"), "propensity_of")
    if slots.propensity is None:  # list rows with one number per page
        values = number(table[name], "propensity", source)[slots.row]
        by_slot = False
    else:
        starts = np.cumsum(slots.lengths) - slots.lengths
        same = slots.propensity == np.repeat(slots.propensity[starts], slots.lengths)
        by_slot = propensity_of == "slot" or (propensity_of is None and not same.all())
        if not by_slot and not same.all():
            page = int(slots.page[~same][0])
            raise BadLog(
                f"{source.describe_row(int(slots.row[page]))}: the propensity differs within the "
                "page; propensity_of='slot' multiplies those of its slots"
            )
        values = slots.propensity if by_slot else slots.propensity[starts]
    wrong = (values < 0) | (values > 1)
    if wrong.any():
        index = int(np.flatnonzero(wrong)[0])
        page = int(slots.page[index]) if by_slot else index
        raise BadLog(
            f"{source.describe_row(int(slots.row[page]))}: the propensity is {values[index]}, "
            "outside 0..1"
        )
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    if by_slot:
        logs = np.add.reduceat(logs, np.cumsum(slots.lengths) - slots.lengths)
    possible = np.isfinite(logs)
    report.count("zero_propensities", int((~possible).sum()))
    tiny = logs < _TINY * slots.lengths
    report.count("tiny_propensities", int((tiny & possible).sum()))
    if (tiny & possible).any():
        least = np.exp(logs[possible].min())
        report.notes.append(f"The smallest propensity is {least:.3g}.")
    return logs[possible], slots.keep_pages(possible) if not possible.all() else slots


def _filter_pages(
    slots: Slots,
    propensity: Floats | None,
    longest: int | None,
    drop_clickless: bool,
    graded_only: bool,
    report: LogReport,
) -> tuple[Slots, Floats | None]:
    """Return what is left of the pages after the cuts that were asked for."""
    if longest is not None:
        longest = checks.positive_integer(longest, "slots")
        before = len(slots.clicked), int(slots.clicked.sum())
        slots = slots.cut(longest)
        report.count("cut_slots", before[0] - len(slots.clicked))
        report.count("cut_clicks", before[1] - int(slots.clicked.sum()))
    kept = np.ones(len(slots.lengths), dtype=bool)
    if drop_clickless:
        clicked = np.bincount(slots.page, slots.clicked, len(slots.lengths)) > 0
        report.count("clickless_pages", int((~clicked).sum()))
        kept &= clicked
    if graded_only:
        if slots.grade is None:
            raise BadLog(f"{report.where}: no column of grades, so no query is graded")
        graded = np.zeros(len(slots.query.names), dtype=bool)
        graded[slots.query.codes[slots.page[slots.grade >= 0]]] = True
        without = ~graded[slots.query.codes]
        report.count("ungraded_pages", int((kept & without).sum()))
        kept &= ~without
    if not kept.all():
        slots = slots.keep_pages(kept)
        propensity = None if propensity is None else propensity[kept]
    return slots, propensity


def _build(
    table: pa.Table,
    columns: Columns,
    slots: Slots,
    propensity: Floats | None,
    extra: list[str],
    max_grade: int,
    source: TableSource,
    report: LogReport,
    name: str,
) -> tuple[World, ClickLog]:
    query, query_names = _renumber(slots.query)
    n_pages, n_queries = len(slots.lengths), len(query_names)
    pair, pair_query, pair_document = _number_pairs(query, slots)
    place = _places_within(pair_query, n_queries)  # index of each pair among its query's documents
    n_docs = int(place.max()) + 1
    _check_memory(n_queries, n_docs, slots, report)
    width = int(slots.lengths.max())
    ranking = np.full((n_pages, width), -1, dtype=np.int32)
    shown = np.arange(width) < slots.lengths[:, None]
    ranking[shown] = place[pair]
    clicks = np.zeros(ranking.shape, dtype=bool)
    clicks[shown] = slots.clicked
    _count_oddities(slots, pair, len(pair_query), query_names, report)
    grades = _grades(slots, pair, pair_query, place, (n_queries, n_docs), max_grade, source, report)
    candidates = np.zeros((n_queries, n_docs), dtype=bool)
    candidates[pair_query, place] = True
    features = None
    if slots.features is not None:
        features = _features(slots, pair, pair_query, place, (n_queries, n_docs), report)
    weight = None
    role = columns.get("weight")
    if role is not None:
        weight = _page_numbers(table[role], slots, "weight", source)
    counts = np.bincount(query, weight, n_queries)
    world = World(
        grades,
        features=features,
        query_probs=counts / counts.sum(),
        candidates=candidates,
        query_ids=query_names.to_numpy(zero_copy_only=False).astype(np.str_),
        doc_ids=DocumentIds.from_pairs(
            *_name_documents(slots.document.names, pair_query, place, pair_document),
            (n_queries, n_docs),
        ),
        max_grade=max_grade,
        name=name,
    )
    kept = {role: columns.by_role[role] for role in KEPT if role in columns.by_role}
    kept = {role: column for role, column in kept.items() if column != columns.by_role["query"]}
    rows = pa.array(slots.row)
    extras = {
        role: plain_array(table[column].take(rows), role, source)
        for role, column in (kept | {column: column for column in extra}).items()
    }
    log = ClickLog(
        query.astype(np.int32), ranking, clicks, propensity, weight,
        extra=extras, fingerprint=world.fingerprint,
    )  # fmt: skip
    report.pages, report.queries, report.documents = n_pages, n_queries, len(pair_query)
    report.clicks, report.slots = int(slots.clicked.sum()), width
    return world, log


def _renumber(ids: Ids) -> tuple[Integers, pa.StringArray]:
    """Return dense numbers by first appearance, (n,), and the names in that order."""
    first = np.full(len(ids.names), len(ids.codes), dtype=np.int64)
    first[ids.codes[::-1]] = np.arange(len(ids.codes))[::-1]
    order = np.argsort(first, kind="stable")[: int((first < len(ids.codes)).sum())]
    numbers = np.empty(len(ids.names), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    return numbers[ids.codes], ids.names.take(pa.array(order))


def _number_pairs(query: Integers, slots: Slots) -> tuple[Integers, Integers, Integers]:
    """Return each slot's query-document pair, (S,), and each pair's query and document code."""
    size = np.int64(len(slots.document.names))
    joined = np.repeat(query, slots.lengths) * size + slots.document.codes
    encoded = pa.array(joined).dictionary_encode()
    keys = encoded.dictionary.to_numpy()
    return encoded.indices.to_numpy().astype(np.int64), keys // size, keys % size


def _places_within(group: Integers, n_groups: int) -> Integers:
    """Return the index of each element among those of its group, (P,)."""
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group, minlength=n_groups)
    place = np.empty(len(group), dtype=np.int64)
    place[order] = np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place


def _name_documents(
    names: pa.StringArray, query: Integers, place: Integers, document: Integers
) -> tuple[Any, Integers, Integers, Integers]:
    """Return the names that are in use, and what each pair's query, place and name are."""
    numbers, used = _renumber(Ids(document, names))
    return used.to_numpy(zero_copy_only=False), query, place, numbers


def _check_memory(n_queries: int, n_docs: int, slots: Slots, report: LogReport) -> None:
    """Refuse a world that would not fit, before it is made."""


def _count_oddities(
    slots: Slots, pair: Integers, n_pairs: int, query_names: pa.StringArray, report: LogReport
) -> None:
    joined = np.sort(slots.page * np.int64(n_pairs) + pair)
    twice = joined[1:][joined[1:] == joined[:-1]] // n_pairs
    report.count("repeated_documents", len(np.unique(twice)))
    usual = int(np.quantile(slots.lengths, 0.99, method="inverted_cdf"))
    report.count("long_pages", int((slots.lengths > usual).sum()))
    report.count("similar_queries", _similar(query_names))
    report.count("similar_documents", _similar(_used(slots.document)))


def _used(ids: Ids) -> pa.StringArray:
    used = np.zeros(len(ids.names), dtype=bool)
    used[ids.codes] = True
    return ids.names.filter(pa.array(used))


def _similar(names: pa.StringArray) -> int:
    """Return how many names are another's but for case and white space around or within."""
    plain = pc.replace_substring_regex(pc.utf8_lower(names), r"\s+", "")
    return len(names) - len(pc.unique(plain))


def _grades(
    slots: Slots,
    pair: Integers,
    query: Integers,
    place: Integers,
    shape: tuple[int, int],
    max_grade: int,
    source: TableSource,
    report: LogReport,
) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Return the most frequent grade of each pair, the highest of equals, (Q, N); -1 for none."""
    relevance = np.full(shape, -1, dtype=np.int8)
    if slots.grade is None:
        return relevance
    outside = (slots.grade < -1) | (slots.grade > max_grade)
    if outside.any():
        index = int(np.flatnonzero(outside)[0])
        row = int(slots.row[slots.page[index]])
        raise BadLog(
            f"{source.describe_row(row)}: the page has a grade of {slots.grade[index]}, outside "
            f"-1..{max_grade}"
        )
    votes = np.zeros((len(query), max_grade + 1), dtype=np.int64)
    given = slots.grade >= 0
    np.add.at(votes, (pair[given], slots.grade[given]), 1)
    best = max_grade - np.argmax(votes[:, ::-1], axis=1)
    relevance[query, place] = np.where(votes.any(axis=1), best, -1)
    report.count("grade_conflicts", int(((votes > 0).sum(axis=1) > 1).sum()))
    return relevance


def _features(
    slots: Slots,
    pair: Integers,
    query: Integers,
    place: Integers,
    shape: tuple[int, int],
    report: LogReport,
) -> np.ndarray[Any, np.dtype[np.float32]]:
    assert slots.features is not None
    first = np.empty(len(query), dtype=np.int64)
    first[pair[::-1]] = np.arange(len(pair))[::-1]
    rows = slots.features[first].astype(np.float32)
    differ = (slots.features.astype(np.float32) != rows[pair]).any(axis=1)
    report.count("feature_conflicts", len(np.unique(pair[differ])))
    result = np.zeros((*shape, rows.shape[1]), dtype=np.float32)
    result[query, place] = rows
    return result


def _page_numbers(
    column: pa.ChunkedArray, slots: Slots, what: str, source: TableSource
) -> Floats:
    values = number(column, what, source)[slots.row]
    if (values < 0).any():
        page = int(np.flatnonzero(values < 0)[0])
        raise BadLog(f"{source.describe_row(int(slots.row[page]))}: the {what} is below 0")
    return values
