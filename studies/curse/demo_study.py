"""The whole story in small: the curse, and then the cure, on the same logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from ..constants import FOUR_MODELS
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import SMALL_WORLD, WorldSetting
from .curse_pictures import curse_picture, curse_table
from .curse_study import Curse, curse_row

LOGGING = "epsilon-oracle"
_CURSED, _CURED = "the curse: fitting, optimising, deploying", "the cure: the same, carefully"


@register("demo")
@dataclass(frozen=True)
class Demo(Study):
    """Log clicks, fit PBM, UBM, DBN and NCM, optimise inside them, deploy on the true user.

    Then the same with fits that know why a document was not shown, and with promises that are as
    high as the log supports. Policies may show all candidates.

    Example:
      clickgym demo --user DBN --queries 100 --impressions 10000
    """

    users: tuple[str, ...] = setting(("CoCM-mismatch",), flag="user")
    impressions: int = setting(50_000, least=10)
    seeds: int = setting(1)
    world: WorldSetting = setting(WorldSetting)
    models: tuple[str, ...] = setting(FOUR_MODELS, flag="", known=lambda: FOUR_MODELS)
    slots: int = setting(10, flag="")

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(impressions=300, world=SMALL_WORLD, models=("PBM",), slots=3)

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the curse, then the cure."""
        curse = Curse(
            self.users, (LOGGING,), self.models, self.seeds, self.world, self.impressions,
            self.slots, documents="all",
        )  # fmt: skip
        for name, study, place in (
            (_CURSED, curse, "cells"),
            (_CURED, replace(curse, prior="exposure", pessimism="auto"), "cured"),
        ):
            (stage,) = study.stages(folder, results)
            yield replace(stage, name=name, folder=place)

    def rows(self, results: Results) -> list[Row]:
        """Return a row per model, with and without the cure."""
        rows = [curse_row(cell, result) for name in (_CURSED, _CURED) if name in results
                for cell, result in results[name]]  # fmt: skip
        return sorted(
            rows, key=lambda row: (row["prior"] != "", self.models.index(row["model"]))
        )

    def files(self, rows: list[Row]) -> dict[str, list[Row]]:
        """Return the rows of the curse and of the cure apart."""
        return {
            "rows.parquet": [row for row in rows if not row["prior"]],
            "cured.parquet": [row for row in rows if row["prior"]],
        }

    def report(self, rows: list[Row]) -> Report:
        """Return two tables and two pictures for each user."""
        cursed, cured = self.files(rows).values()
        tables: dict[str, list[Any]] = {"The curse": [], "The cure": []}
        for heading, part in zip(tables, (cursed, cured), strict=True):
            for user in dict.fromkeys(self.users):
                table = curse_table(part, user, LOGGING)
                table.title = f"{heading}: {table.title}"
                tables[heading].append(table)
        figures = {
            "curse.png": ("The curse: deployed and promised values", curse_picture(cursed)),
            "cured.png": ("The cure: deployed and promised values", curse_picture(cured)),
        }
        tops = [axis.get_ylim()[1] for _, figure in figures.values() for axis in figure.axes]
        for _, figure in figures.values():
            for axis in figure.axes:
                axis.set_ylim(0.0, max(tops))
        return Report(
            "The curse and the cure", "What click models promise, and what users deliver.",
            tables, figures,
        )  # fmt: skip
