"""Metrics, values of policies, the optimiser's curse, intervals and tables."""

from .auroc import Auroc, auroc
from .bootstrap import bootstrap, perplexity_interval
from .curse import CurseReport, best_policy, curse
from .estimates import Estimate
from .ndcg import ndcg
from .normalised import normalised_perplexity
from .outcomes import ImpossibleOutcome
from .perplexity import Perplexity, log_likelihood, perplexity
from .recall import recall
from .statistics import Interval, interval, marks, welch
from .tables import Metric, ResultTable
from .values import value

__all__ = [
    "Auroc", "CurseReport", "Estimate", "ImpossibleOutcome", "Interval", "Metric", "Perplexity",
    "ResultTable", "auroc", "best_policy", "bootstrap", "curse", "interval", "log_likelihood",
    "marks", "ndcg", "normalised_perplexity", "perplexity", "perplexity_interval", "recall",
    "value", "welch",
]  # fmt: skip
