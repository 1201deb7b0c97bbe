"""The papers' experiments."""

from .compare import CompareCell, compare, compare_cell
from .compare_pictures import compare_table, heat_map, parting, run_picture, training_curves
from .curse_picture import curse_picture, curse_table
from .curse_study import CURSE_MODELS, CurseCell, curse_cell, curse_study
from .grid import run_grid
from .judging import Judged, judge, judge_log, paper_tables
from .ledger import ledger
from .log_report import write_log_report
from .presets import PRESETS, SHIFT_MODELS
from .protocol import ORACLE, ProtocolCell, protocol_cell
from .protocol_report import write_report
from .protocol_study import Protocol, protocol
from .rows import load_rows, save_rows
from .setting import WorldSetting
from .shared_logs import LogCell
from .shipped import shipped_rows
from .spider import spider
from .strong_shift import shift_of, shift_table, strong_shift

__all__ = [
    "CURSE_MODELS", "ORACLE", "PRESETS", "SHIFT_MODELS", "CompareCell", "CurseCell", "Judged",
    "LogCell", "Protocol", "ProtocolCell", "WorldSetting", "compare",
    "compare_cell", "compare_table", "curse_cell", "curse_picture", "curse_study", "curse_table",
    "heat_map", "judge", "judge_log", "ledger", "load_rows", "paper_tables", "parting", "protocol",
    "protocol_cell", "run_grid", "run_picture", "save_rows", "shift_of", "shift_table",
    "shipped_rows", "spider", "strong_shift", "training_curves", "write_log_report", "write_report",
]  # fmt: skip
