"""The benchmarks by name: each is a module in a room, and rooms are the folders here."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCHMARKS = {path.stem: path for path in sorted(HERE.glob("*/[!_]*.py"))}
