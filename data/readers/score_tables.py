"""Scores of documents from a table of one's own, in the indices of a world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.typing import Floats, Integers
from ..world import World
from .tables.sources import BadLog, Source
from .tables.text import open_source

COLUMNS = ("query", "document", "score")


def read_scores(source: Source, world: World) -> Floats:
    """Read a table with the columns query, document and score, in the ids of ``world``.

    Parameters
    ----------
    source : path, or a frame
        CSV, Parquet or what else ``read_log`` opens.
    world : World
        Rows of queries and documents that it does not have are left out. Without ids, queries and
        documents are its indices.

    Returns
    -------
    (Q, N) floats
        -inf where the table has no score.
    """
    opened = open_source(source)
    for name in COLUMNS:
        if name not in opened.names:
            raise BadLog(
                f"{opened.where}: no column {name!r}; scores have {', '.join(COLUMNS)}, and this "
                f"table has {', '.join(opened.names)}"
            )
    table = opened.read(COLUMNS, COLUMNS[:2])
    where = opened.where
    try:
        score = pc.cast(table["score"], pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise BadLog(f"{where}: column score has what is no number ({error})") from error
    query, place = _find_places(table["query"], table["document"], world)
    known = place >= 0
    if not known.any():
        raise BadLog(f"{where}: no row has a query and a document that {world} has")
    odd = known & ~np.isfinite(score)
    if odd.any():
        row = int(odd.argmax())
        raise BadLog(f"{opened.describe_row(row)}: the score is {score[row]}")
    key = query[known] * np.int64(world.n_docs) + place[known]
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    if counts.max() > 1:
        row = int(np.flatnonzero(known)[first[counts.argmax()]])
        raise BadLog(
            f"{where}: query {table['query'][row]} has document {table['document'][row]} twice"
        )
    result = np.full((world.n_queries, world.n_docs), -np.inf)
    result.reshape(-1)[key] = score[known]
    return result


def _find_places(query: Any, document: Any, world: World) -> tuple[Integers, Integers]:
    """Return each row's query and the document's index in it, -1 where the world lacks it."""
    names = world.query_ids if world.query_ids is not None else np.arange(world.n_queries)
    row = _find(query, names)
    if world.doc_ids is None:
        return row, np.where(row >= 0, _find(document, np.arange(world.n_docs)), -1)
    ids = world.doc_ids
    code, size = _find(document, ids.names), np.int64(len(ids.names))
    starts = ids.starts
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    keys = owner * size + ids.codes
    order = np.argsort(keys, kind="stable")
    wanted = np.where(ids.repeats, 0, row) * size + code
    found = order[np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)]
    same = (keys[found] == wanted) & (row >= 0) & (code >= 0)
    return row, np.where(same, found - starts[owner[found]], -1)


def _find(column: Any, known: Any) -> Integers:
    """Return the index of each text among those that are known, -1 where it is not."""
    texts = pc.cast(column, pa.string())
    names = pa.array([str(one) for one in known.tolist()], pa.string())
    places = pc.fill_null(pc.index_in(texts, value_set=names), -1)
    return places.to_numpy().astype(np.int64)
