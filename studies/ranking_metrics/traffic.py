"""Banners, the user who sees them, and the traffic of a stochastic production ranker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ... import envs, policies
from ...common.typing import Booleans, Floats
from ...data import ClickLog, World
from .one_click import OneClick

LOWEST, HIGHEST = 0.02, 0.25  # attractiveness of the lowest and of the highest grade
PRODUCTION = 0.5  # correlation of the production ranker's scores with the grades
SHARPER = 2.0  # by up to which factor a query's temperature differs from the usual one
_ERROR, _LOG, _SHUFFLED, _REFERENCE = range(1, 5)  # what is drawn from a seed


@dataclass(frozen=True)
class Banner:
    """A page of ``slots`` products, of which rank r is examined with probability r^-decay."""

    slots: int
    decay: float


# In the paper's Figure 2 click-through rates fall with the rank, "especially on large banners".
BANNERS = {"small": Banner(4, 1.0), "large": Banner(10, 1.3)}


def true_user(world: World, banner: str) -> OneClick:
    """Return the user: attractiveness grows evenly with the grade."""
    shape = BANNERS[banner]
    grades = np.maximum(world.relevance, 0) / world.max_grade
    examination = np.arange(1.0, shape.slots + 1.0) ** -shape.decay
    user = OneClick(LOWEST + (HIGHEST - LOWEST) * grades, examination)
    user.fingerprint = world.fingerprint
    return user


@dataclass(frozen=True)
class Production:
    """The production ranker.

    Attributes
    ----------
    quality : (Q, N)
        Grades, standardised within each query: what is right about any score.
    error : (Q, N)
        What is wrong about production's scores, standardised, and uncorrelated with ``quality``
        within each query.
    scores : (Q, N)
        Production's own: ``PRODUCTION`` parts of quality, the rest error.
    sharpness : (Q,)
        By query, what the scores are multiplied by: how sure production is.
    """

    quality: Floats
    error: Floats
    scores: Floats
    sharpness: Floats


def make_production(world: World, seed: int) -> Production:
    """Return the production ranker of a seed.

    Its error is a belief about features: the normal scores of a random linear combination of the
    world's standardised features, less what goes with the grades. So a ranker that learns from
    features can learn the error too. Its sharpness is 1/SHARPER to SHARPER, evenly in logarithms.
    """
    rng = np.random.default_rng((seed, _ERROR))
    candidates = world.candidates
    quality = standardise(np.maximum(world.relevance, 0.0), candidates)
    weights = rng.standard_normal(world.standardised_features.shape[2])
    belief = _normal_scores(world.standardised_features @ weights, candidates)
    shared = (belief * quality).sum(axis=1, keepdims=True)
    shared /= np.maximum((quality**2).sum(axis=1, keepdims=True), 1e-12)
    error = standardise(belief - shared * quality, candidates)
    scores = PRODUCTION * quality + np.sqrt(1.0 - PRODUCTION**2) * error
    sharpness = SHARPER ** rng.uniform(-1.0, 1.0, world.n_queries)
    return Production(quality, error, scores, sharpness)


def production_policy(
    world: World, production: Production, banner: str, temperature: float
) -> policies.PlackettLuce:
    """Return the Plackett-Luce policy with weights exp(sharpness · score / temperature)."""
    logs = production.sharpness[:, None] * production.scores / temperature
    top = np.where(world.candidates, logs, -np.inf).max(axis=1, keepdims=True)
    weights = np.where(world.candidates, np.exp(np.minimum(logs - top, 0.0)), 0.0)
    policy = policies.PlackettLuce(weights, slots=BANNERS[banner].slots)
    policy.fingerprint = world.fingerprint
    return policy


def standardise(values: NDArray[np.floating], candidates: Booleans) -> Floats:
    """Return values (Q, N) with mean 0 and variance 1 over each query's candidates.

    0 where a query's are all equal, and where there is no candidate.
    """
    count = np.maximum(candidates.sum(axis=1, keepdims=True), 1)
    centred = np.where(candidates, values, 0.0)
    centred = np.where(candidates, centred - centred.sum(axis=1, keepdims=True) / count, 0.0)
    spread = np.sqrt((centred**2).sum(axis=1, keepdims=True) / count)
    return centred / np.where(spread > 1e-9, spread, 1.0)


def _normal_scores(values: NDArray[np.floating], candidates: Booleans) -> Floats:
    """Return the normal quantiles of the ranks of values (Q, N) among each query's candidates."""
    order = np.argsort(np.where(candidates, values, np.inf), axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), 1)
    shares = (ranks + 0.5) / np.maximum(candidates.sum(axis=1, keepdims=True), 1)
    return np.where(candidates, ndtri(np.where(candidates, shares, 0.5)), 0.0)


@dataclass(frozen=True)
class Traffic:
    """Logs of one banner.

    Attributes
    ----------
    policy : PlackettLuce
        Production's.
    log : ClickLog
        The pages that production ordered, with propensities.
    shuffled : ClickLog
        The small share of its pages that were shuffled before they were shown.
    reference : ClickLog
        Many more shuffled pages, as a company would never show: what metrics are compared with.
    """

    policy: policies.PlackettLuce
    log: ClickLog
    shuffled: ClickLog
    reference: ClickLog


def make_traffic(
    world: World,
    user: OneClick,
    policy: policies.PlackettLuce,
    impressions: int,
    shuffled: int,
    reference: int,
    seed: int,
) -> Traffic:
    """Return the traffic of a seed: numbers of impressions that are ordered and shuffled."""
    return Traffic(
        policy,
        envs.collect(world, user, policy, impressions, _seed(seed, _LOG)),
        _collect_shuffled(world, user, policy, shuffled, _seed(seed, _SHUFFLED)),
        _collect_shuffled(world, user, policy, reference, _seed(seed, _REFERENCE)),
    )


def _seed(seed: int, part: int) -> int:
    return int(np.random.SeedSequence((seed, part)).generate_state(1)[0])


def _collect_shuffled(
    world: World, user: OneClick, policy: policies.PlackettLuce, n: int, seed: int
) -> ClickLog:
    """Return a log of pages that ``policy`` chose, in uniformly random order."""
    rng = np.random.default_rng(seed)
    query = rng.choice(world.n_queries, n, p=world.query_probs)
    ranking = policy.sample(query, rng)
    keys = np.where(ranking >= 0, rng.random(ranking.shape), 2.0)  # empty slots stay behind
    ranking = np.take_along_axis(ranking, np.argsort(keys, axis=1), axis=1)
    clicks = user.sample(query, ranking, rng)
    return ClickLog(query.astype(np.int32), ranking, clicks, fingerprint=world.fingerprint)
