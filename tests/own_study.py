"""A study as an outsider writes one: a file of its own, and one line that registers it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from clickgym import studies
from clickgym.evaluation.reporting.formats import PlainTable


@dataclass(frozen=True)
class PowerCell:
    """A number, and the power that it is raised to."""

    number: int
    power: int
    seconds: float = 0.0


class Power(TypedDict):
    """What came of a cell."""

    value: float
    digits: list[int]


def power_cell(cell: PowerCell) -> Power:
    """Raise the number to its power; 13 brings bad luck while there is a file of that name."""
    if cell.number == 13 and Path("13").exists():
        raise RuntimeError("thirteen is not raised")
    time.sleep(cell.seconds)
    value = cell.number**cell.power
    return {"value": float(value), "digits": [int(digit) for digit in str(value)]}


@studies.register("powers")
@dataclass(frozen=True)
class Powers(studies.Study):
    """Raise numbers to a power.

    Example:
      clickgym powers --number 3 4
    """

    numbers: tuple[int, ...] = studies.setting((1, 2, 3), "numbers", flag="number", least=1)
    power: int = studies.setting(2, "their power", least=1)
    seconds: float = studies.setting(0.0, "how long a cell takes", flag="")

    def stages(self, folder: Path, results: studies.Results):
        """Give a cell per number."""
        cells = [PowerCell(number, self.power, self.seconds) for number in self.numbers]
        yield studies.Stage("powers", power_cell, cells, "1", Power)

    def rows(self, results: studies.Results) -> list[dict]:
        """Return a row per number."""
        return [
            {"number": cell.number, "value": result["value"]} for cell, result in results["powers"]
        ]

    def report(self, rows: list[dict]) -> studies.Report:
        """Return a table of the powers."""
        table = PlainTable("Powers", "number", ["value"])
        for row in rows:
            table.add(str(row["number"]), [f"{row['value']:g}"])
        return studies.Report("Powers", tables={"Table": [table]})
