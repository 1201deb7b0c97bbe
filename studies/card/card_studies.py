"""The studies behind the deployment card: one makes its calibration, the other tests it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Self

from ...evaluation.deployment.calibration import Calibrations, shipped_calibrations
from ..engine.rows import Row
from ..registry import register
from ..study import Report, Results, Stage, Study, setting
from ..worlds import WorldSetting
from .card_cells import RESULT, VERSION, card_cell
from .card_design import CALIBRATION, TEST, draw_cells
from .card_pictures import calibration_picture, test_picture
from .card_rows import calibrate_rows, make_rows, predict_rows
from .card_tables import (
    coefficient_table,
    comparison_table,
    coverage_table,
    group_table,
    verdict_table,
)

_DEPLOYING = "deploying"
FILE = "calibration.json"


@register("card-calibration")
@dataclass(frozen=True)
class CardCalibration(Study):
    """Simulate deployments and learn from them how far promises come true.

    Each log has a world, a user, a logging policy, a temperature and a length of its own, and is
    followed by policies of all sorts. Writes calibration.json, which the deployment card computes
    its intervals from.

    Example:
      clickgym card calibrate --out card-calibration
    """

    command: ClassVar[str] = "card"

    logs: int = setting(48, "logs, each of another world", metavar="N", least=2)
    policies: int = setting(12, "policies after each log", metavar="N")
    world: WorldSetting = setting(WorldSetting(n_queries=40, n_docs=30))
    slots: int = setting(10)

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(3, 8, WorldSetting(n_queries=4, n_docs=8), 3)

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the logs."""
        cells = draw_cells(CALIBRATION, self.logs, self.policies, self.world, self.slots)
        yield Stage(_DEPLOYING, card_cell, cells, VERSION, RESULT)

    def rows(self, results: Results) -> list[Row]:
        """Return a row for each policy."""
        return make_rows(results[_DEPLOYING])

    def report(self, rows: list[Row]) -> Report:
        """Return the calibration and what it is made of."""
        made = calibrate_rows(rows, {
            "command": f"clickgym card calibrate --logs {self.logs} --policies {self.policies}",
            **{name: value for name, value in self.describe().items() if name == "world"},
        })  # fmt: skip
        predicted = predict_rows(rows, made, True)
        return Report(
            "Calibration of the deployment card",
            f"How far promises came true for {len(rows):,} policies after "
            f"{len({row['log'] for row in rows}):,} logs, and the calibration that follows.",
            {"Calibration": [coefficient_table(made), group_table(made)],
             "On its own policies": [coverage_table(predicted)]},
            {"card-calibration.png": ("Promises: what came true", calibration_picture(predicted))},
            texts={FILE: made.to_json()},
        )  # fmt: skip


@register("card-test")
@dataclass(frozen=True)
class CardTest(Study):
    """Test the deployment card on worlds, users, loggings and policies that it was not made from.

    The same policies are judged by a click model's promise, by PI and by DR. With a LETOR file as
    the world, each log has a bootstrap of its queries.

    Example:
      clickgym card test
      clickgym card test --world mslr/sample.txt --docs 30 --logs 6 --out card-test-mslr
    """

    command: ClassVar[str] = "card"

    logs: int = setting(28, "logs, each of another world", metavar="N")
    policies: int = setting(18, "policies after each log", metavar="N")
    world: WorldSetting = setting(WorldSetting(n_queries=40, n_docs=30), whole_file=True)
    slots: int = setting(10)
    scores: bool = setting(True, "whether the card knows who made the log", look=True)
    calibration: str = setting(
        "", "calibration.json to test", look=True, metavar="FILE", absent="the package's own"
    )

    @classmethod
    def small(cls) -> Self:
        """Return a run that takes a moment."""
        return cls(3, 6, WorldSetting(n_queries=4, n_docs=8), 3)

    def check(self) -> None:
        """Raise where the study could not run."""
        super().check()
        _calibrations(self.calibration)

    def stages(self, folder: Path, results: Results) -> Iterator[Stage]:
        """Give the logs."""
        cells = draw_cells(TEST, self.logs, self.policies, self.world, self.slots, True)
        yield Stage(_DEPLOYING, card_cell, cells, VERSION, RESULT)

    def rows(self, results: Results) -> list[Row]:
        """Return a row for each policy, with what the card says of it."""
        rows = make_rows(results[_DEPLOYING])
        return predict_rows(rows, _calibrations(self.calibration), self.scores)

    def report(self, rows: list[Row]) -> Report:
        """Return how often the card was right, beside promise, PI and DR."""
        return Report(
            "Test of the deployment card",
            f"{len(rows):,} policies after {len({row['log'] for row in rows}):,} logs: what the "
            "card predicted and what they earned.",
            {"Intervals": [comparison_table(rows), coverage_table(rows)],
             "Verdicts": [verdict_table(rows)]},
            {"card-test.png": ("Predicted and deployed", test_picture(rows))},
        )  # fmt: skip


@lru_cache(maxsize=2)
def _calibrations(path: str) -> Calibrations:
    return Calibrations.load(path) if path else shipped_calibrations()
