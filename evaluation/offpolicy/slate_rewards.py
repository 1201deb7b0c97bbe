"""Rewards of whole pages: clicks, satisfaction, nDCG and ERR."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Floats
from ...data import ClickLog, World
from ..metrics.graded import dcg, ideal_dcg

CLICKED = ("clicks", "satisfied")
_TITLES = {"ndcg": "nDCG", "err": "ERR"}
METRICS = tuple(_TITLES)
DENOMINATORS = ("2**max - 1", "2**max")


def slate_rewards(
    name: str, log: ClickLog, world: World | None = None, denominator: str = "2**max - 1"
) -> Floats:
    """Return the reward of each page of a log, (n,).

    Parameters
    ----------
    name : str
        "clicks": their number. "satisfied": 1 with any click. "ndcg", "err": of the page's grades,
        as ``metric_rewards`` has them; they need ``world``.
    """
    checks.choice(name, (*CLICKED, *METRICS), "name")
    if name in CLICKED:
        clicks = np.count_nonzero(log.clicks, axis=1).astype(np.float64)
        return clicks if name == "clicks" else np.minimum(clicks, 1.0)
    if world is None:
        raise ValueError(f"world is None, but {name} needs its grades")
    log.check_world(world)
    return metric_rewards(name, log.query, log.ranking, world, denominator)


def metric_rewards(
    name: str, query: ArrayLike, ranking: ArrayLike, world: World, denominator: str = "2**max - 1"
) -> Floats:
    """Return "ndcg" or "err" of pages ``query`` (n,), ``ranking`` (n, K), as (n,).

    Parameters
    ----------
    denominator : str
        Of ERR's chance to be satisfied by a grade, (2**grade - 1) / denominator: "2**max - 1" in
        the slates paper, "2**max" in ERR's own.

    Notes
    -----
    nDCG@K with the ideal over the query's candidates, 0 where no candidate has a gain. Empty slots
    and documents without a grade earn nothing; a world without any grades is refused.
    """
    checks.choice(name, METRICS, "name")
    checks.choice(denominator, DENOMINATORS, "denominator")
    world.require_grades(f"{_TITLES[name]} needs")
    asked = checks.integers(query, "query", 1)
    pages = checks.integers(ranking, "ranking", 2)
    checks.same_shape(pages, (len(asked), pages.shape[1]), "ranking", "query")
    checks.rankings(pages, asked, world.n_queries, world.n_docs)
    gain = np.where(pages >= 0, world.gain[asked[:, None], pages], 0.0)
    if name == "ndcg":
        best = ideal_dcg(world, pages.shape[1])[asked]
        return np.divide(dcg(gain, pages.shape[1]), best, out=np.zeros(len(asked)), where=best > 0)
    top = 2.0**world.max_grade
    satisfied = gain if denominator == "2**max - 1" else gain * ((top - 1.0) / top)
    reached = np.ones(len(asked))
    reward = np.zeros(len(asked))
    for slot in range(pages.shape[1]):
        reward += reached * satisfied[:, slot] / (slot + 1)
        reached *= 1.0 - satisfied[:, slot]
    return reward
