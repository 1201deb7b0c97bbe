"""The recommendation paper: which metric of ratings predicts the clicks of recommenders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from ... import clickmodels, policies
from ...evaluation.reporting.formats import ledger_markdown
from ...evaluation.reporting.page import ledger_section
from ..claims import ledger_lines
from ..engine.grid import cell_key
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, setting
from .rating_study import RatingStudy
from .recommendation_claims import SYSTEMS, USERS
from .recommendation_ledger import RULES, recommendation_ledger
from .recommendation_pictures import error_picture, figure_1
from .recommendation_scores import (
    SCORED,
    SCORES_VERSION,
    ScoresCell,
    make_rows,
    scores_cell,
)
from .recommendation_tables import (
    forms_table,
    items_text,
    odds_table,
    prediction_table,
    residual_table,
    score_table,
    shown_table,
    simulated_table,
    split_table,
    table_2,
)
from .system_lists import (
    LISTS_VERSION,
    SHOWN,
    ListsCell,
    lists_cell,
)

_SCORING = "scoring the lists"
_LEAST = 3  # systems through which a line says anything


@register("recommend")
@dataclass(frozen=True)
class Recommend(RatingStudy):
    """Train recommenders on ratings, show their lists to simulated users, compare the metrics.

    A row has ``split``, ``training_items``, ``kind``, ``system``, ``metric``, ``rate``, ``value``,
    ``low`` and ``high``; see ``scores_cell`` for the kinds. Every split is studied twice: without
    the items that a user rated in training, and with them.

    Example:
      clickgym recommend --preset paper --ratings ml-latest-small --jobs 2
    """

    systems: tuple[str, ...] = setting(
        SYSTEMS, "recommender", flag="system", known=policies.recommender_names, metavar="NAME"
    )
    users: tuple[str, ...] = setting(
        USERS, "simulated user", flag="user", known=partial(clickmodels.user_names, "ratings")
    )
    splits: int = setting(3, "number of splits of the ratings", metavar="N")
    repetitions: int = setting(
        25, "how often clicks are simulated", flag="simulations", metavar="N"
    )
    resamples: int = setting(1000, "resamples of users for intervals", least=2, metavar="N")
    slots: int = setting(10)

    @classmethod
    def presets(cls) -> dict[str, Self]:
        """Return "quick", "small" (ml-100k's shape) and "paper" (ml-1m's shape)."""
        return {
            "quick": cls(n_users=300, n_items=400, splits=2, resamples=300),
            "small": cls(n_users=943, n_items=1682),
            "paper": cls(),
        }

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(n_users=40, n_items=50, splits=2, repetitions=2, resamples=20, slots=5)

    def check(self) -> None:
        """Raise where the study could not run."""
        super().check()
        if len(set(self.systems)) < _LEAST:
            raise ValueError(f"systems must be at least {_LEAST}, to fit a line through them")

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the lists of all systems, then the scores of every split."""
        ratings, place = self.source(), str(folder / "lists")
        systems = list(dict.fromkeys(self.systems))
        groups = [
            tuple(
                ListsCell(system, split, inside, place, ratings, self.slots) for system in systems
            )
            for split in range(self.splits)
            for inside in (False, True)
        ]
        names = policies.recommender_names()  # from those that take a moment to those that learn
        slowest_first = [
            cell
            for group in groups
            for cell in sorted(group, key=lambda cell: names.index(cell.system), reverse=True)
        ]
        yield Stage(
            "recommending", lists_cell, slowest_first, LISTS_VERSION, SHOWN, "recommenders",
            required=False,
        )  # fmt: skip
        cells = [
            ScoresCell(
                group, tuple(cell_key(cell, LISTS_VERSION) for cell in group),
                tuple(dict.fromkeys(self.users)), self.repetitions, self.resamples,
            )
            for group in groups
        ]  # fmt: skip
        yield Stage(_SCORING, scores_cell, cells, SCORES_VERSION, SCORED)

    def rows(self, results: Results) -> list[Row]:
        """Return a row per number."""
        return make_rows(results[_SCORING])

    def report(self, rows: list[Row]) -> Report:
        """Return the ledger, Table 2, Figure 1, and what goes beyond the paper."""
        lines = ledger_lines(recommendation_ledger(rows))
        first = rows[0]["split"]
        sides = list(dict.fromkeys(row["training_items"] for row in rows))
        tables = [table_2(rows, first, inside) for inside in sides]
        report = Report(
            "Metrics of ratings and clicks on recommendations",
            "Recommenders trained on ratings, and their click-through rates (CTR) under users who "
            "read lists in different ways: which metric of ratings predicts them?",
            printed=tables,
        )
        report.sections["Ledger of claims"] = ledger_section(lines, RULES)
        report.texts["ledger.md"] = ledger_markdown(lines, RULES)
        report.tables["Table 2"] = tables
        for inside in sides:
            name = "figure1-training-items.png" if inside else "figure1.png"
            caption = (
                f"Figure 1, {items_text(inside)}: CTR against precision, with the line through "
                "the systems and the residuals (CTR minus the line)."
            )
            report.figures[name] = caption, figure_1(rows, first, inside)
            heading = caption.partition(":")[0]
            report.tables[heading] = [residual_table(rows, first, inside)]
        report.figures["errors.png"] = (
            "How well metrics predict CTRs: mean over splits, with 95% bootstrap intervals over "
            "users. Kendall's tau is left out where it is 1 everywhere.", error_picture(rows),
        )  # fmt: skip
        report.tables["How well metrics predict CTRs"] = [
            make(rows, inside)
            for inside in sides
            for make in (
                partial(_predictions, "error"), partial(_predictions, "relative"),
                partial(_predictions, "tau"), split_table,
            )
        ]  # fmt: skip
        report.tables["Scores"] = [
            *(score_table(rows, inside) for inside in sides),
            *(forms_table(rows, inside) for inside in sides), shown_table(rows),
            *(simulated_table(rows, first, inside) for inside in sides),
            *(odds_table(rows, inside) for inside in sides),
        ]  # fmt: skip
        report.lines = [
            f"{verdict:>40}  {statement}" for statement, verdict, *_ in lines if statement
        ]
        return report


def _predictions(kind: str, rows: list[Row], inside: bool) -> Any:
    return prediction_table(rows, kind, inside)
