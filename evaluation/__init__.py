"""Metrics, intervals and tables."""

from .auroc import Auroc, auroc
from .bootstrap import bootstrap, perplexity_interval
from .ndcg import ndcg
from .normalised import normalised_perplexity
from .outcomes import ImpossibleOutcome
from .perplexity import Perplexity, log_likelihood, perplexity
from .recall import recall
from .statistics import Interval, interval, marks, welch
from .tables import Metric, ResultTable

__all__ = [
    "Auroc", "ImpossibleOutcome", "Interval", "Metric", "Perplexity", "ResultTable",
    "auroc", "bootstrap", "interval", "log_likelihood", "marks", "ndcg",
    "normalised_perplexity", "perplexity", "perplexity_interval", "recall", "welch",
]  # fmt: skip
