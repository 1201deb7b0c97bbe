"""The papers' experiments."""

from .compare import CompareCell, compare, compare_cell
from .compare_pictures import compare_table, heat_map, parting, run_picture, training_curves
from .curse_picture import curse_picture, curse_table
from .curse_study import CURSE_MODELS, CurseCell, curse_cell, curse_study
from .errors import CONDITION, normalised, root_mean_squares, wins
from .grid import run_grid
from .judging import Judged, judge, judge_log, paper_tables
from .ledger import ledger
from .log_report import write_log_report
from .ope_pictures import all_conditions, errors_table, figure_2, wins_table
from .ope_presets import (
    BIAS_PRESETS,
    LEARNING_PRESETS,
    OPE_PRESETS,
    PRESET_NAMES,
    PROMISE_PRESETS,
    SESSION_PRESETS,
    preset_of,
)
from .ope_study import Ope, ope
from .pi_bias import bias_picture, bias_study, bias_table
from .pi_opt_study import learning_study, learning_table
from .presets import PRESETS, SHIFT_MODELS
from .promise_pictures import promise_picture, promise_table
from .promises import PROMISE_WORLD, promises
from .protocol import ORACLE, ProtocolCell, protocol_cell
from .protocol_report import write_report
from .protocol_study import Protocol, protocol
from .rows import load_rows, save_rows
from .session_study import figure_1, session_study, session_tables
from .sessions import Sessions, sample_sessions
from .setting import WorldSetting
from .shared_logs import LogCell
from .shipped import shipped_rows
from .spider import spider
from .strong_shift import shift_of, shift_table, strong_shift

__all__ = [
    "BIAS_PRESETS", "CONDITION", "CURSE_MODELS", "LEARNING_PRESETS", "OPE_PRESETS", "ORACLE",
    "PRESETS", "PRESET_NAMES", "PROMISE_PRESETS", "PROMISE_WORLD", "SESSION_PRESETS",
    "SHIFT_MODELS", "CompareCell", "CurseCell", "Judged", "LogCell", "Ope", "Protocol",
    "ProtocolCell", "Sessions", "WorldSetting", "all_conditions", "bias_picture", "bias_study",
    "bias_table", "compare", "compare_cell", "compare_table", "curse_cell", "curse_picture",
    "curse_study", "curse_table", "errors_table", "figure_1", "figure_2", "heat_map", "judge",
    "judge_log", "learning_study", "learning_table", "ledger", "load_rows", "normalised", "ope",
    "paper_tables", "parting", "preset_of", "promise_picture", "promise_table", "promises",
    "protocol", "protocol_cell", "root_mean_squares", "run_grid", "run_picture", "sample_sessions",
    "save_rows", "session_study", "session_tables", "shift_of", "shift_table", "shipped_rows",
    "spider", "strong_shift", "training_curves", "wins", "wins_table", "write_log_report",
    "write_report",
]  # fmt: skip
