"""Click-through rates of lists under users who read them in different ways."""

from __future__ import annotations

import numpy as np

from ...clickmodels import ClickModel
from ...common import checks
from ...common.typing import Floats
from ...data import World
from ...policies import Policy
from ..values import ShownPages, shown_pages

FORMS = ("slots", "odds")


def click_rates(policy: Policy, user: ClickModel, world: World) -> Floats:
    """Return the expected CTR@K of each user's list, (n,): clicks / K, exactly.

    Users who are never asked (``query_probs`` 0) are left out; empty places count as not clicked.
    """
    pages = _lists(policy, user, world)
    scored = pages.score(user, np.random.default_rng(0))
    if not scored.exact:
        raise ValueError(f"the {user.name} has no exact click probabilities; simulate its clicks")
    return scored.scores / policy.slots


def simulate_click_rates(
    policy: Policy, user: ClickModel, world: World, repetitions: int = 25, seed: int = 0
) -> Floats:
    """Return the CTR@K of each user's list in simulated clicks, (repetitions, n)."""
    repetitions = checks.positive_integer(repetitions, "repetitions")
    pages = _lists(policy, user, world)
    rng = np.random.default_rng(checks.positive_integer(seed, "seed", 0))
    clicks = [user.sample(pages.query, pages.ranking, rng) for _ in range(repetitions)]
    return np.stack([drawn.mean(axis=1) for drawn in clicks])


def rate_as(form: str, rate: Floats) -> Floats:
    """Return mean rates as they are ("slots": clicks / K) or as clicked to non-clicked ("odds").

    The second is the paper's wording. It is taken of the mean over all lists: of a single list with
    K clicks it would be infinite.
    """
    checks.choice(form, FORMS, "form")
    return rate if form == "slots" else rate / (1.0 - rate)


def _lists(policy: Policy, user: ClickModel, world: World) -> ShownPages:
    if not policy.deterministic:
        raise ValueError(
            f"the policy {policy.name} shows other lists every time; evaluation.value has its value"
        )
    user.check_world(world)
    return shown_pages(policy, world, samples=2, seed=0)
