"""The world that environments use when none is given."""

from __future__ import annotations

from functools import lru_cache

from .synthetic import synthetic_world
from .world import World


@lru_cache(maxsize=2)
def embedded_world(n_docs: int | None = 30) -> World:
    """Return the synthetic world of seed 0 with ``n_docs`` candidates a query, made once."""
    return synthetic_world(n_docs=n_docs, seed=0)
