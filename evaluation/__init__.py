"""Metrics, values of policies, off-policy estimates, the optimiser's curse, intervals, tables."""

from ..policies import rank_marginals, slate_marginals
from ..policies.propensities import WrongLogging
from .agreement import Agreement, rank_agreement
from .counterfactual.disagreement import Disagreement, FewAccepted
from .counterfactual.drawn_pairs import DrawnPairs
from .counterfactual.resampling import (
    counterfactual_disagreement,
    counterfactual_pairs,
    naive_pairs,
    pairwise_disagreement,
)
from .counterfactual.whole_pages import PagePairs, page_disagreement
from .crossing import CrossTable, judge_policy, share_hardly_shown
from .curse import CurseReport, Deployment, best_policy, curse, deploy
from .deployment.calibration import Calibration, Calibrations
from .deployment.card import DeploymentCard, deployment_card
from .deployment.forecast import Forecast, forecast
from .deployment.witnesses import Witnesses, call_witnesses
from .logs.description import LogDescription, describe_log
from .logs.pairs import LoggedPairs, count_pairs
from .logs.ties import RankTies, tied_ranks
from .metrics.auroc import Auroc, auroc
from .metrics.bootstrap import bootstrap, perplexity_difference, perplexity_interval
from .metrics.graded import ndcg, recall
from .metrics.model_metrics import grade_click_probs, metric, metric_names, page_grades
from .metrics.perplexity import (
    ImpossibleOutcome,
    Perplexity,
    log_likelihood,
    normalised_perplexity,
    perplexity,
)
from .offpolicy.estimators import estimate, estimator_names
from .offpolicy.importance import NoOverlap, importance_weights
from .offpolicy.inputs import WrongReward
from .offpolicy.pseudoinverse_weights import PseudoinverseWeights
from .offpolicy.slate_estimates import SlateEstimate
from .offpolicy.slate_rewards import metric_rewards, slate_rewards
from .online.configurations import Configurations, find_configurations
from .online.correlation import (
    Correlations,
    PairedDifference,
    correlate,
    weighted_correlation,
)
from .online.online_metrics import online_metrics
from .recommendation.click_metric import ClickMetric, fit_click_metric
from .recommendation.click_rates import click_rates, simulate_click_rates
from .recommendation.prediction import Prediction, predict_rates
from .recommendation.rating_metrics import list_ndcg, list_precision, share_unrated
from .recommendation.system_scores import SystemScores, score_systems
from .reporting.tables import Metric, ResultTable
from .statistics import Estimate, Interval, interval, marks, welch
from .values import value
from .warning_signs.cmip import ConditionalInformation, cmip
from .warning_signs.concentration import Concentration, concentration
from .warning_signs.identifiability import Identifiability, identifiability
from .warning_signs.members import MembersDisagreement, members_disagreement
from .warning_signs.overview import WarningSign, WarningSigns, warn
from .warning_signs.rank_calibration import RankCalibration, rank_calibration
from .warning_signs.sample_sizes import SampleSizes, sample_sizes
from .warning_signs.support import Support, support

__all__ = [
    "Agreement", "Auroc", "Calibration", "Calibrations", "ClickMetric", "Concentration",
    "ConditionalInformation", "Configurations", "Correlations", "CrossTable", "CurseReport",
    "Deployment", "DeploymentCard", "Disagreement", "DrawnPairs", "Estimate", "FewAccepted",
    "Forecast", "Identifiability", "ImpossibleOutcome", "Interval", "LogDescription", "LoggedPairs",
    "MembersDisagreement", "Metric", "NoOverlap", "PagePairs", "PairedDifference", "Perplexity",
    "Prediction", "PseudoinverseWeights", "RankCalibration", "RankTies", "ResultTable",
    "SampleSizes", "SlateEstimate", "Support", "SystemScores", "WarningSign", "WarningSigns",
    "Witnesses", "WrongLogging", "WrongReward", "auroc", "best_policy", "bootstrap",
    "call_witnesses", "click_rates", "cmip", "concentration", "correlate", "count_pairs",
    "counterfactual_disagreement", "counterfactual_pairs", "curse", "deploy", "deployment_card",
    "describe_log", "estimate", "estimator_names", "find_configurations", "fit_click_metric",
    "forecast", "grade_click_probs", "identifiability", "importance_weights", "interval",
    "judge_policy", "list_ndcg", "list_precision", "log_likelihood", "marks",
    "members_disagreement", "metric", "metric_names", "metric_rewards", "naive_pairs", "ndcg",
    "normalised_perplexity", "online_metrics", "page_disagreement", "page_grades",
    "pairwise_disagreement", "perplexity", "perplexity_difference", "perplexity_interval",
    "predict_rates", "rank_agreement", "rank_calibration", "rank_marginals", "recall",
    "sample_sizes", "score_systems", "share_hardly_shown", "share_unrated", "simulate_click_rates",
    "slate_marginals", "slate_rewards", "support", "tied_ranks", "value", "warn",
    "weighted_correlation", "welch",
]  # fmt: skip
