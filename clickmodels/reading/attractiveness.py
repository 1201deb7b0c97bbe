"""Attractiveness per (query, document), and models that have it."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Floats
from ..saving import constructor_arguments
from .tables import Table, as_table


def read_probabilities(values: ArrayLike, name: str, ndim: int) -> Floats:
    """Return a read-only copy of an array of probabilities with at least one entry."""
    array = checks.probabilities(values, name, ndim).copy()
    if not array.size:
        raise ValueError(f"{name} is empty, shape {array.shape}")
    array.flags.writeable = False
    return array


class WithAttractiveness:
    """The part of a click model that has P(attractive) by query and document, (Q, N).

    Families and models take it beside ``ClickModel``; what they read from it is theirs.
    """

    pair_tables: ClassVar[frozenset[str]] = frozenset({"attractiveness"})

    def __init__(self, attractiveness: ArrayLike | Table) -> None:
        self._attractiveness = as_table(attractiveness, "attractiveness")

    @property
    def attractiveness(self) -> Floats:
        """P(attractive), (Q, N)."""
        return self._attractiveness.values

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and candidate places."""
        return self._attractiveness.shape

    def state(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return constructor_arguments(self)

    def relevance(self) -> Floats:
        """Return the attractiveness, (Q, N)."""
        return self.attractiveness
