"""The slates paper's worlds and policies: the m best documents, slates of l of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ... import data, policies
from ...data import World
from ..worlds import WorldSetting, scores_of, world_of

FILTER = "tree-title"  # whose best m documents are the candidates
TARGETS = ("tree-body", "lasso-body")
LOGGINGS = (("uniform", 0.0), ("tree", 1.0), ("tree", 2.0), ("lasso", 1.0), ("lasso", 2.0))


@dataclass(frozen=True)
class SlateSpace:
    """Slates of ``slots`` of ``candidates`` documents, and the policy that logs them.

    ``logging`` is "uniform", or the kind of ranker ("tree", "lasso") whose order on title features
    p_alpha follows with ``alpha``.
    """

    candidates: int
    slots: int
    logging: str = "uniform"
    alpha: float = 0.0
    world: WorldSetting = field(default_factory=WorldSetting)

    @property
    def ranker(self) -> str:
        """The ranker that candidates are ordered by."""
        return FILTER if self.logging == "uniform" else f"{self.logging}-title"


def check_space(space: tuple[int, int], name: str) -> None:
    """Raise where slates of l of m documents, (m, l), cannot be made."""
    candidates, slots = space
    if not 1 <= slots <= candidates:
        raise ValueError(f"{name}: slates of {slots} of {candidates} documents cannot be made")


def read_space(text: str) -> tuple[int, int]:
    """Return the slate space (m, l) of a text such as "10,5"."""
    candidates, _, slots = text.partition(",")
    if not (candidates.isdigit() and slots.isdigit()):
        raise ValueError(f"takes m,l such as 10,5, not {text!r}")
    return int(candidates), int(slots)


@lru_cache(maxsize=4)
def slate_world(space: SlateSpace) -> World:
    """Return the world of queries with at least m candidates, and of their m best.

    Candidates are the best by the ``FILTER``, in the order of the space's ranker, so that p_alpha
    has the same weights for every query. Queries are asked equally often, as in the paper.
    """
    world, order = world_of(space.world), _order(space)
    return world_of_documents(world, _queries(space), order)


@lru_cache(maxsize=4)
def slate_logging(space: SlateSpace) -> policies.PlackettLuce:
    """Return the logging policy."""
    world = slate_world(space)
    if space.logging == "uniform":
        return policies.Uniform(world, space.slots)
    falling = np.broadcast_to(-np.arange(float(world.n_docs)), world.gain.shape)
    return policies.p_alpha(falling, space.alpha, space.slots, world=world)


@lru_cache(maxsize=8)
def slate_target(space: SlateSpace, ranker: str) -> policies.Ranker:
    """Return the deterministic policy that shows the l best documents of ``ranker``.

    Ties are ordered by the documents' places in the whole world, so that a target is the same
    whoever logs.
    """
    documents = _order(space)
    scores = scores_of(ranker, space.world)[_queries(space)[:, None], documents]
    order = np.lexsort((documents, -scores), axis=1)
    falling = np.empty(order.shape)
    np.put_along_axis(falling, order, np.broadcast_to(-np.arange(order.shape[1]), order.shape), 1)
    return policies.Ranker(falling, space.slots, world=slate_world(space))


def _queries(space: SlateSpace) -> NDArray[np.int64]:
    """Return the queries with enough candidates."""
    known = world_of(space.world)
    enough = np.flatnonzero(known.n_candidates >= space.candidates)
    if not len(enough):
        longest = int(known.n_candidates.max())
        raise ValueError(f"no query has {space.candidates} candidates, the most are {longest}")
    return enough


def _order(space: SlateSpace) -> NDArray[np.int64]:
    """Return the candidates (queries, m) in the order of the space's ranker."""
    queries = _queries(space)
    best = policies.Ranker(scores_of(FILTER, space.world), space.candidates).rankings[queries]
    scores = scores_of(space.ranker, space.world)[queries[:, None], best]
    return np.take_along_axis(best, np.argsort(-scores, axis=1, kind="stable"), axis=1)


def world_of_documents(
    world: World, queries: NDArray[np.int64], documents: NDArray[np.int64]
) -> World:
    """Return the world of ``queries`` (n,), asked equally often, with ``documents`` (n, m)."""
    at = (queries[:, None], documents)
    features = None if world.features is None else world.features[at]
    if features is not None:
        features.flags.writeable = False  # shared instead of copied
    return data.World(
        world.relevance[at], features, candidates=world.candidates[at],
        max_grade=world.max_grade, name=world.name,
    )  # fmt: skip


def world_of_queries(world: World, queries: NDArray[np.int64]) -> World:
    """Return the world of some queries, asked equally often, with all their documents."""
    every = np.broadcast_to(np.arange(world.n_docs), (len(queries), world.n_docs))
    return world_of_documents(world, queries, every)
