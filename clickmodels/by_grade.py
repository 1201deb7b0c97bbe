"""Parameters by grade: a log's documents become their grades, which are then fitted like documents.

All documents of a grade share one attractiveness (and one satisfaction, where a model has it);
those without a grade are a class of their own. A fit sees one query whose candidates are the
classes, so that every fit of tables works by grade without knowing it.
"""

from __future__ import annotations

import numpy as np

from ..common.typing import Integers
from ..data import ClickLog, World


class Grades:
    """The grades of a world's documents as the candidates of one query.

    Attributes
    ----------
    classes : (Q, N)
        Each document's class: its grade, or ``max_grade + 1`` where it has none.
    world : World
        One query whose candidates are the ``max_grade + 2`` classes.
    """

    def __init__(self, world: World) -> None:
        world.require_grades("parameters='grade' needs")
        unjudged = world.max_grade + 1
        grades = world.relevance.astype(np.int64)
        self.classes: Integers = np.where(grades >= 0, grades, unjudged)
        self.world = World(
            [[*range(unjudged), -1]],
            candidates=np.ones((1, unjudged + 1), dtype=bool),
            max_grade=world.max_grade,
            vertical=None if world.vertical is None else [world.vertical.max()],
        )

    def log(self, log: ClickLog) -> ClickLog:
        """Return the log with classes in place of documents; a page may show one many times."""
        ranking = self.classes[log.query[:, None], log.ranking]
        ranking[log.ranking < 0] = -1
        return ClickLog(
            np.zeros(len(log), dtype=np.int32), ranking.astype(np.int8), log.clicks,
            weight=log.weight, vertical=log.vertical, vertical_position=log.vertical_position,
        )  # fmt: skip
