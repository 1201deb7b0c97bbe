"""Policies: distributions over rankings, given a query."""

from .base import Policy, register
from .group_rankers import feature_group
from .mixture import Mixture, epsilon_uniform
from .optimised import max_reward, top_down
from .pi_opt import SlateLearner, greedy_slates, lambdamart, pi_opt, supervised
from .plackett_luce import PlackettLuce, Uniform, stochastic
from .ranker import Found, Ranker
from .rankers import logging_policy, named_ranker, p_alpha, ranker_names, ranker_scores

__all__ = [
    "Found", "Mixture", "PlackettLuce", "Policy", "Ranker", "SlateLearner", "Uniform",
    "epsilon_uniform", "feature_group", "greedy_slates", "lambdamart", "logging_policy",
    "max_reward", "named_ranker", "p_alpha", "pi_opt", "ranker_names", "ranker_scores",
    "register", "stochastic", "supervised", "top_down",
]  # fmt: skip
