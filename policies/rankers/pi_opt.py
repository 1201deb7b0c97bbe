"""Learning to rank from the rewards of whole slates (PI-OPT), and from grades beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common import checks
from ...common.typing import Floats, Integers
from ...data import ClickLog, World
from ..base import Policy
from ..deterministic import Ranker
from ..propensities import check_logging
from ..slates.pseudoinverse import slate_pseudoinverse
from .boosting import fit_ranker, fit_regression, tree_settings

_ROWS = 1 << 18  # rows of slot-action features made at once to predict


class _Learner:
    """Boosted trees that learned to rank pages of ``slots`` slots.

    Attributes
    ----------
    model
        LightGBM's; ``n_own`` features after the world's are its own.
    slots : int
    """

    n_own = 0

    def __init__(self, model: Any, slots: int) -> None:
        self.model, self.slots = model, slots

    def candidate_features(self, world: World) -> NDArray[np.float32]:
        """Return the features of all candidates, if the world has as many as were learned."""
        features, learned = need_features(world), int(self.model.n_features_in_) - self.n_own
        if features.shape[2] != learned:
            raise ValueError(f"this world has {features.shape[2]} features, {learned} were learned")
        return features[world.candidates]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.slots} slots, {self.model!r})"


class SlateLearner(_Learner):
    """The result of ``fit_pi_opt``: a score for each document in each slot, from its features.

    Attributes
    ----------
    model
        LightGBM's regression; the slot is the last feature.
    slots : int
    """

    n_own = 1

    def scores(self, world: World) -> Floats:
        """Return the scores of slot-action pairs, (Q, K, N); -inf = not a candidate."""
        features = self.candidate_features(world)
        scores = np.full((world.n_queries, self.slots, world.n_docs), -np.inf)
        found = np.empty(len(features))
        for slot in range(self.slots):
            for start in range(0, len(features), _ROWS):
                part = slice(start, start + _ROWS)
                found[part] = self.model.predict(_append_slot(features[part], slot))
            scores[:, slot][world.candidates] = found
        return scores

    def policy(self, world: World) -> Ranker:
        """Return the deterministic policy of the slates that these scores build greedily."""
        return Ranker.from_rankings(greedy_slates(self.scores(world)), world=world)


class DocumentLearner(_Learner):
    """A score for each document, the same in all slots, from its features."""

    def scores(self, world: World) -> Floats:
        """Return the scores of documents, (Q, N); -inf = not a candidate."""
        scores = np.full(world.candidates.shape, -np.inf)
        scores[world.candidates] = self.model.predict(self.candidate_features(world))
        return scores

    def policy(self, world: World) -> Ranker:
        """Return the deterministic policy that ranks by score."""
        return Ranker(self.scores(world), self.slots, world=world)


def fit_pi_opt(
    log: ClickLog, rewards: ArrayLike, logging: Policy, world: World, seed: int = 0, **trees: Any
) -> SlateLearner:
    """Learn a ranking policy from slates and their rewards alone (PI-OPT, section 4.2).

    Every sample's reward becomes imputed rewards of all slot-action pairs of its query,
    ``Γ† 1_s r``; gradient-boosted trees predict them from the document's features and the slot.

    Parameters
    ----------
    log : ClickLog
        Slates that ``logging`` showed; its clicks are not used.
    rewards : (n,)
        The reward of each slate.
    logging : Policy
    world : World
        With features. Unjudged documents will do: grades are not used.
    seed : int
    trees
        Arguments of LightGBM's ``LGBMRegressor`` that differ from ``boosting.TREES``.

    Notes
    -----
    Γ depends on the query alone, so the n_x samples of a query are averaged before the
    regression, and the average is weighted by n_x: the sum of squared errors differs from that of
    the single samples by a constant. Costs one regression on the documents times the slots of
    the queries that the log has, whatever its length.
    """
    rewards = checks.finite(rewards, "rewards", 1)
    checks.same_shape(rewards, (len(log),), "rewards", "log")
    log.check_world(world)
    logging.check_world(world)
    if logging.slots != log.slots:
        raise ValueError(f"logging shows {logging.slots} slots, the log has {log.slots}")
    need_features(world)
    settings = tree_settings(trees)
    if not log.impressions > 0:
        raise ValueError("log has no impressions to learn from")
    check_logging(log, logging)
    rows = _impute_rewards(log, rewards, logging, world)
    return SlateLearner(fit_regression(*rows, seed, **settings), logging.slots)


def _impute_rewards(
    log: ClickLog, rewards: Floats, logging: Policy, world: World
) -> tuple[NDArray[np.float32], Floats, Floats]:
    """Return the features, imputed rewards and impressions of all slot-action pairs."""
    features = need_features(world)
    count = np.ones(len(log)) if log.weight is None else log.weight
    counted = np.flatnonzero(count > 0)
    order = counted[np.argsort(log.query[counted], kind="stable")]
    asked, starts = np.unique(log.query[order], return_index=True)
    pairs = []
    for query, samples in zip(asked.tolist(), np.split(order, starts[1:]), strict=True):
        inverse = slate_pseudoinverse(logging, query)
        imputed = inverse.impute(log.ranking[samples], rewards[samples], count[samples])
        shown = np.flatnonzero(world.candidates[query])
        impressions = np.full(len(shown), count[samples].sum())
        for slot in range(min(logging.slots, len(shown))):
            own = _append_slot(features[query, shown], slot)
            pairs.append((own, imputed[slot, shown], impressions))
    rows, targets, weights = zip(*pairs, strict=True)
    return np.concatenate(rows), np.concatenate(targets), np.concatenate(weights)


def fit_supervised(world: World, slots: int = 10, seed: int = 0, **trees: Any) -> DocumentLearner:
    """Learn the graded documents' gains, ``world.gain``, by the same regression (SUP)."""
    world.require_grades("supervised learning needs")
    settings = tree_settings(trees)
    judged = world.candidates & (world.relevance >= 0)
    features, gains = need_features(world)[judged], world.gain[judged]
    model = fit_regression(features, gains, np.ones(len(gains)), seed, **settings)
    return DocumentLearner(model, slots)


