"""Policies: distributions over rankings, given a query."""

from .base import Policy, register
from .optimised import max_reward, top_down
from .plackett_luce import PlackettLuce, Uniform, stochastic
from .ranker import Found, Ranker
from .rankers import logging_policy, named_ranker, ranker_names, ranker_scores

__all__ = [
    "Found", "PlackettLuce", "Policy", "Ranker", "Uniform", "logging_policy", "max_reward",
    "named_ranker", "ranker_names", "ranker_scores", "register", "stochastic", "top_down",
]  # fmt: skip
