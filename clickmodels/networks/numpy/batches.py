"""The pages of a log, cut into batches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from ....common.typing import Booleans, Integers
from ....data import ClickLog
from ...cells import Cells, cell_numbers
from ...pages import row_weights
from ..embeddings import PairEncoder
from .parameters import Floats


class Distinct:
    """The distinct values ``rows`` (d,) of an index (m,), and each one's ``place`` there, (m,)."""

    def __init__(self, index: Integers) -> None:
        order = index.argsort()
        ordered = index[order]
        new = np.empty(len(index), dtype=np.bool_)
        new[:1] = True
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        places = new.cumsum() - 1
        self.rows = ordered[new]
        self.place = np.empty(len(index), dtype=np.int64)
        self.place[order] = places
        self._first, self._again, self._again_place = order[new], order[~new], places[~new]

    def sums(self, values: Floats) -> Floats:
        """Return the sum (d, H) of the ``values`` (m, H) of each distinct index.

        Most stand alone and are only copied; the others are sorted together and added.
        """
        result: Floats = values.take(self._first, axis=0)
        if len(self._again):
            starts = np.flatnonzero(np.diff(self._again_place, prepend=-1))
            more = np.add.reduceat(values.take(self._again, axis=0), starts, axis=0)
            result[self._again_place[starts]] += more
        return result


@dataclass(frozen=True)
class Batch:
    """Some pages: ``clicks``, ``shown`` and ``cells`` are (K, n), ``weight`` (n,) sums to one.

    ``documents`` are rows of the encoder's table, flat, ``cells`` number what the examination of
    a slot depends on, and ``total`` is the sum of the weights in the log.
    """

    queries: Distinct
    documents: Distinct
    clicks: Booleans
    shown: Booleans
    cells: Integers
    weight: Floats
    total: float

    @cached_property
    def distinct_cells(self) -> Distinct:
        """The distinct cells of all slots."""
        return Distinct(self.cells.ravel())


class Pages:
    """A log of which batches are asked for."""

    def __init__(self, log: ClickLog, encoder: PairEncoder, cells: Cells) -> None:
        ranking, self._query = log.ranking.astype(np.int64), log.query.astype(np.int64)
        pages = torch.from_numpy(self._query), torch.from_numpy(ranking)
        self._document = encoder.document_rows(*pages).numpy()
        self._empty, self._clicks = encoder.empty, np.asarray(log.clicks)
        self._cells = cell_numbers(cells, self._clicks)
        self._weight = row_weights(log).astype(np.float32)

    def batch(self, rows: Integers) -> Batch:
        """Return the chosen pages."""
        documents = self._document[rows].T.copy()
        weight = self._weight[rows]
        total = max(float(weight.sum()), 1e-12)
        return Batch(
            Distinct(self._query[rows]), Distinct(documents.ravel()),
            self._clicks[rows].T.copy(), documents != self._empty, self._cells[rows].T.copy(),
            weight / total, total,
        )  # fmt: skip

    def batches(self, rows: int) -> list[Batch]:
        """Return all pages, ``rows`` at a time, sorted by query because those share documents."""
        order = self._query.argsort(kind="stable")
        return [self.batch(order[i : i + rows]) for i in range(0, len(order), rows)]
