"""Reward models: predictions of a page's reward, for the direct method and doubly robust ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...clickmodels import ClickModel
from ...data import World, checks
from ...policies import Policy
from .inputs import Inputs, WrongReward
from .rewards import slate_rewards

Predict = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]]
_CHUNK = 8192  # pages predicted at a time
REGRESSIONS = ("tree", "lasso")
TREE = {"min_samples_leaf": 10, "random_state": 0}
LASSO = {"alphas": 20, "eps": 1e-2, "tol": 1e-3}
FOLDS = 3  # of the lasso, whose rows are shuffled: logs may be sorted


def slate_features(
    query: NDArray[Any], ranking: NDArray[Any], features: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the features (Q, N, F) of each page's documents, slot after slot, (n, K F).

    Empty slots have zeros.
    """
    rows = features[query[:, None], ranking]
    rows[ranking < 0] = 0.0
    return rows.reshape(len(query), -1)


def fitted_regression(
    direct: Any, inputs: Inputs, features: ArrayLike | None, settings: dict[str, Any] | None
) -> Predict:
    """Fit a regression of rewards on the pages' features; return its predictions as a function."""
    table = _features(inputs.need_world(), features)
    regression = _regression(direct, settings)
    pages = slate_features(inputs.log.query, inputs.log.ranking, table)
    _fit(regression, pages, inputs.rewards, inputs.counts)

    def predict(query: NDArray[Any], ranking: NDArray[Any]) -> NDArray[np.float64]:
        return regression.predict(slate_features(query, ranking, table))

    return predict


def _features(world: World, features: ArrayLike | None) -> NDArray[np.float32]:
    if features is None:
        return world.standardised_features
    array = checks.finite(features, "features", 3, np.float32)
    checks.same_shape(array, (*world.relevance.shape, array.shape[2]), "features", "this world")
    return array


def _regression(direct: Any, settings: dict[str, Any] | None) -> Any:
    """Return an unfitted regression: one of ours by name, or a copy of a user's."""
    from sklearn.base import clone
    from sklearn.linear_model import LassoCV
    from sklearn.model_selection import KFold
    from sklearn.tree import DecisionTreeRegressor

    if isinstance(direct, str):
        checks.choice(direct, REGRESSIONS, "direct")
        if direct == "tree":
            return DecisionTreeRegressor(**{**TREE, **(settings or {})})
        folds = KFold(FOLDS, shuffle=True, random_state=0)
        return LassoCV(**{**LASSO, "cv": folds, **(settings or {})})
    if settings:
        raise ValueError("settings are for direct='tree' and 'lasso'; give others theirs yourself")
    return clone(direct)


def _fit(
    regression: Any,
    pages: NDArray[np.float32],
    rewards: NDArray[np.float64],
    counts: NDArray[np.float64],
) -> None:
    from sklearn.exceptions import ConvergenceWarning

    weight = {} if (counts == 1.0).all() else {"sample_weight": counts}
    with warnings.catch_warnings():  # the weakest penalties of a path, which validation sorts out
        warnings.simplefilter("ignore", ConvergenceWarning)
        regression.fit(pages, rewards, **weight)


def model_predictions(model: ClickModel, reward: str | Predict, inputs: Inputs) -> Predict:
    """Return what a click model expects of pages, as a function.

    ``reward`` is "clicks" (expected clicks), "satisfied" (probability of any click), or a function
    of (query, ranking) itself.
    """
    if callable(reward):
        return reward
    checks.choice(reward, ("clicks", "satisfied"), "reward")
    if inputs.world is not None:
        model.check_world(inputs.world)
    model.require("generative")
    if (slate_rewards(reward, inputs.log) != inputs.rewards).any():
        warnings.warn(
            f"rewards are not {reward!r} of the log, which the click model is asked for: give "
            "reward='clicks', 'satisfied' or a function of (query, ranking)",
            WrongReward,
            stacklevel=5,
        )
    if reward == "clicks":
        return model.expected_clicks

    def satisfied(query: NDArray[Any], ranking: NDArray[Any]) -> NDArray[np.float64]:
        return -np.expm1(model.log_likelihood(query, ranking, np.zeros(ranking.shape, dtype=bool)))

    return satisfied


def predicted(
    predict: Predict, query: NDArray[Any], ranking: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the predictions of pages, (n,), a chunk at a time, after checking them."""
    parts = [
        np.asarray(predict(query[start : start + _CHUNK], ranking[start : start + _CHUNK]))
        for start in range(0, len(query), _CHUNK)
    ]
    values = checks.finite(np.concatenate(parts), "the predicted rewards", 1)
    checks.same_shape(values, query.shape, "the predicted rewards", "query")
    return values


def expected_of_target(
    predict: Predict,
    target: Policy,
    queries: NDArray[np.int64],
    samples: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the prediction that the target policy expects for each query, and its variance, (q,).

    Exact, and so with variance 0, for deterministic targets; otherwise the mean of ``samples``
    drawn pages a query.
    """
    if target.deterministic:
        return predicted(predict, queries, target.greedy(queries)), np.zeros(len(queries))
    samples = checks.positive_integer(samples, "samples", 2)
    query = np.repeat(queries, samples)
    pages = target.sample(query, rng)
    values = predicted(predict, query, pages).reshape(len(queries), samples)
    return values.mean(axis=1), values.var(axis=1, ddof=1) / samples
