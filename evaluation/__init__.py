"""Metrics, values of policies, off-policy estimates, the optimiser's curse, intervals, tables."""

from ..policies import slate_marginals
from ..policies.propensities import WrongLogging
from .curse import CurseReport, Deployment, best_policy, curse, deploy
from .metrics.auroc import Auroc, auroc
from .metrics.bootstrap import bootstrap, perplexity_interval
from .metrics.graded import ndcg, recall
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
from .reporting.tables import Metric, ResultTable
from .statistics import Estimate, Interval, interval, marks, welch
from .values import value

__all__ = [
    "Auroc", "CurseReport", "Deployment", "Estimate", "ImpossibleOutcome", "Interval", "Metric",
    "NoOverlap", "Perplexity", "PseudoinverseWeights", "ResultTable", "SlateEstimate",
    "WrongLogging", "WrongReward", "auroc", "best_policy", "bootstrap", "curse", "deploy",
    "estimate", "estimator_names", "importance_weights", "interval", "log_likelihood", "marks",
    "metric_rewards", "ndcg", "normalised_perplexity", "perplexity", "perplexity_interval",
    "recall", "slate_marginals", "slate_rewards", "value", "welch",
]  # fmt: skip
