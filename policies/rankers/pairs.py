"""Rankers learned from pairs of documents, of which one is preferred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ...common import checks
from ...common.typing import Floats, Integers
from ...data import World
from .boosting import fit_regression, tree_settings
from .pi_opt import DocumentLearner, need_features


@dataclass(frozen=True, eq=False, repr=False)
class Preferences:
    """Pairs of documents of a query: the first is preferred to the second.

    Attributes
    ----------
    query, preferred, other : (m,) integers
    weight : (m,), at least 0
        How much each pair counts.
    fingerprint : str or None
        Of the world whose documents these are.
    """

    query: Integers
    preferred: Integers
    other: Integers
    weight: Floats
    fingerprint: str | None = None

    def __post_init__(self) -> None:
        for name in ("query", "preferred", "other"):
            array = checks.integers(getattr(self, name), name, 1).astype(np.int64, copy=False)
            checks.same_shape(array, np.shape(self.query), name, "query")
            object.__setattr__(self, name, array)
        weight = checks.finite(self.weight, "weight", 1)
        checks.same_shape(weight, np.shape(self.query), "weight", "query")
        if len(weight) and weight.min() < 0:
            raise ValueError(f"weight must be at least 0, not {weight.min()}")
        object.__setattr__(self, "weight", weight)

    def __len__(self) -> int:
        """Return the number of pairs m."""
        return len(self.query)

    def __repr__(self) -> str:
        return f"Preferences({len(self):,} pairs, total weight {self.weight.sum():,.0f})"


class LinearScore:
    """A score that is linear in a document's features.

    Attributes
    ----------
    coefficients : (F,)
    """

    def __init__(self, coefficients: Floats) -> None:
        self.coefficients = coefficients
        self.n_features_in_ = len(coefficients)

    def predict(self, features: NDArray[Any]) -> Floats:
        """Return the scores (n,) of documents with ``features`` (n, F)."""
        result: Floats = features @ self.coefficients
        return result

    def __repr__(self) -> str:
        return f"LinearScore({self.n_features_in_} features)"


def fit_linear_pairs(
    preferences: Preferences, world: World, slots: int = 10, penalty: float = 1e-4
) -> DocumentLearner:
    """Learn a linear score of features by which preferred documents stand first.

    Minimises the mean of log(1 + exp(s(other) - s(preferred))) over the weighted pairs, plus
    ``penalty`` / 2 times the squared coefficients of standardised features.

    Parameters
    ----------
    preferences : Preferences
        ``evaluation.counterfactual_pairs(log, policy).preferences()``, for example.
    world : World
        With features. Grades are not used.
    slots : int
        Of the pages that the policy shows.
    penalty : float, at least 0
    """
    from scipy.optimize import minimize

    penalty = float(checks.finite(penalty, "penalty", 0))
    if penalty < 0:
        raise ValueError(f"penalty must be at least 0, not {penalty}")
    pairs = _PairLoss.of(preferences, world)
    scale = pairs.features.std(axis=0, dtype=np.float64)
    scale = np.where(scale > 0, scale, 1.0)
    features = pairs.features / scale

    def loss(coefficients: Floats) -> tuple[float, Floats]:
        value, slope, _ = pairs.at(features @ coefficients)
        value += penalty / 2.0 * float(coefficients @ coefficients)
        return value, slope @ features + penalty * coefficients

    found = minimize(loss, np.zeros(features.shape[1]), jac=True, method="L-BFGS-B")
    return DocumentLearner(LinearScore(found.x / scale), slots)


def fit_tree_pairs(
    preferences: Preferences, world: World, slots: int = 10, seed: int = 0, **trees: Any
) -> DocumentLearner:
    """Learn boosted trees by which preferred documents stand first, with the same loss.

    Parameters
    ----------
    preferences, world, slots
        As for ``fit_linear_pairs``.
    seed : int
    trees
        Arguments of LightGBM's ``LGBMRegressor`` that differ from ``boosting.TREES``. A leaf has
        at least ``min_child_samples`` of the documents that are in pairs: 100, but no more than a
        twentieth of them unless given. Where no feature divides the documents into two such
        leaves there is nothing to learn, which is an error.
    """
    if "objective" in trees:
        raise TypeError("objective is the loss of pairs and cannot be given")
    settings = tree_settings(trees)
    pairs = _PairLoss.of(preferences, world)
    documents = len(pairs.features)
    if "min_child_samples" not in trees:
        settings["min_child_samples"] = max(min(settings["min_child_samples"], documents // 20), 1)
    leaf = settings["min_child_samples"]
    _require_splits(pairs.features, leaf)

    def objective(targets: Floats, scores: Floats) -> tuple[Floats, Floats]:
        _, slope, curvature = pairs.at(scores)
        return documents * slope, documents * curvature  # as if each had one pair

    nothing, alike = np.zeros(documents), np.ones(documents)
    model = fit_regression(
        pairs.features, nothing, alike, seed, objective=objective,
        min_data_in_bin=min(leaf, 3), **settings,
    )  # fmt: skip
    return DocumentLearner(model, slots)


def _require_splits(features: NDArray[np.float32], leaf: int) -> None:
    """Raise unless some feature divides documents (D, F) into two parts of at least ``leaf``."""
    number = len(features)
    if number >= 2 * leaf:
        parts = np.partition(features, (leaf - 1, number - leaf), axis=0)
        if (parts[leaf - 1] < parts[number - leaf]).any():
            return
    raise ValueError(
        f"preferences has pairs of {number} documents, which no feature divides into two leaves of "
        f"at least {leaf} (min_child_samples): trees need more pairs or smaller leaves"
    )


@dataclass(frozen=True)
class _PairLoss:
    """The logistic loss of pairs of documents.

    Attributes
    ----------
    features : (D, F)
        Of the distinct documents that are in pairs.
    preferred, other : (m,)
        Rows of ``features``.
    weight : (m,)
        Sums to one.
    """

    features: NDArray[np.float32]
    preferred: Integers
    other: Integers
    weight: Floats

    @staticmethod
    def of(preferences: Preferences, world: World) -> _PairLoss:
        """Return the loss of preferences among the documents of ``world``."""
        features = need_features(world)
        world.check_fingerprint(preferences.fingerprint, "preferences")
        both = np.stack([preferences.preferred, preferences.other], axis=1)
        checks.rankings(both, preferences.query, world.n_queries, world.n_docs, "documents")
        total = float(preferences.weight.sum())
        if not total > 0:
            raise ValueError("preferences has no pairs to learn from")
        flat = preferences.query[:, None] * world.n_docs + both
        documents, rows = np.unique(flat, return_inverse=True)
        rows = rows.reshape(both.shape)
        return _PairLoss(
            features.reshape(-1, features.shape[2])[documents], rows[:, 0], rows[:, 1],
            preferences.weight / total,
        )  # fmt: skip

    def at(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return the loss of scores (D,), its slope (D,) and the slope's own (D,)."""
        margin = scores[self.preferred] - scores[self.other]
        loss = float(self.weight @ np.logaddexp(0.0, -margin))
        wrong = expit(-margin)
        pull, bend = self.weight * wrong, self.weight * wrong * (1.0 - wrong)
        slope = self._add_up(self.other, pull) - self._add_up(self.preferred, pull)
        return loss, slope, self._add_up(self.other, bend) + self._add_up(self.preferred, bend)

    def _add_up(self, rows: Integers, values: Floats) -> Floats:
        result: Floats = np.bincount(rows, values, len(self.features)).astype(np.float64)
        return result
