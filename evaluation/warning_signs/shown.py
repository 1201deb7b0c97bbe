"""Which documents a policy shows in which slot, for all queries at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common.typing import Floats, Integers
from ...data import World
from ...policies import Policy
from ..values import SAMPLES

_EXACT_QUERIES = 1_000  # beyond, pages are drawn: placements cost milliseconds a query


@dataclass(frozen=True, eq=False)
class ShownDocuments:
    """The documents that a policy shows: one row for a query, a slot and a document.

    A document may have several rows.

    Attributes
    ----------
    query, slot, document : (m,)
    chance : (m,)
        P(the slot shows the document | the query); rows of one document add up.
    slots : int
    exact : bool
        Whether they are its probabilities, or shares of drawn pages.
    """

    query: Integers
    slot: Integers
    document: Integers
    chance: Floats
    slots: int
    exact: bool


def documents_shown(
    policy: Policy, world: World, samples: int = SAMPLES, seed: int = 0
) -> ShownDocuments:
    """Return what ``policy`` shows for the queries that are asked in ``world``.

    Exact for deterministic policies, and for up to a thousand queries for those whose
    ``placements`` are exact (Plackett-Luce; uniform; others with exact ``marginals``). Otherwise
    at least ``samples`` pages are drawn, two or more for each query.
    """
    policy.check_world(world)
    asked = np.flatnonzero(world.query_probs > 0)
    if policy.deterministic:
        return _of_pages(asked, policy.greedy(asked), np.ones(len(asked)), True)
    counts = np.maximum(np.ceil(samples * world.query_probs[asked]).astype(np.int64), 2)
    if len(asked) > _EXACT_QUERIES:
        query = np.repeat(asked, counts)
        pages = policy.sample(query, np.random.default_rng(seed))
        return _of_pages(query, pages, np.repeat(1.0 / counts, counts), False)
    parts, exact = [], True
    for one, number in zip(asked.tolist(), counts.tolist(), strict=True):
        found = policy.placements(one, number, seed)
        exact &= found.standard_error is None
        slots, documents = np.nonzero(found.probabilities)
        chances = found.probabilities[slots, documents]
        parts.append((np.full(len(slots), one), slots, documents, chances))
    query, slot, document, chance = (np.concatenate(part) for part in zip(*parts, strict=True))
    return ShownDocuments(query, slot, document, chance, policy.slots, exact)


def _of_pages(query: Integers, pages: Integers, chance: Floats, exact: bool) -> ShownDocuments:
    """Return the documents on pages (n, K) of queries (n,), each shown with a chance (n,)."""
    row, slot = np.nonzero(pages >= 0)
    shown = query[row], slot, pages[row, slot], chance[row]
    return ShownDocuments(*shown, slots=pages.shape[1], exact=exact)
