"""Off-policy evaluation: a target policy's value from another policy's log."""

from ...policies.propensities import WrongLogging
from .estimators import estimate, estimator_names
from .importance import NoOverlap, importance_weights
from .inputs import WrongReward
from .pseudoinverse_weights import PseudoinverseWeights
from .rewards import metric_rewards, slate_rewards
from .slate_estimates import SlateEstimate

__all__ = [
    "NoOverlap", "PseudoinverseWeights", "SlateEstimate", "WrongLogging", "WrongReward",
    "estimate", "estimator_names", "importance_weights", "metric_rewards", "slate_rewards",
]  # fmt: skip
