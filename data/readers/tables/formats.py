"""Special formats of real logs, each turned into a plain table of clicks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ....common import checks
from . import records
from .lists import as_lists, list_lengths, make_lists
from .sources import Adapted, BadLog, Source, TableSource, inside_lists, is_path, own_errors
from .text import open_source
from .values import encode_ids


def adapt(source: Source, format: str | None) -> Adapted:
    """Return ``source`` as a plain table of clicks; None is a plain table already."""
    if format is None:
        return Adapted(open_source(source), {})
    checks.choice(format, tuple(FORMATS), "format")
    return _call(FORMATS[format], source)


def adapt_labels(source: Source, format: str | None) -> Adapted:
    """Return grades in the way that a format has them as a plain table."""
    return _call(_LABELS.get(format or "", _plain), source)


def _call(adapter: Callable[[Source], Adapted], source: Source) -> Adapted:
    """Return what an adapter makes of a source; whatever it raises about it names it."""
    with own_errors(str(source) if is_path(source) else "the table"):
        return adapter(source)


def _plain(source: Source) -> Adapted:
    return Adapted(open_source(source), {})


def _clax(source: Source) -> Adapted:
    """One row per page: ``query_doc_ids[]``, ``clicks[]``, perhaps ``query_id``, ``doc_ids[]``.

    Without a query, those are found whose documents stand on a page together: a ``query_doc_id``
    belongs to one query only, so connected pages are of one query.
    """
    opened = open_source(source)
    document = "doc_ids" if "doc_ids" in opened.names else "query_doc_ids"
    _require(opened, (document, "clicks"))
    rank = "positions" if "positions" in opened.names else ""
    roles: dict[str, str | None] = {"document": document, "click": "clicks", "rank": rank}
    if "query_id" in opened.names:
        return Adapted(opened, roles | {"query": "query_id"})
    _require(opened, ("query_doc_ids",))
    table = opened.read(opened.names, ())
    lists = as_lists(table["query_doc_ids"], "documents", opened)
    counts = list_lengths(lists)
    if not counts.any():
        raise BadLog(f"{opened.where}: no page shows a document")
    page = np.repeat(np.arange(len(counts)), counts)
    flat = pa.chunked_array([lists.flatten()])
    documents = encode_ids(flat, "document", inside_lists(opened, page))
    size = len(counts) + len(documents.names)
    edges = (page, documents.codes + len(counts))
    graph = coo_array((np.ones(len(page), dtype=bool), edges), shape=(size, size))
    _, component = connected_components(graph, directed=False)
    pages = [str(number) for number in range(int(component.max()) + 1)]
    query = pa.array(pages).take(pa.array(component[: len(counts)]))
    table = table.append_column("connected pages", query)
    roles = roles | {"query": "connected pages", "document": "query_doc_ids"}
    return Adapted(_replace_table(opened, table), roles)


def _baidu_ultr(source: Source) -> Adapted:
    """One row per document: ``query_id``, ``position``, ``click``, and the document's hash.

    The query is ``query_md5`` where there is one: the query ids of this data collide, and those
    that do are counted.
    """
    opened = open_source(source)
    query = "query_md5" if "query_md5" in opened.names else "query_id"
    names = ("text_md5", "url_md5", "document_id", "doc_id")
    document = next((name for name in names if name in opened.names), names[0])
    _require(opened, (query, document, "position", "click"))
    roles: dict[str, str | None] = {
        "query": query, "document": document, "rank": "position", "click": "click",
        "page": "", "session": "", "user": "", "time": "",
    }  # fmt: skip
    oddities = {}
    if query == "query_md5" and "query_id" in opened.names:
        oddities["colliding_queries"] = _count_collisions(opened)
    return Adapted(opened, roles, oddities)


def _count_collisions(opened: TableSource) -> int:
    """Return how many query ids stand for several queries."""
    names = ("query_id", "query_md5")
    table = opened.read(names, names)
    ids, queries = (encode_ids(table[name], name, opened).codes for name in names)
    pairs = np.unique(ids << 32 | queries)
    return int((np.bincount(pairs >> 32) > 1).sum())


def _open_bandit(source: Source) -> Adapted:
    """One row per shown item: ``timestamp, item_id, position, click, propensity_score``.

    Slates cannot be put together again, so a row is a page of one slot whose query is its
    position. Every item can be shown at every position.
    """
    opened = open_source(source)
    _require(opened, ("item_id", "position", "click", "propensity_score"))
    table = opened.read(opened.names, ("item_id", "position"))
    items = encode_ids(table["item_id"], "item_id", opened)
    every = np.arange(table.num_rows)
    pages = make_lists(items.names.take(pa.array(items.codes)), every, table.num_rows)
    table = table.append_column("items", pages)
    roles: dict[str, str | None] = {
        "query": "position", "document": "items", "click": "click", "rank": "",
        "propensity": "propensity_score", "user": "", "session": "", "page": "",
    }  # fmt: skip
    return Adapted(_replace_table(opened, table), roles, catalogue=True)


def _replace_table(opened: TableSource, table: pa.Table) -> TableSource:
    """Return a source with the same rows and other columns."""
    names = tuple(table.column_names)
    return TableSource(
        opened.where, names, lambda columns, ids: table.select(columns), opened._place
    )


def _require(opened: TableSource, names: tuple[str, ...]) -> None:
    missing = [name for name in names if name not in opened.names]
    if missing:
        raise BadLog(
            f"{opened.where}: no column {', '.join(map(repr, missing))}, which this format has"
        )


FORMATS: dict[str, Callable[[Source], Adapted]] = {
    "yandex-2011": records.yandex_2011,
    "yandex-2013": records.yandex_2013,
    "clax": _clax,
    "baidu-ultr": _baidu_ultr,
    "open-bandit": _open_bandit,
    "pyclick": records.pyclick,
    "sessions": records.sessions,
}
_LABELS: dict[str, Callable[[Source], Adapted]] = {
    "yandex-2011": records.yandex_2011_labels,
    "sessions": records.session_labels,
}
