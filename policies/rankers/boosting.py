"""LightGBM's regression and ranker, deterministic by seed and on one core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.runtime import import_extra
from ...common.typing import Booleans, Floats
from ...data import World

# The settings of all learners of pages, chosen on one fold of the embedded world
# (docs/off_policy_study.md); the paper has 1,000 trees of up to 70 leaves.
TREES: dict[str, Any] = {
    "n_estimators": 200, "num_leaves": 15, "learning_rate": 0.05, "min_child_samples": 100,
}  # fmt: skip


def tree_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return ``TREES`` updated with ``given``; a name that LightGBM does not know is an error."""
    known = sorted(set(_lightgbm().LGBMRegressor().get_params()) - {"random_state", "n_jobs"})
    for name in given:
        if name not in known:
            raise TypeError(f"LGBMRegressor has no argument {name!r}; it takes {', '.join(known)}")
    return TREES | given


def fit_regression(
    features: NDArray[np.float32], targets: Floats, weights: Floats, seed: int = 0, **settings: Any
) -> Any:
    """Return regression trees fitted by weighted squared loss; ``settings`` are LightGBM's."""
    model = _lightgbm().LGBMRegressor(**_fixed_settings(seed), **settings)
    return model.fit(features, targets, sample_weight=weights)


def fit_ranker(world: World, train: Booleans, seed: int = 0, **settings: Any) -> Any:
    """Return LambdaMART fitted to the graded documents ``train`` (Q, N) of ``world``."""
    assert world.features is not None
    groups = train.sum(axis=1)
    gains = [2.0**grade - 1.0 for grade in range(world.max_grade + 1)]
    model = _lightgbm().LGBMRanker(label_gain=gains, **_fixed_settings(seed), **settings)
    return model.fit(world.features[train], world.relevance[train], group=groups[groups > 0])


def _fixed_settings(seed: int) -> dict[str, Any]:
    return {"random_state": seed, "num_threads": 1, "verbose": -1, "deterministic": True}


def _lightgbm() -> Any:
    return import_extra("lightgbm", "rankers", "boosted trees need")
