"""Policies: distributions over rankings, given a query."""

from .base import Policy, register
from .marginals import slate_marginals, slate_moments
from .moments import SlateMoments
from .optimised import max_reward, top_down
from .plackett_luce import PlackettLuce, Uniform, stochastic
from .product import Product
from .pseudoinverse import SlatePseudoinverse, slate_pseudoinverse
from .ranker import Found, Ranker
from .rankers import logging_policy, named_ranker, ranker_names, ranker_scores

__all__ = [
    "Found", "PlackettLuce", "Policy", "Product", "Ranker", "SlateMoments", "SlatePseudoinverse",
    "Uniform", "logging_policy", "max_reward", "named_ranker", "ranker_names", "ranker_scores",
    "register", "slate_marginals", "slate_moments", "slate_pseudoinverse", "stochastic", "top_down",
]  # fmt: skip