def fit_lambdamart(world: World, slots: int = 10, seed: int = 0, **trees: Any) -> DocumentLearner:
    """Learn LightGBM's list-wise ranker of the grades, with as many trees (LambdaMART)."""
    world.require_grades("LambdaMART needs")
    need_features(world)
    judged = world.candidates & (world.relevance >= 0)
    return DocumentLearner(fit_ranker(world, judged, seed, **tree_settings(trees)), slots)


def greedy_slates(scores: ArrayLike) -> Integers:
    """Return the slates (Q, K) that slot-action scores (Q, K, N) build greedily.

    The pair with the highest score is taken first, then the highest of the pairs whose slot and
    action are both free; ties by slot, then by index. -inf = not a candidate; a query with fewer
    candidates than slots fills its first slots.
    """
    left = np.array(scores, dtype=np.float64)
    if left.ndim != 3 or np.isnan(left).any() or (left == np.inf).any():
        raise ValueError("scores must be (Q, K, N), finite or -inf for no candidate")
    n_queries, slots, n_docs = left.shape
    length = (left[:, 0] > -np.inf).sum(axis=1)
    left[np.arange(slots) >= length[:, None]] = -np.inf
    slates = np.full((n_queries, slots), -1, dtype=np.int64)
    query = np.arange(n_queries)
    for _ in range(slots):
        best = left.reshape(n_queries, -1).argmax(axis=1)
        slot, action = np.divmod(best, n_docs)
        some = left[query, slot, action] > -np.inf
        rows, slot, action = query[some], slot[some], action[some]
        slates[rows, slot] = action
        left[rows, slot] = -np.inf
        left[rows, :, action] = -np.inf
    return slates


def need_features(world: World) -> NDArray[np.float32]:
    """Return the features of ``world``, (Q, N, F), or raise where it has none."""
    if world.features is None:
        raise ValueError("learning to rank needs a world with features")
    return world.features


def _append_slot(features: NDArray[np.float32], slot: int) -> NDArray[np.float32]:
    column = np.full((len(features), 1), slot, dtype=np.float32)
    return np.concatenate([features, column], axis=1)
