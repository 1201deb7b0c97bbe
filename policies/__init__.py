"""Policies: distributions over rankings, given a query."""

from .base import Policy, register
from .by_query import ByQuery
from .cached import Remembering
from .deployed_rankings import DeployedRankings
from .deterministic import Found, Ranker
from .estimation.estimated import EstimatedLogging, UncertainPropensities, estimate_logging
from .given_set.conditional import GivenSet, marginals_given_set
from .given_set.marginals import log_set_probability, rank_marginals
from .mixture import Mixture, epsilon_uniform
from .optimise.max_reward import max_reward, top_down
from .placing.best import best_pages, best_place, usual_places
from .placing.pages import page_log_prob
from .placing.placed import Placed
from .plackett_luce import PlackettLuce, Uniform, stochastic
from .product import Product
from .rankers.cross_fitted import feature_group
from .rankers.named import logging_policy, named_ranker, p_alpha, ranker_names, ranker_scores
from .rankers.pairs import Preferences, fit_linear_pairs, fit_tree_pairs
from .rankers.pi_opt import SlateLearner, fit_lambdamart, fit_pi_opt, fit_supervised, greedy_slates
from .recommenders.recommend import (
    recommender,
    recommender_choices,
    recommender_names,
    stochastic_recommender,
)
from .safe.learn import safe_policy, safe_policy_choices, safe_policy_names
from .safe.staging import stage, staged_share
from .slates.moments import SlateMoments, slate_marginals, slate_moments
from .slates.placements import Placements
from .slates.pseudoinverse import SlatePseudoinverse, slate_pseudoinverse

__all__ = [
    "ByQuery", "DeployedRankings", "EstimatedLogging", "Found", "GivenSet", "Mixture", "Placed",
    "Placements", "PlackettLuce", "Policy", "Preferences", "Product", "Ranker", "Remembering",
    "SlateLearner", "SlateMoments", "SlatePseudoinverse", "UncertainPropensities", "Uniform",
    "best_pages", "best_place", "epsilon_uniform", "estimate_logging", "feature_group",
    "fit_lambdamart", "fit_linear_pairs", "fit_pi_opt", "fit_supervised", "fit_tree_pairs",
    "greedy_slates", "log_set_probability", "logging_policy", "marginals_given_set",
    "max_reward", "named_ranker", "p_alpha", "page_log_prob", "rank_marginals", "ranker_names",
    "ranker_scores", "recommender", "recommender_choices", "recommender_names", "register",
    "safe_policy", "safe_policy_choices", "safe_policy_names", "slate_marginals", "slate_moments",
    "slate_pseudoinverse", "stage", "staged_share", "stochastic", "stochastic_recommender",
    "top_down", "usual_places",
]  # fmt: skip
