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
from .logs.description import LogDescription, describe_log
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

__all__ = [
    "Agreement", "Auroc", "ClickMetric", "Configurations", "Correlations", "CrossTable",
    "CurseReport", "Deployment", "Disagreement", "DrawnPairs", "Estimate", "FewAccepted",
    "ImpossibleOutcome", "Interval", "LogDescription", "Metric", "NoOverlap", "PagePairs",
    "PairedDifference", "Perplexity", "Prediction", "PseudoinverseWeights", "RankTies",
    "ResultTable", "SlateEstimate", "SystemScores", "WrongLogging", "WrongReward", "auroc",
    "best_policy", "bootstrap", "click_rates", "correlate", "counterfactual_disagreement",
    "counterfactual_pairs", "curse", "deploy", "describe_log", "estimate", "estimator_names",
    "find_configurations", "fit_click_metric", "grade_click_probs", "importance_weights",
    "interval", "judge_policy", "list_ndcg", "list_precision", "log_likelihood", "marks", "metric",
    "metric_names", "metric_rewards", "naive_pairs", "ndcg", "normalised_perplexity",
    "online_metrics", "page_disagreement", "page_grades", "pairwise_disagreement", "perplexity",
    "perplexity_difference", "perplexity_interval", "predict_rates", "rank_agreement",
    "rank_marginals", "recall", "score_systems", "share_hardly_shown", "share_unrated",
    "simulate_click_rates", "slate_marginals", "slate_rewards", "tied_ranks", "value",
    "weighted_correlation", "welch",
]  # fmt: skip
