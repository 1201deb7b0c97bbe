"""Policies: distributions over rankings, given a query."""

from .base import Policy, register
from .plackett_luce import PlackettLuce, Uniform, stochastic
from .ranker import Ranker

__all__ = ["PlackettLuce", "Policy", "Ranker", "Uniform", "register", "stochastic"]
