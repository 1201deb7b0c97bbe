"""Direct methods for growing logs: regressions of several rewards on the same pages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..data import ClickLog, World
from ..evaluation.offpolicy.direct import regression, slate_features


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
