"""The one reader for tables of clicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from ....common import checks
from ....common.runtime import warn_caller
from ....common.typing import Floats
from ...log import ClickLog
from ...world import World
from .building import Wanted, build_world_and_log
from .columns import IDS, Columns, find_columns, find_impressions
from .formats import adapt
from .labels import Labels, read_labels
from .lists import is_lists
from .report import LogReport
from .rows import Rows, read_slots, split_texts
from .slots import Slots
from .sources import BadLog, BadValue, Source, TableSource, is_path, shorten
from .values import number

_TINY = np.log(1e-5)


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
    vertical: str | None = None,
    vertical_position: str | None = None,
    features: str | Sequence[str] | None = None,
    extra: str | Sequence[str] = (),
    format: str | None = None,
    labels: Source | None = None,
    list_separator: str | None = None,
    propensity_of: str | None = None,
    slots: int | None = None,
    max_grade: int = 4,
    catalogue: bool | None = None,
    graded_only: bool = False,
    drop_clickless: bool = False,
    strict: bool = False,
) -> ReadLog:
    """Read any table of clicks as a world and a log: ``world, log = read_log("clicks.csv")``.

    Parameters
    ----------
    source : path, pandas or polars frame, Arrow table, mapping from names to columns
        CSV, TSV or JSON lines (plain, ``.gz`` or ``.zst``), Parquet, Arrow or feather files.
        Rows are long (one per shown document) or lists (one per page, with lists of documents and
        of clicks; in text, lists are written ``[a, b]`` or ``a|b``).
    query, document, rank, click, page, session, user, time, propensity, grade, weight : str
        Names of columns. One that is not given is guessed from the names that people use; ``""``
        says that there is none. Queries, documents and clicks must be there. Ranks count from 0
        or 1; without them rows are in order. Without page ids a page ends where the query, the
        session or the user changes or the rank does not rise. Clicks are flags, counts, or the
        ids of clicked documents.
    vertical, vertical_position : str
        Names of columns, both or neither, guessed as well: the type of the page's vertical block,
        a number from 0 on or a text, and how many results stand above it. Empty or -1 is none.
        Of texts, news, images, video and location are 0 to 3, others follow in alphabetical
        order, as the report says.
    features : str or sequence of str
        Columns of numbers, or one column of lists: the documents' features.
    extra : str or sequence of str
        More columns to keep with the log, one value per page (``log.extra``); session, user, time
        and page ids are kept anyway, ids as texts.
    format : str, optional
        A format of its own kind: "yandex-2011", "yandex-2013", "clax", "baidu-ultr",
        "open-bandit", "pyclick" or "sessions".
    labels : path, frame or Arrow table, optional
        Grades from elsewhere: a table of query, document and grade, or the format's own file.
    list_separator : str, optional
        What splits the documents of a page, their clicks and so on where each stands in one text,
        as "|" does in ``a|b``. Default: found, where the clicks are split in the same way or name
        documents of their row. ``""`` says that each text is one document.
    propensity_of : {"page", "slot"}, optional
        What a propensity belongs to; those of slots are multiplied. Default: of the page, if it
        is the same in all rows of every page.
    slots : int, optional
        Cut pages to so many documents.
    max_grade : int
        The highest grade there can be.
    catalogue : bool, optional
        Whether every document is a candidate of every query, as the items of a shop are, with
        the same index everywhere. Default: no, but for "open-bandit".
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
    MemoryError
        The log or its world would not fit into the memory that is available.
    """
    given = {
        "query": query, "document": document, "rank": rank, "click": click, "page": page,
        "session": session, "user": user, "time": time, "propensity": propensity, "grade": grade,
        "weight": weight, "vertical": vertical, "vertical_position": vertical_position,
    }  # fmt: skip
    if propensity_of is not None:
        checks.choice(propensity_of, ("page", "slot"), "propensity_of")
    longest = None if slots is None else checks.positive_integer(slots, "slots")
    wanted = Wanted(
        features=_as_names(features or ()),
        extra=_as_names(extra),
        max_grade=checks.positive_integer(max_grade, "max_grade"),
        catalogue=bool(catalogue),
        name=Path(source).name if is_path(source) else "",
    )
    report = LogReport("")
    adapted = adapt(source, format)
    if catalogue is None:
        wanted = wanted.with_catalogue(adapted.catalogue)
    for role, column in adapted.columns.items():
        given[role] = column if given[role] is None else given[role]
    for oddity, count in adapted.oddities.items():
        report.count(oddity, count)
    opened = adapted.source
    columns = find_columns(opened, given, wanted.features + wanted.extra)
    report.where, report.columns, report.roles = opened.where, str(columns), columns.by_role
    try:
        graded = None if labels is None else read_labels(labels, format)
        ids = {columns.by_role[role] for role in IDS if role in columns.by_role}
        names = [*columns.by_role.values(), *wanted.features, *wanted.extra]
        report.unused = tuple(
            name for name in opened.names if name not in names and not _is_index(name)
        )
        rows = Rows(opened.read(names, ids), columns, wanted.features, opened, report)
        report.rows = rows.table.num_rows
        rows = _leave_impressions(split_texts(rows, list_separator))
        columns = rows.columns
        whole = read_slots(rows)
        _check_sums(rows, weight)
        found = whole if longest is None else _cut_pages(whole, longest, report)
        found, log_propensity = _propensities(rows, whole, found, propensity_of)
        found, log_propensity = _filter_pages(
            found, log_propensity, drop_clickless, graded_only, graded, report
        )
        world, log = build_world_and_log(rows, found, log_propensity, graded, wanted)
    except (BadLog, pa.ArrowException) as error:
        raise _explain(error, opened, columns) from error
    if strict:
        report.refuse()
    elif report.summary:
        warn_caller(report.summary, UserWarning)
    return ReadLog(world, log, report)


def _as_names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _is_index(name: str) -> bool:
    return name.startswith("__index_level_")  # of a pandas frame


def _leave_impressions(rows: Rows) -> Rows:
    """Return rows without a guessed weight that counts the impressions of single documents.

    The rows that have more than one are counted: whoever has such a table has sums.
    """
    name = rows.columns.get("weight")
    long = not is_lists(rows.required("document"))
    if name is None or "weight" not in rows.columns.guessed or not long:
        return rows
    if name != find_impressions(rows.source):
        return rows
    columns, report = rows.columns.without("weight"), rows.report
    many = number(rows.table[name], name, rows.source, missing=1.0) > 1
    report.count("summed_rows", int(many.sum()))
    report.columns, report.roles = str(columns), columns.by_role
    report.unused = tuple(n for n in rows.source.names if n == name or n in report.unused)
    return replace(rows, columns=columns)


def _check_sums(rows: Rows, weight: str | None) -> None:
    """Refuse counts of clicks beside impressions; count them if ``weight`` says what is meant."""
    found, impressions = rows.report.oddities, find_impressions(rows.source)
    counts = found.get("multiple_clicks", 0) + found.get("summed_clicks", 0)
    if impressions is None or not counts:
        return
    if weight is None:
        raise BadLog(
            f"{rows.source.where}: {counts:,} documents have two clicks or more beside the column "
            f"{impressions!r}, so its rows seem to be sums over many pages; click models need the "
            'pages themselves, a row for each time that a document was shown (weight="" reads it '
            "as pages all the same)"
        )
    rows.report.count("summed_clicks", found.pop("multiple_clicks", 0))


def _explain(error: Exception, source: TableSource, columns: Columns) -> BadLog:
    """Return the error with what was guessed, where that may be why."""
    if isinstance(error, BadValue):
        return error
    text = (
        str(error)
        if isinstance(error, BadLog)
        else (f"{source.where}: cannot be read ({shorten(error)})")
    )
    guessed = ", ".join(f"{role}={columns.by_role[role]!r}" for role in columns.guessed)
    hint = f' (guessed: {guessed}; give others, or "" for none)' if guessed else ""
    return BadLog(text + hint)


def _propensities(
    rows: Rows, whole: Slots, slots: Slots, propensity_of: str | None
) -> tuple[Slots, Floats | None]:
    """Return the pages that could be shown at all, and their log propensities.

    ``slots`` are of the pages as they are kept, ``whole`` before they were cut.
    """
    column = rows.column("propensity")
    if column is None:
        return slots, None
    by_slot = _is_of_slots(rows, whole, propensity_of)
    if not by_slot and (slots.lengths < whole.lengths).any():
        raise BadLog(
            f"{rows.source.where}: pages are cut to fewer slots, but their propensities are of the "
            'whole page; keep all slots, or give propensity="" to do without propensities'
        )
    if slots.propensity is None:  # list rows with one number per page
        values = number(column, "propensity", rows.source)[slots.row]
    else:
        values = slots.propensity if by_slot else slots.propensity[slots.starts]
    wrong = (values < 0) | (values > 1)
    if wrong.any():
        index = int(np.flatnonzero(wrong)[0])
        page = int(slots.page[index]) if by_slot else index
        raise BadLog(
            f"{rows.source.describe_row(int(slots.row[page]))}: the propensity is "
            f"{values[index]}, outside 0..1"
        )
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    tiny = logs < _TINY
    if by_slot:
        tiny = np.logical_or.reduceat(tiny, slots.starts)
        logs = np.add.reduceat(logs, slots.starts)
        rows.report.notes.append("The propensity of a page is the product of its slots'.")
    possible = np.isfinite(logs)
    rows.report.count("zero_propensities", int((~possible).sum()))
    rows.report.count("tiny_propensities", int((tiny & possible).sum()))
    if not possible.any():
        raise BadLog(f"{rows.source.where}: the propensity of every page is 0")
    if (tiny & possible).any():
        least = np.exp(logs[possible].min())
        rows.report.notes.append(f"The smallest propensity of a page is {least:.3g}.")
    return slots.keep_pages(possible) if not possible.all() else slots, logs[possible]


def _is_of_slots(rows: Rows, slots: Slots, propensity_of: str | None) -> bool:
    """Whether propensities belong to slots: as said, or because they differ within a page."""
    if slots.propensity is None:
        if propensity_of == "slot":
            raise BadLog(f"{rows.source.where}: the propensities of slots must be lists")
        return False
    differ = slots.propensity != np.repeat(slots.propensity[slots.starts], slots.lengths)
    if propensity_of == "page" and differ.any():
        page = int(slots.page[differ][0])
        raise BadLog(
            f"{rows.source.describe_row(int(slots.row[page]))}: the propensity differs within "
            "the page; propensity_of='slot' multiplies those of its slots"
        )
    return propensity_of == "slot" or bool(differ.any())


def _cut_pages(slots: Slots, longest: int, report: LogReport) -> Slots:
    result = slots.cut(longest)
    report.count("cut_slots", len(slots.clicked) - len(result.clicked))
    report.count("cut_clicks", int(slots.clicked.sum()) - int(result.clicked.sum()))
    return result


def _filter_pages(
    slots: Slots,
    propensity: Floats | None,
    drop_clickless: bool,
    graded_only: bool,
    labels: Labels | None,
    report: LogReport,
) -> tuple[Slots, Floats | None]:
    """Return what is left of the pages after the cuts that were asked for."""
    kept = np.ones(len(slots.lengths), dtype=bool)
    if drop_clickless:
        clicked = np.bincount(slots.page, slots.clicked, len(slots.lengths)) > 0
        report.count("clickless_pages", int((~clicked).sum()))
        kept &= clicked
    if graded_only:
        if labels is not None:
            graded = labels.graded_queries(slots.query.names)
        elif slots.grade is not None:
            graded = np.zeros(len(slots.query.names), dtype=bool)
            graded[slots.query.codes[slots.page[slots.grade >= 0]]] = True
        else:
            raise BadLog(f"{report.where}: neither a column of grades nor labels=…")
        without = ~graded[slots.query.codes]
        report.count("ungraded_pages", int((kept & without).sum()))
        kept &= ~without
    if not kept.any():
        raise BadLog(f"{report.where}: no pages are left")
    if not kept.all():
        slots = slots.keep_pages(kept)
        propensity = None if propensity is None else propensity[kept]
    return slots, propensity
