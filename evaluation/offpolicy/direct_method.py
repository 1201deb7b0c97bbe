"""The direct method: reward models, which predict the reward of a page, and what they expect."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...clickmodels import ClickModel
from ...common import checks
from ...common.runtime import warn_caller
from ...common.typing import Floats, Integers
from ...data import ClickLog, World
from ...policies import Policy
from ...policies.placing.pages import block_types, draw_positions, place_log_probs
from .inputs import Inputs, WrongReward
from .regressions import RewardLasso, RewardTree
from .slate_estimates import SlateEstimate, mean_estimate, summarise_weights
from .slate_rewards import slate_rewards

PageFunction = Callable[[NDArray[Any], NDArray[Any]], Floats]  # of (query, ranking)
_CHUNK = 8192  # pages predicted at a time
PAGES = 100  # drawn for each query where a reward model is asked about a stochastic target
REGRESSIONS = {"tree": RewardTree, "lasso": RewardLasso}


@dataclass(frozen=True)
class Pages:
    """Pages that a reward model is asked about: queries, rankings and blocks (-1 = none)."""

    query: NDArray[Any]
    ranking: NDArray[Any]
    vertical: NDArray[Any]
    position: NDArray[Any]

    @classmethod
    def of_log(cls, log: ClickLog) -> Pages:
        """Return the pages of a log."""
        none = np.full(len(log), -1)
        if log.vertical is None or log.vertical_position is None:
            return cls(log.query, log.ranking, none, none)
        return cls(log.query, log.ranking, log.vertical, log.vertical_position)

    def part(self, rows: slice) -> Pages:
        """Return some of them."""
        return Pages(
            self.query[rows], self.ranking[rows], self.vertical[rows], self.position[rows]
        )

    def block_features(self, n_types: int) -> NDArray[np.float32]:
        """Return an indicator of each type and place of the block, (n, T (K + 1))."""
        places = self.ranking.shape[1] + 1
        shown = (self.vertical * places + self.position)[:, None] == np.arange(n_types * places)
        return (shown & (self.vertical >= 0)[:, None]).astype(np.float32)


Predict = Callable[[Pages], Floats]


def slate_features(
    query: NDArray[Any], ranking: NDArray[Any], features: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the features (Q, N, F) of each page's documents, slot after slot, (n, K F).

    Empty slots have zeros.
    """
    rows = features[query[:, None], ranking]
    rows[ranking < 0] = 0.0
    return rows.reshape(len(query), -1)


def regression(direct: str, settings: dict[str, Any] | None = None) -> RewardTree | RewardLasso:
    """Return one of our regressions, unfitted."""
    checks.choice(direct, tuple(REGRESSIONS), "direct")
    return REGRESSIONS[direct](**(settings or {}))


def _check_regression(direct: Any, weighted: bool) -> None:
    """Raise unless ``direct`` is a regression that we know how to fit."""
    from sklearn.utils.validation import has_fit_parameter

    if not (hasattr(direct, "fit") and hasattr(direct, "predict")):
        raise ValueError(
            f"direct must be {', '.join(map(repr, REGRESSIONS))}, a click model, or have fit and "
            f"predict; {direct!r} has not"
        )
    takes = inspect.signature(direct.fit).parameters.values()
    passes_on = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes)
    if weighted and not (passes_on or has_fit_parameter(direct, "sample_weight")):
        raise ValueError(
            f"the log's rows have weights, but {type(direct).__name__} takes no sample_weight"
        )


def fit_regression(
    direct: Any, inputs: Inputs, features: ArrayLike | None, settings: dict[str, Any] | None
) -> Predict:
    """Fit a regression of rewards on the pages' features; return its predictions as a function.

    ``direct`` is a name of ours, or a regression with scikit-learn's interface, which is copied.
    Where the log has blocks, their types and places are features as well.
    """
    world = inputs.need_world()
    table = _find_features(world, features)
    kinds = () if inputs.log.vertical is None else (inputs.log.vertical, world.vertical)
    n_types = max((int(kind.max()) + 1 for kind in kinds if kind is not None), default=0)

    def describe(asked: Pages) -> NDArray[np.float32]:
        documents = slate_features(asked.query, asked.ranking, table)
        return np.hstack([documents, asked.block_features(n_types)]) if n_types else documents

    pages = describe(Pages.of_log(inputs.log))
    weight = {} if (inputs.counts == 1.0).all() else {"sample_weight": inputs.counts}
    if isinstance(direct, str):
        ours = regression(direct, settings).fit(pages, inputs.rewards[:, None], **weight)
        return lambda asked: ours.predict(describe(asked))[:, 0]
    from sklearn.base import clone

    _check_regression(direct, bool(weight))
    if settings:
        raise ValueError("settings are for direct='tree' and 'lasso'; give others theirs yourself")
    theirs = clone(direct).fit(pages, inputs.rewards, **weight)
    return lambda asked: theirs.predict(describe(asked))


def _find_features(world: World, features: ArrayLike | None) -> NDArray[np.float32]:
    if features is None:
        if world.features is None:
            raise ValueError("regressions need a world with features, or features=")
        return world.standardised_features
    array = checks.finite(features, "features", 3, np.float32)
    checks.same_shape(array, (*world.relevance.shape, array.shape[2]), "features", "this world")
    return array


