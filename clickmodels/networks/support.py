"""What a network cannot know, from a table: documents that the log hardly ever showed.

A network has only its first random weights for them. A table that is fitted to the same log's
counts, with a prior that follows exposure or the logging score, has a posterior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...common.typing import Floats
from ..uncertainty.posterior import Uncertainty

if TYPE_CHECKING:
    from ..base import ClickModel

_HALF = 300.0  # impressions with which a document's network counts as much as the table


@dataclass(frozen=True, eq=False)
class Support:
    """The posterior of a table fitted to a network's log, and how often the log showed what.

    Attributes
    ----------
    tables : dict of (Q, N)
        Means by name, such as "attractiveness".
    strengths : dict of (Q, N) float32
        As how many trials their posteriors count.
    shown : (Q, N)
        Impressions of each document.
    model : ClickModel
        The table itself.
    """

    tables: Mapping[str, Floats]
    strengths: Mapping[str, NDArray[np.float32]]
    shown: Floats
    model: ClickModel

    @classmethod
    def of(cls, model: ClickModel, shown: Floats) -> Support:
        """Return that of a fitted table with a posterior."""
        assert model.uncertainty is not None
        state, strengths = model.state(), model.uncertainty.strengths
        return cls({name: np.asarray(state[name]) for name in strengths}, strengths, shown, model)

    @property
    def uncertainty(self) -> Uncertainty:
        """What a network keeps of it."""
        return Uncertainty(self.strengths)


def own_weight(shown: Floats) -> Floats:
    """Return how far what a network says of a document is its own: from 0, never shown, to 1."""
    return shown / (shown + _HALF)


def agreeing(table: Floats, own: Floats, weight: Floats) -> Floats:
    """Return the table (Q, N) on the scale of ``own``: well shown documents agree on average."""
    theirs = float((weight * table).sum())
    return table * (float((weight * own).sum()) / theirs if theirs > 0 else 1.0)


def blend(own: Floats, table: Floats, shown: Floats) -> Floats:
    """Return probabilities (Q, N): a network's of documents that were shown, else the table's."""
    weight = own_weight(shown)
    other = np.minimum(agreeing(table, own, weight), 1.0)
    return weight * own + (1.0 - weight) * other
