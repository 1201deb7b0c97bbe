"""The papers' experiments: studies of one shape, run by ``run_study``."""

from .card.card_studies import CardCalibration, CardTest
from .claims import Claim, Finding
from .compare.comparison import Compare, CompareCell, compare_cell
from .compare.comparison_pictures import heat_map, parting, run_picture, training_curves
from .compare.comparison_tables import compare_table
from .constants import CLICK_MODELS, LOGGINGS, ORACLE, SHIFT_MODELS, TEST_POLICIES, USERS
from .cure.cure_study import CureStudy
from .curse.curse_pictures import curse_picture, curse_table
from .curse.curse_study import Curse, CurseCell, curse_cell
from .curse.demo_study import Demo
from .engine.artefacts import LogCell
from .engine.grid import run_grid
from .engine.rows import load_rows, save_rows
from .federated.federated_ledger import federated_ledger
from .federated.federated_study import Federated
from .federated.placing_study import Placing
from .own_log.fit_study import FitLog
from .own_log.kept_logs import LogSetting
from .own_log.own_log_study import OwnLogReport
from .promises.promise_pictures import promise_picture, promise_table
from .promises.promise_study import Promises
from .ranking_metrics.measurements import Measurements
from .ranking_metrics.ranking_metric_ledger import ranking_ledger
from .ranking_metrics.ranking_metric_study import RankingMetrics
from .ranking_metrics.scoring_functions import ScoringFunctions, draw_functions
from .recommendation.click_training import ClickTraining
from .recommendation.recommendation_curse import RecommendationCurse
from .recommendation.recommendation_ledger import recommendation_ledger
from .recommendation.recommendation_study import Recommend
from .registry import register, study_class, study_names
from .released.released_study import Released
from .robustness.graded_log import graded_rows
from .robustness.judging import Judged, judge, judge_log, log_report, paper_tables
from .robustness.ledger import ledger
from .robustness.protocol import Protocol, shipped_rows
from .robustness.protocol_cells import ProtocolCell, protocol_cell
from .robustness.protocol_report import shift_table, write_report
from .robustness.spider import spider
from .robustness.strong_shift import StrongShift
from .runner import Outcome, compute_study, run_study
from .slates.errors import CONDITION, root_mean_squares, scale_errors, wins
from .slates.forty_conditions import Conditions
from .slates.learning import Learning, learning_table
from .slates.pi_bias import Bias, bias_picture, bias_table
from .slates.session_model import Sessions, sample_sessions
from .slates.session_study import SessionStudy, figure_1, session_tables
from .slates.slate_pictures import all_conditions, errors_table, figure_2, wins_table
from .study import Report, Results, Stage, Study, setting
from .worlds import WorldSetting

__all__ = [
    "CLICK_MODELS", "CONDITION", "LOGGINGS", "ORACLE", "SHIFT_MODELS", "TEST_POLICIES", "USERS",
    "Bias", "CardCalibration", "CardTest", "Claim", "ClickTraining", "Compare", "CompareCell",
    "Conditions", "CureStudy", "Curse", "CurseCell", "Demo", "Federated", "Finding", "FitLog",
    "Judged", "Learning", "LogCell", "LogSetting", "Measurements", "Outcome", "OwnLogReport",
    "Placing", "Promises", "Protocol", "ProtocolCell", "RankingMetrics", "Recommend",
    "RecommendationCurse", "Released", "Report", "Results", "ScoringFunctions", "SessionStudy",
    "Sessions", "Stage", "StrongShift", "Study", "WorldSetting", "all_conditions",
    "bias_picture", "bias_table", "compare_cell", "compare_table", "compute_study",
    "curse_cell", "curse_picture", "curse_table", "draw_functions", "errors_table",
    "federated_ledger", "figure_1", "figure_2", "graded_rows", "heat_map", "judge", "judge_log",
    "learning_table", "ledger", "load_rows", "log_report", "paper_tables", "parting",
    "promise_picture", "promise_table", "protocol_cell", "ranking_ledger",
    "recommendation_ledger", "register", "root_mean_squares", "run_grid", "run_picture",
    "run_study", "sample_sessions", "save_rows", "scale_errors", "session_tables", "setting",
    "shift_table", "shipped_rows", "spider", "study_class", "study_names", "training_curves",
    "wins", "wins_table", "write_report",
]  # fmt: skip
