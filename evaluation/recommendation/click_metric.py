"""A metric of ratings whose discount is fitted to how a user clicks: expected CTR from ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...clickmodels import ClickModel
from ...common import checks
from ...common.typing import Floats
from ...data import World
from ...policies import Policy
from .rating_metrics import RatedLists

_ROUNDS = 200  # of alternating least squares; they converge in a few
_TOLERANCE = 1e-14


@dataclass(frozen=True, eq=False)
class ClickMetric:
    """Expected CTR@K from ratings: the mean over places of ``discount[place] * gain[rating]``.

    Precision has the discount 1 and the gain 1 of relevant items; DCG discounts by log2.

    Attributes
    ----------
    discount : (K,)
        1 at the first place.
    gain : (max_grade + 1,)
        By rating; an unrated item has none.
    """

    discount: Floats
    gain: Floats

    def score(self, policy: Policy, world: World) -> Floats:
        """Return the metric of each user's list, (n,)."""
        lists = RatedLists.of(policy, world)
        checks.same_shape(lists.ranking, (len(lists.query), len(self.discount)), "ranking",
                          "this metric")  # fmt: skip
        gains = np.append(self.gain, 0.0)[lists.rating]  # the last is that of rating -1
        return np.asarray(gains @ self.discount / len(self.discount))


def fit_click_metric(
    user: ClickModel, world: World, policies: Sequence[Policy], relevant: int | None = None
) -> ClickMetric:
    """Fit a discount by place, and a gain by rating, to the click probabilities of ``user``.

    Parameters
    ----------
    user : ClickModel
        With exact click probabilities: a true user, or a model that was fitted to a log.
    policies : deterministic policies
        The metric is fitted to their lists, all with the same number of slots.
    relevant : int, optional
        With it, gains are not fitted but binary: the same for all ratings from this one.

    Notes
    -----
    Least squares over all shown items: the click probability of an item of rating r at place p
    should be ``discount[p] * gain[r]``. That is what it is for users whose examination depends on
    the place alone; the metric is then their exact CTR. For users whose next look depends on
    clicks above (browsing) or who stop (cascade) it is the best such product for these lists.

    A place or a rating that the lists never show has 0.
    """
    if not policies:
        raise ValueError("there are no policies to fit a metric to")
    number = world.max_grade + 1
    slots = policies[0].slots
    count, clicks = np.zeros((slots, number)), np.zeros((slots, number))
    for policy in policies:
        if policy.slots != slots:
            raise ValueError(f"the policies show {slots} and {policy.slots} slots")
        lists = RatedLists.of(policy, world)
        probs = user.click_probs(lists.query, lists.ranking)
        weight = np.broadcast_to(world.query_probs[lists.query][:, None], probs.shape)
        rated = lists.rating >= 0
        cell = (np.arange(slots) * number + np.maximum(lists.rating, 0))[rated]
        for table, values in ((count, weight), (clicks, weight * probs)):
            table += np.bincount(cell, values[rated], slots * number).reshape(slots, number)
    if not clicks.any():
        raise ValueError(f"the {user.name} never clicks on the items of these lists")
    return ClickMetric(*_factor(count, clicks, relevant))


def _factor(count: Floats, clicks: Floats, relevant: int | None) -> tuple[Floats, Floats]:
    """Return the product of a discount (K,) and a gain (R,) nearest to ``clicks / count``."""
    fixed = relevant is not None
    gain = (np.arange(count.shape[1]) >= (relevant or 1)).astype(np.float64)
    discount = _solve(clicks @ gain, count @ gain**2)
    for _ in range(0 if fixed else _ROUNDS):
        before = discount
        gain = _solve(discount @ clicks, discount**2 @ count)
        discount = _solve(clicks @ gain, count @ gain**2)
        if np.abs(discount - before).max() <= _TOLERANCE * np.abs(discount).max():
            break
    scale = discount[0] if discount[0] > 0 else discount.max()
    return discount / scale, gain * scale


def _solve(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
