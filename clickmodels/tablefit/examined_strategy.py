"""Models with P(click) = attractiveness of the pair × examination of the cell, as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data import ClickLog, World
from ..base import ClickModel
from .cells import Cells
from .examined_fit import Examination, Fitted, LinearExamination, fit_examined
from .pair_counts import PairCellFold
from .strategy import StructuralModel, pair_table

Floats = NDArray[np.float64]


class ExaminedModel(StructuralModel):
    """A model under the examination hypothesis; subclasses say what examination depends on."""

    @classmethod
    def _cells(cls, slots: int) -> Cells:
        """Return what numbers the examination cells of pages; raises where pages are too long."""
        raise NotImplementedError(f"{cls.__name__} does not define _cells()")

    @classmethod
    def _examination(cls, fold: PairCellFold, seed: int) -> Examination:
        """Return how examination follows from θ: here a parameter a cell."""
        return LinearExamination(len(fold.cells))

    @classmethod
    def _of_tables(
        cls, attractiveness: Floats, theta: Floats, examination: Examination, fold: PairCellFold
    ) -> ClickModel:
        """Return the model."""
        raise NotImplementedError(f"{cls.__name__} does not define _of_tables()")

    @classmethod
    def _fold(cls, log: ClickLog, world: World) -> PairCellFold:
        return PairCellFold(log, world, cls._cells(log.slots))

    @classmethod
    def _search(
        cls, fold: Any, counts: Any, seed: int, start: Any, **settings: Any
    ) -> tuple[Fitted, Examination]:
        examination = cls._examination(fold, seed)
        begin = None if start is None else start[0]
        return fit_examined(
            counts, len(fold.pairs), len(fold.cells), examination, begin
        ), examination

    @classmethod
    def _made(cls, fold: Any, fitted: Any, world: World) -> ClickModel:
        found, examination = fitted
        attractiveness = pair_table(fold.pairs, found.logits, found.prior, world)
        return cls._of_tables(attractiveness, found.theta, examination, fold)
