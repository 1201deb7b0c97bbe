"""Scores of several systems by several measures, user by user: means, ranks, resampled users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...clickmodels import ClickModel
from ...common import checks
from ...common.typing import Floats, Integers
from ...data import World
from ...policies import Policy
from ..statistics import Interval, check_confidence, make_interval
from .click_rates import click_rates, simulate_click_rates
from .rating_metrics import list_ndcg, list_precision

NDCG, PRECISION = "nDCG", "precision"
_COUNTS = 1 << 21  # counts (resample, user) held at once


@dataclass(frozen=True, eq=False)
class SystemScores:
    """What each measure says of each system, user by user.

    Attributes
    ----------
    systems : S names
    measures : M names
        Metrics of ratings, and click-through rates by the names of the users' ways to read.
    per_user : (S, M, n)
        NaN where a measure leaves a user out.
    weight : (n,)
        How often each user is asked.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]
    per_user: Floats
    weight: Floats

    def __post_init__(self) -> None:
        shape = (len(self.systems), len(self.measures), len(self.weight))
        checks.same_shape(self.per_user, shape, "per_user", "systems, measures and weight")

    def of(self, measure: str) -> Floats:
        """Return the mean score of each system by one measure, (S,)."""
        return self.means()[:, self.place(measure)]

    def place(self, measure: str) -> int:
        """Return the index of a measure."""
        return self.measures.index(checks.choice(measure, self.measures, "measure"))

    def means(self) -> Floats:
        """Return the mean over users, (S, M)."""
        return self._means(self.weight[None])[0]

    def ranks(self) -> Integers:
        """Return the rank of each system by each measure, 1 the best, (S, M); equal means share."""
        from scipy.stats import rankdata

        return rankdata(-self.means(), method="min", axis=0).astype(np.int64)

    def with_measure(self, name: str, per_user: Floats) -> SystemScores:
        """Return these scores with one measure more, (S, n)."""
        if name in self.measures:
            raise ValueError(f"there is a measure {name!r} already")
        joined = np.concatenate([self.per_user, per_user[:, None]], axis=1)
        return SystemScores(self.systems, (*self.measures, name), joined, self.weight)

    def resample(self, resamples: int = 1000, seed: int = 0) -> Floats:
        """Return the means over users drawn with replacement, (resamples, S, M).

        All systems and measures see the same draws. Time O(resamples n S M).
        """
        return np.concatenate([self._means(counts) for counts in self._draws(resamples, seed)])

    def intervals(
        self, resamples: int = 1000, seed: int = 0, confidence: float = 0.95
    ) -> dict[str, dict[str, Interval]]:
        """Return bootstrap intervals over users, by system and measure."""
        means, drawn = self.means(), self.resample(resamples, seed)
        low, high = percentiles(drawn, confidence)
        n_users = len(self.weight)
        return {
            system: {
                measure: make_interval(float(mean), float(lower), float(upper), n_users)
                for measure, mean, lower, upper in zip(self.measures, *row, strict=True)
            }
            for system, *row in zip(self.systems, means, low, high, strict=True)
        }

    def _means(self, weight: Floats) -> Floats:
        """Return means with other weights (b, n) of the users, (b, S, M)."""
        n_users = len(self.weight)
        flat = self.per_user.reshape(-1, n_users)
        known = ~np.isnan(flat)
        total = weight @ np.where(known, flat, 0.0).T
        if known.all():
            divisor = weight.sum(axis=1, keepdims=True)
        else:
            divisor = weight @ known.T.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            return (total / divisor).reshape(-1, *self.per_user.shape[:2])

    def _draws(self, resamples: int, seed: int) -> Iterator[Floats]:
        resamples = checks.positive_integer(resamples, "resamples", 2)
        rng = np.random.default_rng(checks.positive_integer(seed, "seed", 0))
        n_users = len(self.weight)
        step = max(_COUNTS // n_users, 1)
        for start in range(0, resamples, step):
            size = min(step, resamples - start)
            counts = rng.multinomial(n_users, np.full(n_users, 1.0 / n_users), size=size)
            yield counts * self.weight


def percentiles(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return the bounds of the middle share of values along the first axis, NaN left out."""
    tail = (1.0 - check_confidence(confidence)) / 2.0
    low, high = np.nanquantile(values, (tail, 1.0 - tail), axis=0)
    return low, high


def score_systems(
    systems: Mapping[str, Policy],
    users: Mapping[str, ClickModel],
    world: World,
    relevant: int = 4,
    repetitions: int | None = None,
    seed: int = 0,
    **ndcg: Any,
) -> SystemScores:
    """Return nDCG, precision and the click-through rate under each user, system by system.

    Parameters
    ----------
    systems : dict of deterministic policies
        Such as those of ``policies.recommender``.
    users : dict of click models
        Such as those of ``clickmodels.true_user``.
    relevant : int
        The lowest rating that counts as relevant in nDCG and precision.
    repetitions : int, optional
        How often clicks are simulated; their mean is the rate. None: the exact rate.
    seed : int
        Of simulated clicks.
    ndcg
        The form of nDCG, see ``list_ndcg``.
    """
    taken = {NDCG, PRECISION} & set(users)
    if taken:
        raise ValueError(f"a user cannot be called {', '.join(sorted(taken))}")
    if not systems:
        raise ValueError("there are no systems to score")
    rows = []
    seeds = np.random.SeedSequence(checks.positive_integer(seed, "seed", 0))
    for policy in systems.values():
        row = [list_ndcg(policy, world, relevant, **ndcg), list_precision(policy, world, relevant)]
        for user in users.values():
            if repetitions is None:
                row.append(click_rates(policy, user, world))
            else:
                own = int(seeds.spawn(1)[0].generate_state(1)[0])
                row.append(simulate_click_rates(policy, user, world, repetitions, own).mean(axis=0))
        rows.append(np.stack(row))
    weight = world.query_probs[world.query_probs > 0]
    return SystemScores(tuple(systems), (NDCG, PRECISION, *users), np.stack(rows), weight)
