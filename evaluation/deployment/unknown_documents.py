"""What to look at first: documents that a policy shows and its log hardly showed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...data import World
from ..logs.description import RARE
from ..logs.pairs import LoggedPairs
from ..values import ShownPages

MOST = 10  # documents that are named


@dataclass(frozen=True)
class UnknownDocument:
    """A document that the policy shows and the log showed fewer than ten times for its query.

    Attributes
    ----------
    query, document : str
        The world's own ids, or its indices.
    rank : float
        Where the policy shows it on average, from 1.
    share : float
        Of all that the policy shows, over all queries.
    logged : float
        How often the log showed it for this query.
    """

    query: str
    document: str
    rank: float
    share: float
    logged: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def find_unknown(
    pages: ShownPages, pairs: LoggedPairs, world: World, most: int = MOST
) -> tuple[UnknownDocument, ...]:
    """Return the unknown documents that a policy shows most, highest on its pages first."""
    row, slot = np.nonzero(pages.ranking >= 0)
    query, document, mass = pages.query[row], pages.ranking[row, slot], pages.weight[row]
    keys, place = np.unique(query * world.n_docs + document, return_inverse=True)
    shown = np.bincount(place, mass)
    rank = np.bincount(place, mass * (slot + 1)) / np.maximum(shown, 1e-300)
    queries, documents = keys // world.n_docs, keys % world.n_docs
    logged = pairs.count(queries, documents)
    unknown = np.flatnonzero(logged < RARE)
    order = unknown[np.lexsort((unknown, rank[unknown], -np.round(shown[unknown], 9)))][:most]
    total = float(mass.sum())
    return tuple(
        UnknownDocument(
            _query_id(world, int(queries[one])),
            _document_id(world, int(queries[one]), int(documents[one])),
            float(rank[one]), float(shown[one]) / total, float(logged[one]),
        )
        for one in order.tolist()
    )  # fmt: skip


def _query_id(world: World, query: int) -> str:
    return str(query if world.query_ids is None else world.query_ids[query])


def _document_id(world: World, query: int, document: int) -> str:
    return str(document if world.doc_ids is None else world.doc_ids[query, document])
