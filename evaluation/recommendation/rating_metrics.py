"""How good lists are by the ratings of their users: precision, nDCG, the share of unrated items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...common import checks
from ...common.typing import Booleans, Floats, Integers
from ...data import World
from ...policies import Policy
from ..metrics.graded import discount as log_discount

GAINS, DISCOUNTS, IDEALS = ("binary", "rating", "exponential"), ("log", "late"), ("user", "full")


@dataclass(frozen=True)
class RatedLists:
    """The list of each user with the ratings that the user gave in the test part.

    Attributes
    ----------
    query : (n,)
        The users who are asked at all.
    ranking : (n, K)
    rating : (n, K)
        Test ratings of the shown items; -1 for an item without one and for an empty place.
    """

    query: Integers
    ranking: Integers
    rating: Integers

    @classmethod
    def of(cls, policy: Policy, world: World) -> RatedLists:
        """Return the lists that a deterministic policy shows."""
        policy.check_world(world)
        if not policy.deterministic:
            raise ValueError(
                f"the policy {policy.name} shows other lists every time; metrics of ratings need a "
                "deterministic one, such as those of policies.recommender"
            )
        query = np.flatnonzero(world.query_probs > 0)
        ranking = policy.greedy(query)
        rating = world.relevance[query[:, None], np.maximum(ranking, 0)].astype(np.int64)
        return cls(query, ranking, np.where(ranking >= 0, rating, -1))

    @property
    def shown(self) -> Booleans:
        """Which places are not empty, (n, K)."""
        return self.ranking >= 0


def list_precision(policy: Policy, world: World, relevant: int = 4) -> Floats:
    """Return for each user the share of the K places that show a relevant item, (n,): P@K.

    Parameters
    ----------
    policy : Policy
        Deterministic, with K slots.
    world : World
        Its grades are test ratings (``Ratings.world``).
    relevant : int
        The lowest rating that is relevant; an item without a test rating is not.

    Notes
    -----
    A place that stays empty counts as one that shows nothing relevant. Users who are never asked
    (``query_probs`` 0) are left out.
    """
    lists = RatedLists.of(policy, world)
    return np.asarray((lists.rating >= _check_relevant(relevant, world)).mean(axis=1))


def list_ndcg(
    policy: Policy,
    world: World,
    relevant: int = 4,
    gain: str = "binary",
    discount: str = "log",
    ideal: str = "user",
    without: str = "zero",
) -> Floats:
    """Return the nDCG@K of each user's list, (n,).

    Parameters
    ----------
    policy, world, relevant
        As of ``list_precision``.
    gain : str
        Of a relevant item: "binary" 1, "rating" its rating r, "exponential" 2^r - 1. Of others 0.
    discount : str
        "log": 1 / log2(p + 1) at position p. "late": 1 / max(1, log2(p)), so that the first two
        positions count the same (Järvelin and Kekäläinen).
    ideal : str
        What a list is compared with. "user": the best order of the user's own relevant test items,
        at most K. "full": K items of the highest gain, the same for all users.
    without : str
        A user without relevant test items counts as "zero" or is left out: "nan".

    Notes
    -----
    Test items count in the ideal also where they are no candidates: no list can have them, and no
    system is to blame for it more than another.
    """
    checks.choice(gain, GAINS, "gain")
    checks.choice(ideal, IDEALS, "ideal")
    checks.choice(without, ("zero", "nan"), "without")
    lists = RatedLists.of(policy, world)
    relevant = _check_relevant(relevant, world)
    slots = lists.ranking.shape[1]
    weights = _discounts(discount, slots)
    gains = _gains(gain, relevant, world.max_grade)  # the last entry is that of rating -1
    found = gains[lists.rating] @ weights
    # Ratings are few: how often a user gave each of them says what the best order earns.
    best = np.zeros(len(lists.query))
    places = np.zeros(len(lists.query), dtype=np.int64)
    ends = np.concatenate([[0.0], np.cumsum(weights)])
    for rating in range(world.max_grade, relevant - 1, -1):
        number = np.count_nonzero(world.relevance[lists.query] == rating, axis=1)
        after = np.minimum(places + number, slots)
        best += gains[rating] * (ends[after] - ends[places])
        places = after
    nothing = best == 0.0
    if ideal == "full":
        best = np.full_like(best, gains[world.max_grade] * ends[-1])
    scores = found / np.where(best > 0.0, best, 1.0)
    return np.where(nothing, 0.0 if without == "zero" else np.nan, scores)


def share_unrated(policy: Policy, world: World) -> float:
    """Return the share of the shown items for which the user has no test rating.

    NaN where nothing is shown.
    """
    lists = RatedLists.of(policy, world)
    weight = world.query_probs[lists.query]
    shown = float(weight @ lists.shown.sum(axis=1))
    unrated = float(weight @ (lists.shown & (lists.rating < 0)).sum(axis=1))
    return unrated / shown if shown else float("nan")


def _check_relevant(relevant: int, world: World) -> int:
    relevant = checks.positive_integer(relevant, "relevant")
    if relevant > world.max_grade:
        raise ValueError(f"relevant is {relevant}, but the highest grade is {world.max_grade}")
    world.require_grades("metrics of ratings need")
    return relevant


def _discounts(name: str, slots: int) -> Floats:
    checks.choice(name, DISCOUNTS, "discount")
    if name == "log":
        return log_discount(slots)
    return np.asarray(1.0 / np.maximum(1.0, np.log2(np.arange(1, slots + 1))))


def _gains(name: str, relevant: int, max_grade: int) -> Floats:
    """Return the gain of each rating from 0, and of no rating at the end, (max_grade + 2,)."""
    rating = np.arange(max_grade + 2, dtype=np.float64)
    gains = {"binary": np.ones_like(rating), "rating": rating, "exponential": 2.0**rating - 1.0}
    return np.where((rating >= relevant) & (rating <= max_grade), gains[name], 0.0)
