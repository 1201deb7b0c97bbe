"""Configurations: a query with a fixed page, block included, and what its sessions did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common import checks
from ...common.grouping import group_rows
from ...common.typing import Floats, Integers
from ...data import ClickLog, World
from ..metrics.model_metrics import page_grades


class Means(NamedTuple):
    """Means over sessions, (C,), NaN where there are none, and how many sessions they are of."""

    values: Floats
    sessions: Floats


@dataclass(frozen=True)
class Configurations:
    """The distinct pages of a log's queries.

    A metric of judged pages is the same for all sessions of a configuration; an online metric is
    averaged over them.

    Attributes
    ----------
    query : (C,)
    ranking : (C, K)
    vertical, vertical_position : (C,) or None
        The block of each page; None where the log has no such columns.
    sessions : (C,)
        How many impressions each stands for.
    row : (n,)
        The configuration of each row of the log.
    weight : (n,)
        How many impressions each row of the log stands for.
    """

    query: Integers
    ranking: Integers
    vertical: NDArray[Any] | None
    vertical_position: NDArray[Any] | None
    sessions: Floats
    row: Integers
    weight: Floats

    def __len__(self) -> int:
        """Return their number C."""
        return len(self.query)

    @property
    def blocks(self) -> dict[str, Any]:
        """The blocks as keyword arguments of ``evaluation.metric``."""
        return {"vertical": self.vertical, "vertical_position": self.vertical_position}

    def grades(self, world: World) -> Integers:
        """Return the grades of the pages for ``evaluation.metric``, (C, K)."""
        return page_grades(world, self.query, self.ranking)

    def mean(self, values: ArrayLike) -> Means:
        """Return the mean over its sessions of ``values`` (n,), one a row of the log.

        It is weighted by the impressions of each row. A row whose value is NaN does not count.
        """
        array = np.asarray(values, dtype=np.float64)
        checks.same_shape(array, self.row.shape, "values", "the log")
        kept = ~np.isnan(array)
        weight = np.where(kept, self.weight, 0.0)
        sessions = np.bincount(self.row, weight, len(self)).astype(np.float64)
        total = np.bincount(self.row, weight * np.where(kept, array, 0.0), len(self))
        means = np.full(len(self), np.nan)
        np.divide(total, sessions, out=means, where=sessions > 0)
        return Means(means, sessions)


def find_configurations(log: ClickLog) -> Configurations:
    """Return the configurations of a log: its distinct queries with ranking and block.

    Costs a sort of one word per row.
    """
    columns: list[NDArray[Any]] = [log.query[:, None], log.ranking]
    blocks = log.blocks(slice(None))
    columns += [block[:, None] for block in blocks if block is not None]
    first, row = group_rows(columns)
    vertical, position = (None if block is None else block[first] for block in blocks)
    sessions = np.bincount(row, log.counts, len(first)).astype(np.float64)
    return Configurations(
        log.query[first].astype(np.int64), log.ranking[first], vertical, position, sessions, row,
        log.counts,
    )  # fmt: skip
