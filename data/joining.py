"""A log in the indices of another world: what two tables call the same is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..common.typing import Integers
from .document_ids import DocumentIds
from .log import ClickLog
from .world import World


def join_log(log: ClickLog, own: World, world: World) -> tuple[ClickLog, int]:
    """Return a log of the world ``own`` in the indices of ``world``, by the ids of both.

    Returns
    -------
    log : ClickLog
        The pages whose query and documents ``world`` has, in order.
    left_out : int
        How many pages it does not have.
    """
    log.check_world(own)
    if own.query_ids is None or world.query_ids is None:
        raise ValueError("both worlds must have ids of queries")
    if own.doc_ids is None or world.doc_ids is None:
        raise ValueError("both worlds must have ids of documents")
    query_of = _find(own.query_ids, world.query_ids)
    document_of = _find_pairs(own.doc_ids, world.doc_ids, query_of)
    query, shown = query_of[log.query], log.ranking >= 0
    ranking = np.where(shown, document_of[log.query[:, None], log.ranking], -1)
    known = (query >= 0) & ~(shown & (ranking < 0)).any(axis=1)
    left = log[known]
    joined = ClickLog(
        query[known].astype(np.int32), ranking[known].astype(np.int32), left.clicks,
        left.log_propensity, left.weight, vertical=left.vertical,
        vertical_position=left.vertical_position, extra=left.extra, fingerprint=world.fingerprint,
    )  # fmt: skip
    return joined, int((~known).sum())


def _find(wanted: NDArray[Any], known: NDArray[Any]) -> Integers:
    """Return the index of each text among those that are known, -1 where it is not."""
    places = pc.index_in(pa.array(wanted.tolist()), value_set=pa.array(known.tolist()))
    return pc.fill_null(places, -1).to_numpy().astype(np.int64)


def _find_pairs(own: DocumentIds, other: DocumentIds, query_of: Integers) -> Integers:
    """Return the other world's index of each document, of queries that it has, (Q, N), or -1."""
    size = np.int64(len(other.names))
    other_query, other_place = _flat_pairs(other)
    keys = other_query * size + other.codes
    order = np.argsort(keys, kind="stable")
    query, place = _flat_pairs(own)
    code = _find(own.names, other.names)[own.codes]
    wanted = query_of[query] * size + code
    found = np.searchsorted(keys[order], wanted)
    found = order[np.minimum(found, len(order) - 1)]
    same = (keys[found] == wanted) & (query_of[query] >= 0) & (code >= 0)
    result = np.full(own.shape, -1, dtype=np.int64)
    result[query, place] = np.where(same, other_place[found], -1)
    return result


def _flat_pairs(ids: DocumentIds) -> tuple[Integers, Integers]:
    """Return the query of each pair and its place among that query's documents, (P,) each."""
    query = np.repeat(np.arange(ids.shape[0]), np.diff(ids.starts))
    return query, np.arange(len(ids.codes)) - ids.starts[query]
