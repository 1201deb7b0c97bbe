"""Users of pages with a vertical block, and logs of them: those of the benchmark of fits."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(FOLDER))
_fits = importlib.import_module("vertical_fits")
sys.path.remove(str(FOLDER))
make_user, make_log, plain_world = _fits.make_user, _fits.make_log, _fits.plain_world
PUBLISHED, ATTRACTIVENESS = _fits.PUBLISHED, _fits.ATTRACTIVENESS
