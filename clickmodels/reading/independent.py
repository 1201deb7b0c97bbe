"""What all models without any dependence between the slots of a page share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Booleans, Floats, Integers
from ..base import ClickModel
from ..pages import check_pages, zero_after_impossible
from ..saving import constructor_arguments


class IndependentModel(ClickModel):
    """A model in which a click depends on query, document and rank, and on nothing else.

    A subclass gives ``_probs``, ``shape``, ``relevance``, ``state`` and how it is fitted.
    """

    deterministic = frozenset({"table"})
    reads_down = True

    def _probs(self, query: Integers, document: Integers, rank: Integers) -> Floats:
        """Return P(C = 1), a new array; 0 where the document is -1.

        The arguments are of shapes that broadcast to the document's; ``rank`` counts from 0.
        """
        raise NotImplementedError

    def click_probs(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(C_k = 1), (n, K)."""
        query, ranking = check_pages(self, query, ranking)
        return self._probs(query[:, None], ranking, np.arange(ranking.shape[1]))

    @property
    def cheap_expectations(self) -> bool:
        """True: a click depends on its own slot alone."""
        return True

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> Floats:
        """Return ``click_probs``: clicks on other slots tell nothing."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        return zero_after_impossible(self.click_probs(query, ranking), clicks)

    def sample_columns(self, query: Integers, columns: Integers, rng: Generator) -> Booleans:
        """Draw clicks, (K, n)."""
        probs = self._probs(query, columns, np.arange(len(columns))[:, None])
        return rng.random(columns.shape) < probs


class WithWorldSize:
    """The part of a click model that takes the world's size, and knows no documents beyond it."""

    def __init__(self, n_queries: int, n_docs: int) -> None:
        self.n_queries = checks.positive_integer(n_queries, "n_queries")
        self.n_docs = checks.positive_integer(n_docs, "n_docs")

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and candidate places."""
        return self.n_queries, self.n_docs

    def state(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return constructor_arguments(self)

    def relevance(self) -> Floats:
        """Return zeros, (Q, N): all documents tie."""
        return np.broadcast_to(0.0, self.shape)