def model_predictions(model: ClickModel, reward: str | PageFunction, inputs: Inputs) -> Predict:
    """Return what a click model expects of pages, as a function.

    ``reward`` is "clicks" (expected clicks), "satisfied" (probability of any click), or a function
    of (query, ranking) itself, which knows no blocks.
    """
    if callable(reward):
        return lambda asked: reward(asked.query, asked.ranking)
    checks.choice(reward, ("clicks", "satisfied"), "reward")
    if inputs.world is not None:
        model.check_world(inputs.world)
    model.require("generative")
    if (slate_rewards(reward, inputs.log) != inputs.rewards).any():
        warn_caller(
            f"rewards are not {reward!r} of the log, which the click model is asked for: give "
            "reward='clicks', 'satisfied' or a function of (query, ranking)",
            WrongReward,
        )

    def expected(asked: Pages) -> Floats:
        blocks = model.vertical_arguments(asked.vertical, asked.position)
        if reward == "clicks":
            return model.expected_clicks(asked.query, asked.ranking, **blocks)
        nothing = np.zeros(asked.ranking.shape, dtype=bool)
        return -np.expm1(model.log_likelihood(asked.query, asked.ranking, nothing, **blocks))

    return expected


def predict_pages(predict: Predict, pages: Pages) -> Floats:
    """Return the predictions of pages, (n,), a chunk at a time, after checking them."""
    parts = [
        np.asarray(predict(pages.part(slice(start, start + _CHUNK))))
        for start in range(0, len(pages.query), _CHUNK)
    ]
    values = checks.finite(np.concatenate(parts), "the predicted rewards", 1)
    checks.same_shape(values, pages.query.shape, "the predicted rewards", "query")
    return values


def expect_rewards(
    predict: Predict, inputs: Inputs, samples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the prediction that the target policy expects for each query, and its variance, (q,).

    Exact, and so with variance 0, for targets with one ranking per query, wherever they place its
    block; otherwise the mean of ``samples`` drawn pages per query.
    """
    samples = checks.positive_integer(samples, "samples", 2)
    target, queries, world = inputs.need_policy("target"), inputs.queries, inputs.world
    if target.places_blocks and world is None:
        raise ValueError("world is None, but the target places blocks, whose types it has")
    if target.deterministic:
        rankings = target.greedy(queries)
        chance = np.exp(place_log_probs(target, queries, rankings, world))
        row, column = np.nonzero(chance)
        pages = _with_blocks(queries[row], rankings[row], column - 1, world)
        expected = np.zeros(len(queries))
        np.add.at(expected, row, chance[row, column] * predict_pages(predict, pages))
        return expected, np.zeros(len(queries))
    query = np.repeat(queries, samples)
    ranking = target.sample(query, rng)
    position = draw_positions(target, world, query, ranking, rng)
    pages = _with_blocks(query, ranking, position, world)
    values = predict_pages(predict, pages).reshape(len(queries), samples)
    return values.mean(axis=1), values.var(axis=1, ddof=1) / samples


def _with_blocks(
    query: Integers, ranking: Integers, position: Integers, world: World | None
) -> Pages:
    types = np.full(len(query), -1) if world is None else block_types(world, query, position)
    return Pages(query, ranking, types, position)


def regression_value(
    direct: str,
    inputs: Inputs,
    features: ArrayLike | None = None,
    settings: dict[str, Any] | None = None,
    samples: int = PAGES,
    seed: int = 0,
) -> SlateEstimate:
    """Fit a regression to the first half of a log, ask about the second's queries (equation 3)."""
    inputs = inputs.unfold()
    first, second = split_halves(inputs, seed)
    predict = fit_regression(direct, inputs.take(first), features, settings)
    return _direct_value(inputs.take(second), predict, direct, samples, seed)


def click_model_value(
    inputs: Inputs,
    model: ClickModel | None = None,
    reward: str | PageFunction = "clicks",
    samples: int = PAGES,
    seed: int = 0,
) -> SlateEstimate:
    """Ask a click model about the log's queries (equation 3)."""
    if not isinstance(model, ClickModel):
        raise ValueError(f"model must be a fitted click model, not {type(model).__name__}")
    predict = model_predictions(model, reward, inputs)
    return _direct_value(inputs, predict, model.name, samples, seed)


def _direct_value(
    inputs: Inputs, predict: Predict, name: str, samples: int, seed: int
) -> SlateEstimate:
    target, rng = inputs.need_policy("target"), np.random.default_rng((seed, 2))
    values, variance = expect_rewards(predict, inputs, samples, rng)
    share = np.bincount(inputs.rows, inputs.counts) / inputs.counts.sum()
    method = name_sampling(f"direct method, {name}", target, samples)
    result = mean_estimate(values[inputs.rows], inputs.counts, method, float(share**2 @ variance))
    return result.set_attributes(**summarise_weights(np.ones(len(inputs.rows)), inputs.counts))


def name_sampling(method: str, target: Policy, samples: int) -> str:
    """Return the method, with how many pages were drawn of a stochastic target."""
    return method if target.deterministic else f"{method}, {samples} sampled rankings a query"


def split_halves(inputs: Inputs, seed: int) -> tuple[Integers, Integers]:
    """Split the rows that count into the first and the second half of the log.

    Random halves where its order says nothing of when: of a folded log, and of one that is sorted
    by query, whose halves would ask different ones.
    """
    rows = np.flatnonzero(inputs.counts > 0)
    if len(rows) < 2:
        raise ValueError("the log has one row: there is no half of it to fit a reward model to")
    query = inputs.log.query
    if inputs.log.weight is not None or (query[:-1] <= query[1:]).all():
        rows = np.random.default_rng((seed, 3)).permutation(rows)
    middle = len(rows) // 2
    return np.sort(rows[:middle]), np.sort(rows[middle:])
