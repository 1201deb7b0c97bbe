"""The papers' experiments."""

from .compare.comparison import CompareCell, compare, compare_cell
from .compare.comparison_pictures import (
    compare_table,
    heat_map,
    parting,
    run_picture,
    training_curves,
)
from .curse.curse_pictures import curse_picture, curse_table
from .curse.curse_study import CURSE_MODELS, CurseCell, curse_cell, curse_study
from .engine.artefacts import LogCell
from .engine.grid import run_grid
from .engine.rows import load_rows, save_rows
from .promises.promise_pictures import promise_picture, promise_table
from .promises.promise_study import PROMISE_WORLD, promises
from .robustness.judging import Judged, judge, judge_log, paper_tables, write_log_report
from .robustness.ledger import ledger
from .robustness.presets import PRESETS, SHIFT_MODELS
from .robustness.protocol import Protocol, protocol
from .robustness.protocol_cells import ORACLE, ProtocolCell, protocol_cell
from .robustness.protocol_report import write_report
from .robustness.shipped import shipped_rows
from .robustness.spider import spider
from .robustness.strong_shift import shift_of, shift_table, strong_shift
from .setting import WorldSetting
from .slates.errors import CONDITION, normalised, root_mean_squares, wins
from .slates.forty_conditions import Ope, ope
from .slates.learning import learning_study, learning_table
from .slates.pi_bias import bias_picture, bias_study, bias_table
from .slates.session_model import Sessions, sample_sessions
from .slates.session_study import figure_1, session_study, session_tables
from .slates.slate_pictures import all_conditions, errors_table, figure_2, wins_table
from .slates.slate_presets import (
    BIAS_PRESETS,
    LEARNING_PRESETS,
    OPE_PRESETS,
    PRESET_NAMES,
    PROMISE_PRESETS,
    SESSION_PRESETS,
    preset_of,
)

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
