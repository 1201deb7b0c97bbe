"""LightGBM's learners with one set of settings, and cross-fitted LambdaMART."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common import checks
from ...common.typing import Booleans, Floats
from ...data import World
from .folds import cross_fitted


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as error:
        raise ImportError("boosted trees need pip install 'clickgym[rankers]'") from error
    return lightgbm


def known_settings() -> list[str]:
    """Return the arguments of LightGBM's ``LGBMRegressor``, but for those that are set here."""
    return sorted(set(_lightgbm().LGBMRegressor().get_params()) - {"random_state", "n_jobs"})


def _settings(seed: int) -> dict[str, Any]:
    return {"random_state": seed, "num_threads": 1, "verbose": -1, "deterministic": True}


def boosted_regression(
    features: NDArray[np.float32],
    targets: Floats,
    weights: Floats,
    **settings: Any,
) -> Any:
    """Return regression trees fitted by weighted squared loss; ``settings`` are LightGBM's."""
    seed = settings.pop("seed", 0)
    model = _lightgbm().LGBMRegressor(**_settings(seed), **settings)
    return model.fit(features, targets, sample_weight=weights)


def boosted_ranker(world: World, train: Booleans, **settings: Any) -> Any:
    """Return LambdaMART fitted to the graded documents ``train`` (Q, N) of ``world``."""
    assert world.features is not None
    seed = settings.pop("seed", 0)
    groups = train.sum(axis=1)
    model = _lightgbm().LGBMRanker(
        label_gain=[2.0**grade - 1.0 for grade in range(world.max_grade + 1)],
        **_settings(seed), **settings,
    )  # fmt: skip
    return model.fit(world.features[train], world.relevance[train], group=groups[groups > 0])


def predicted(model: Any, features: ArrayLike) -> Floats:
    """Return a model's predictions, (n,)."""
    return np.asarray(model.predict(features), dtype=np.float64)


def lambdamart_scores(world: World, seed: int = 0, folds: int = 2, trees: int = 100) -> Floats:
    """Return scores (Q, N) of LightGBM's ranker, none from a model that saw the query.

    Queries are dealt into ``folds`` at random; each fold is scored by a model trained on the
    others. Deterministic by seed. Costs ``folds`` fits on (folds - 1) / folds of the documents.
    """
    trees = checks.positive_integer(trees, "trees")
    if world.features is None:
        raise ValueError("LambdaMART needs a world with features")

    def scores(train: Booleans, out: Booleans) -> Floats:
        assert world.features is not None
        model = boosted_ranker(world, train, seed=seed, n_estimators=trees)
        return predicted(model, world.features[out])

    return cross_fitted(world, scores, seed, folds)
