"""What the benchmarks share: work timed in turn, tables, and rows that a script can compare."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

Work = Callable[[], object]
Clock = Callable[[], float]


class Row(NamedTuple):
    """One number that was measured. More is better for a unit per second, less for all others."""

    name: str
    value: float
    unit: str


def time_in_turn(
    works: Mapping[str, Work], rounds: int, seconds: float = 0.0, clock: Clock = time.perf_counter
) -> dict[str, float]:
    """Return the seconds that a call of each work takes in its best round.

    Works are timed in turn, round after round, so that a busy moment of the machine does not fall
    on one of them alone. With ``seconds``, each is called twice beforehand, and then as often in a
    round as fits into that time.
    """
    repeats = dict.fromkeys(works, 1)
    best = dict.fromkeys(works, float("inf"))
    for name, work in works.items():
        if seconds:
            work()
            repeats[name] = max(int(seconds / _time(work, 1, clock)), 1)
    for _ in range(rounds):
        for name, work in works.items():
            best[name] = min(best[name], _time(work, repeats[name], clock) / repeats[name])
    return best


def _time(work: Work, repeats: int, clock: Clock) -> float:
    start = clock()
    for _ in range(repeats):
        work()
    return clock() - start


def new_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows ``--json``."""
    parser = argparse.ArgumentParser(
        f"python benchmarks {Path(sys.argv[0]).stem}", description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--json", type=Path, help="file for the rows: name, value, unit")
    return parser


def save_rows(path: Path | None, rows: list[Row]) -> None:
    """Write the rows as JSON, if there is a path."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")


def load_rows(path: Path) -> list[Row]:
    """Read what ``save_rows`` wrote."""
    return [Row(**row) for row in json.loads(path.read_text())]


def new_table(title: str, *heads: str, left: tuple[str, ...] = ()) -> Table:
    """Return a table whose columns are aligned right, but for the first and those of ``left``."""
    table = Table(title=title)
    for head in heads:
        table.add_column(head, justify="left" if head in (heads[0], *left) else "right")
    return table


def show(table: Table, width: int = 110) -> None:
    """Print a table, as wide on a terminal as in a file."""
    Console(width=width).print(table)


def judge(value: float, bar: float | None, unit: str = "") -> str:
    """Return the bar and whether a number meets it; nothing without a bar."""
    if not bar:
        return ""
    met = value <= bar if unit == "seconds" else value >= bar
    words = (f"{bar:,.0f}" if bar >= 10 else f"{bar:g}", unit, "met" if met else "MISSED")
    return " ".join(word for word in words if word)


def find(package: str, name: str) -> Any:
    """Return what is called ``name`` in a module below ``clickgym.package``, wherever it lies.

    Hence a benchmark runs on trees that keep their modules elsewhere (see ``speed/against.py``).
    """
    root = importlib.import_module(f"clickgym.{package}")
    for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
        found = getattr(importlib.import_module(module.name), name, None)
        if found is not None:
            return found
    raise LookupError(f"clickgym.{package} has no {name}")
