"""The papers' rankers by name: their scores, and the deterministic and stochastic policies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Floats
from ...data import World
from ..base import Policy, candidate_scores
from ..deterministic import Ranker
from ..plackett_luce import PlackettLuce, Uniform, stochastic
from .cross_fitted import GROUPS, KINDS, group_scores, lambdamart_scores

BM25_FEATURE = 110  # of MSLR, counted from 1
RANDOM = "random"  # the ranker without scores
_SLOW = ("LambdaMART",)  # its scores take minutes

_OF_GROUPS = {f"{kind}-{group}": (kind, group) for kind in KINDS for group in GROUPS}
# The temperatures of the stochastic variants. The paper gives those of ε-oracle, LambdaMART and
# BM25; the oracle, its reverse and the rankers of groups of features take the ε-oracle's.
TEMPERATURES = {
    "epsilon-oracle": 0.1, "LambdaMART": 0.1, "BM25": 0.03, "oracle": 0.1, "reversed": 0.1,
    **dict.fromkeys(_OF_GROUPS, 0.1),
}  # fmt: skip
_GAINS = ("epsilon-oracle", "oracle")  # their scores are gains in [0, 1] and stay as they are


def ranker_names() -> tuple[str, ...]:
    """Return the names that ``named_ranker`` and ``logging_policy`` take."""
    return (*TEMPERATURES, RANDOM)


def ranker_scores(name: str, world: World, seed: int = 0, **settings: Any) -> Floats:
    """Return the scores of ranker ``name`` for all documents, (Q, N); -inf = not a candidate.

    "BM25" (``feature``, counted from 1), "LambdaMART" (``folds``, ``trees``), "epsilon-oracle"
    (``noise_sd``), "oracle" (the true gain), "reversed" (minus the true gain), and the slates
    paper's "tree-title", "tree-body", "lasso-title" and "lasso-body" (``folds``). All but BM25
    need a world with grades; documents without one count as grade 0, and are not learned from.
    """
    checks.choice(name, tuple(_SCORES), "name")
    return candidate_scores(_SCORES[name](world, seed, **settings), world)


def named_ranker(
    name: str, world: World, slots: int = 10, seed: int = 0, **settings: Any
) -> Policy:
    """Return the deterministic policy ``name``; "random" is uniform instead."""
    find_scores = partial(ranker_scores, world=world, seed=seed, **settings)
    return show_ranker(name, find_scores, world, slots)


def logging_policy(
    name: str,
    world: World,
    slots: int = 10,
    seed: int = 0,
    temperature: float | None = None,
    **settings: Any,
) -> Policy:
    """Return the stochastic variant of ranker ``name``, at the paper's temperature by default.

    The gains of "oracle" and "epsilon-oracle" are taken as they are, other scores are scaled to
    [0, 1] per query (``stochastic``).
    """
    find_scores = partial(ranker_scores, world=world, seed=seed, **settings)
    return show_variant(name, find_scores, world, slots, temperature)


def show_ranker(
    name: str, find_scores: Callable[[str], Floats], world: World, slots: int
) -> Policy:
    """Return the deterministic policy of a ranker, whose scores ``find_scores(name)`` gives."""
    if name == RANDOM:
        return Uniform(world, slots)
    return Ranker(find_scores(name), slots, world=world)


def show_variant(
    name: str,
    find_scores: Callable[[str], Floats],
    world: World,
    slots: int,
    temperature: float | None = None,
) -> Policy:
    """Return the stochastic variant of a ranker, at the paper's temperature by default."""
    if name not in TEMPERATURES:
        return show_ranker(name, find_scores, world, slots)
    degree = TEMPERATURES[name] if temperature is None else temperature
    return stochastic(find_scores(name), degree, slots, world=world, rescale=name not in _GAINS)


def has_quick_scores(name: str) -> bool:
    """Return whether a ranker has scores, and they are found in a moment."""
    return name in TEMPERATURES and name not in _SLOW


def p_alpha(
    scores: ArrayLike, alpha: float, slots: int = 10, *, world: World | None = None
) -> PlackettLuce:
    """Return the slates paper's logging policy over the order of ``scores`` (Q, N).

    Documents are drawn without replacement with probabilities proportional to
    ``2 ** (-alpha * floor(log2(rank)))``, where the document with the highest score has rank 1
    and ties are ordered by index. ``alpha`` 0 is uniform; larger ones come closer to the order
    itself. There are few distinct weights (7 for 100 documents), which keeps its marginals exact.
    A score of ``-inf`` = not a candidate; with ``world``, its candidates alone are shown.
    """
    array = candidate_scores(scores, world)
    alpha = float(checks.finite(alpha, "alpha", 0))
    if alpha < 0:
        raise ValueError(f"alpha must be at least 0, not {alpha}")
    order = np.argsort(-array, axis=1, kind="stable")
    tiers = np.floor(np.log2(np.arange(1, array.shape[1] + 1)))
    weights = np.empty(array.shape)
    np.put_along_axis(weights, order, np.broadcast_to(2.0 ** (-alpha * tiers), array.shape), axis=1)
    policy = PlackettLuce(np.where(array > -np.inf, weights, 0.0), slots=slots)
    policy.fingerprint = None if world is None else world.fingerprint
    return policy


def epsilon_oracle_scores(world: World, seed: int = 0, noise_sd: float = 0.1) -> Floats:
    """Return the true gain plus noise drawn once per document, clipped to [0, 1], (Q, N).

    The paper says variance 0.15, its released code has a standard deviation of 0.1. On full lists
    the first is hardly better than BM25, so only the second is "near-optimal": the default.
    """
    sd = float(checks.finite(noise_sd, "noise_sd", 0))
    if sd < 0:
        raise ValueError(f"noise_sd must be at least 0, not {sd}")
    world.require_grades("the epsilon-oracle needs")
    noise = np.random.default_rng(seed).normal(0.0, sd, world.gain.shape)
    return np.clip(world.gain + noise, 0.0, 1.0)


def _bm25_scores(world: World, seed: int, feature: int = BM25_FEATURE) -> Floats:
    feature = checks.positive_integer(feature, "feature")
    if world.features is None or world.features.shape[2] < feature:
        raise ValueError(f"BM25 is feature {feature}, which this world does not have")
    return world.features[:, :, feature - 1].astype(np.float64)


def _oracle_scores(world: World, seed: int) -> Floats:
    world.require_grades("the ranker oracle needs")
    return world.gain


def _reversed_scores(world: World, seed: int) -> Floats:
    world.require_grades("the ranker reversed needs")
    return -world.gain


_SCORES: dict[str, Callable[..., Floats]] = {
    "BM25": _bm25_scores,
    "LambdaMART": lambdamart_scores,
    "epsilon-oracle": epsilon_oracle_scores,
    "oracle": _oracle_scores,
    "reversed": _reversed_scores,
    **{
        name: partial(group_scores, kind=kind, group=group)
        for name, (kind, group) in _OF_GROUPS.items()
    },
}
