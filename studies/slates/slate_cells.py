"""One log of the slates paper's study, and what every estimator makes of its beginnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import evaluation, policies
from ...data import ClickLog, World
from ...evaluation.offpolicy.direct_method import regression, slate_features
from ..engine.grid import Result
from .slate_space import TARGETS, SlateSpace, slate_logging, slate_target, slate_world

VERSION = "2"
METRICS = ("ndcg", "err")
DIRECT = ("dm-tree", "dm-lasso")
_CHUNK = 4096


@dataclass(frozen=True)
class OpeCell:
    """One log, drawn by ``seed``, from which both targets and both metrics are estimated.

    ``sizes`` of its beginnings, ascending; the direct methods are fitted up to size ``direct``.
    """

    space: SlateSpace
    seed: int
    sizes: tuple[int, ...] = (600, 2_000, 6_000, 20_000, 60_000)
    direct: int = 20_000
    targets: tuple[str, ...] = field(default=TARGETS)


ESTIMATES = {
    "estimates": list[tuple[str, str, str, int, float]], "truth": dict[str, dict[str, float]],
}  # fmt: skip


def slate_cell(cell: OpeCell) -> Result:
    """Draw the log and estimate; return the estimates and the true values.

    ``estimates`` are lists (target, metric, estimator, n, estimate), ``truth`` is by target and
    metric: exact, because targets and rewards are deterministic.
    """
    space = cell.space
    world, logging = slate_world(space), slate_logging(space)
    log = draw_slates(world, logging, cell.sizes[-1], cell.seed)
    rewards = {
        metric: evaluation.metric_rewards(metric, log.query, log.ranking, world)
        for metric in METRICS
    }
    estimates: list[list[Any]] = []
    truth: dict[str, dict[str, float]] = {}
    for name in cell.targets:
        target = slate_target(space, name)
        truth[name] = {}
        weights = {
            "ips": evaluation.importance_weights(log, target),
            "pi": pseudoinverse_weights(space, name).of(log.query, log.ranking),
        }
        for metric, deployed in target_rewards(space, name).items():
            truth[name][metric] = float(deployed.mean())
            found = weighted_estimates(weights, rewards[metric], deployed[log.query], cell.sizes)
            estimates += [[name, metric, *values] for values in found]
    sizes = [n for n in cell.sizes if n <= cell.direct]
    slates = [slate_target(space, name).rankings for name in cell.targets]
    earned = np.stack(list(rewards.values()), axis=1)
    estimates += [
        [name, metric, estimator, n, float(value)]
        for estimator, n, values in direct_values(DIRECT, log, earned, slates, world, sizes)
        for name, row in zip(cell.targets, values, strict=True)
        for metric, value in zip(METRICS, row, strict=True)
    ]
    return {"estimates": estimates, "truth": truth}


def draw_slates(world: World, policy: policies.Policy, n: int, seed: int) -> ClickLog:
    """Draw queries by the world's frequencies and slates by ``policy``; nobody clicks."""
    rng = np.random.default_rng(seed)
    query = rng.choice(world.n_queries, size=n, p=world.query_probs).astype(np.int32)
    ranking = np.empty((n, policy.slots), dtype=np.int32)
    log_propensity = np.empty(n)
    for start in range(0, n, _CHUNK):
        rows = slice(start, start + _CHUNK)
        ranking[rows], drawn = policy.draw(query[rows].astype(np.int64), rng)
        assert drawn is not None
        log_propensity[rows] = drawn
    clicks = np.zeros(ranking.shape, dtype=bool)
    return ClickLog(query, ranking, clicks, log_propensity, fingerprint=world.fingerprint)


def weighted_estimates(
    weights: dict[str, NDArray[np.float64]],
    rewards: NDArray[np.float64],
    deployed: NDArray[np.float64],
    sizes: Sequence[int],
) -> list[tuple[str, int, float]]:
    """Return (estimator, n, estimate) of the beginnings of a log.

    ``weights`` (n,) of "ips" and "pi" each give a plain and a weighted estimator; "on-policy" is
    the mean of ``deployed`` (n,), what the target earns for the same queries.
    """
    found = {"on-policy": prefix_means(np.ones(len(deployed)), deployed, sizes)[0]}
    for kind, values in weights.items():
        found[kind], found[f"w{kind}"] = prefix_means(values, rewards, sizes)
    return [
        (name, n, value)
        for name, values in found.items()
        for n, value in zip(sizes, values, strict=True)
    ]


def prefix_means(
    weights: NDArray[np.float64], rewards: NDArray[np.float64], sizes: Sequence[int]
) -> tuple[list[float], list[float]]:
    """Return weighted means of the first n rows: divided by n, and by the sum of weights.

    The second is 0 where that sum is not above 0: the log then says nothing.
    """
    last = np.array(sizes) - 1
    total, mass = np.cumsum(weights * rewards)[last], np.cumsum(weights)[last]
    ratio = np.divide(total, mass, out=np.zeros(len(last)), where=mass > 0)
    return (total / np.array(sizes)).tolist(), ratio.tolist()


@lru_cache(maxsize=2)  # of one space's targets: a table is 4 MB
def pseudoinverse_weights(space: SlateSpace, target: str) -> evaluation.PseudoinverseWeights:
    """Return the pseudoinverse weights of a space's slates for a target."""
    queries = np.arange(slate_world(space).n_queries)
    return evaluation.PseudoinverseWeights(
        slate_logging(space), slate_target(space, target), queries
    )


@lru_cache(maxsize=4)
def target_rewards(space: SlateSpace, target: str) -> dict[str, NDArray[np.float64]]:
    """Return the reward of the target's slate for each query, by metric."""
    world, slates = slate_world(space), slate_target(space, target).rankings
    return {
        metric: evaluation.metric_rewards(metric, np.arange(len(slates)), slates, world)
        for metric in METRICS
    }


def direct_values(
    methods: Sequence[str],
    log: ClickLog,
    rewards: NDArray[np.float64],
    slates: Sequence[NDArray[np.int64]],
    world: World,
    sizes: Sequence[int],
) -> list[tuple[str, int, NDArray[np.float64]]]:
    """Return what direct methods make of the beginnings of a log, one fit for all targets.

    Parameters
    ----------
    methods : sequence of str
        "dm-tree", "dm-lasso".
    log, rewards : ClickLog, (n, R)
    slates : T arrays (Q, K)
        What deterministic targets show.
    world : World
        Whose features are regressed on.
    sizes : sequence of int
        Of the beginnings: the first half is fitted to, the second says which queries are asked
        (equation 3).

    Returns
    -------
    Method, size and values (T, R).
    """
    if not sizes:
        return []
    features = world.standardised_features
    most = max(sizes) // 2
    pages = slate_features(log.query[:most], log.ranking[:most], features)
    queries = np.arange(world.n_queries)
    asked = np.concatenate([slate_features(queries, rows, features) for rows in slates])
    result = []
    for n in sizes:
        half = n // 2
        share = np.bincount(log.query[half:n], minlength=len(queries)) / (n - half)
        for method in methods:
            fitted = regression(method.removeprefix("dm-")).fit(pages[:half], rewards[:half])
            by_target = fitted.predict(asked).reshape(len(slates), len(queries), -1)
            result.append((method, n, np.einsum("q,tqr->tr", share, by_target)))
    return result
