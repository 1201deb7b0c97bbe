"""Matrix factorisation by stochastic gradient descent, with Mahout's way through the ratings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common import checks
from ...common.progress import progress
from ...common.typing import Floats, Integers
from .compiled import compiled, sweep_features, sweep_ratings
from .estimates import Estimates
from .rating_matrix import RatingMatrix


@dataclass(frozen=True)
class Factors:
    """Factors whose products are estimates of ratings.

    Attributes
    ----------
    of_user : (U, F), of_item : (I, F)
    offset : float
        What is added to the product.
    """

    of_user: Floats
    of_item: Floats
    offset: float

    def estimate(self, users: Integers) -> Floats:
        """Return the estimates of all items for some users, (b, I)."""
        return np.asarray(self.offset + self.of_user[users] @ self.of_item.T)


def factorise(
    ratings: RatingMatrix,
    rng: np.random.Generator,
    features: int = 50,
    iterations: int = 100,
    rate: float = 0.005,
    penalty: float = 0.02,
    noise: float = 0.005,
    offset: float = 1.0,
    sweep: str = "features",
    shuffled: bool = True,
) -> Factors:
    """Return factors of users and items, found by stochastic gradient descent.

    Parameters
    ----------
    features : int
        F.
    iterations : int
        How often each feature goes through all ratings.
    rate, penalty : float
        Learning rate, and how strongly factors are drawn towards 0.
    noise : float
        Each factor starts at ``sqrt((mean rating - offset) / features) + (U - 0.5) * noise``, with
        U uniform in [0, 1).
    offset : float
        An estimate is ``offset`` plus the product of the factors; there are no biases.
    sweep : str
        "features", as in Mahout: one feature goes through all ratings, then the next; for each
        rating first the user's factor takes a step, then the item's with the user's new one.
        "ratings", as in most other libraries: all features of a rating at once, from old values.
    shuffled : bool
        Whether every iteration goes through the ratings in a new random order.

    Notes
    -----
    An iteration costs O(ratings times features), memory is O(ratings + (U + I) F).
    """
    features = checks.positive_integer(features, "features")
    iterations = checks.positive_integer(iterations, "iterations", 0)
    checks.choice(sweep, ("features", "ratings"), "sweep")
    for name, number in (("rate", rate), ("penalty", penalty), ("noise", noise)):
        if checks.finite(number, name, 0) < 0.0:
            raise ValueError(f"{name} must be at least 0, not {number}")
    mean = float(ratings.rating.mean())
    if not mean >= offset:
        raise ValueError(f"offset must be at most the mean rating, {mean:.3g}, not {offset}")
    start = np.sqrt((mean - offset) / features)
    of_user = start + (rng.random((features, ratings.n_users)) - 0.5) * noise
    of_item = start + (rng.random((features, ratings.n_items)) - 0.5) * noise
    user, item, left = ratings.user, ratings.item, ratings.rating - offset
    if sweep == "features":
        for mine, its in zip(of_user, of_item, strict=True):
            left -= mine[user] * its[item]
    go = compiled(sweep_features if sweep == "features" else sweep_ratings)
    with progress(iterations, "iterations") as advance:
        for _ in range(iterations):
            if shuffled:
                order = rng.permutation(len(left))
                user, item, left = user[order], item[order], left[order]
            go(user, item, left, of_user, of_item, rate, penalty)
            advance(1)
    if not (np.isfinite(of_user).all() and np.isfinite(of_item).all()):
        raise ValueError(f"the factors grew without bound; rate {rate} is too large")
    return Factors(of_user.T, of_item.T, offset)


def learn_factors(
    ratings: RatingMatrix,
    rng: np.random.Generator,
    features: int = 50,
    iterations: int = 100,
    rate: float = 0.005,
    penalty: float = 0.02,
    noise: float = 0.005,
    offset: float = 1.0,
    sweep: str = "features",
    shuffled: bool = True,
    capped: bool = True,
) -> Estimates:
    """Return estimates by ``factorise``; ``capped`` puts them back into the ratings' range."""
    factors = factorise(
        ratings, rng, features, iterations, rate, penalty, noise, offset, sweep, shuffled
    )

    def estimate(users: Integers) -> Floats:
        estimates = factors.estimate(users)
        return ratings.cap(estimates) if capped else estimates

    return Estimates(estimate)
