"""The papers' experiments."""

from .curse_picture import curse_picture, curse_table
from .curse_study import CURSE_MODELS, CurseCell, curse_cell, curse_study
from .grid import failures, run_grid
from .judging import Judged, judge, judge_log
from .rows import load_rows, save_rows
from .setting import WorldSetting
from .strong_shift import SHIFT_MODELS, StrongShift, strong_shift

__all__ = [
    "CURSE_MODELS", "SHIFT_MODELS", "CurseCell", "Judged", "StrongShift", "WorldSetting",
    "curse_cell", "curse_picture", "curse_study", "curse_table", "failures", "judge", "judge_log",
    "load_rows", "run_grid", "save_rows", "strong_shift",
]  # fmt: skip
