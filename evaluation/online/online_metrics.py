"""Online metrics: what the clicks on a page say about it."""

from __future__ import annotations

import numpy as np

from ...common.typing import Floats
from ...data import ClickLog, World
from ..metrics.model_metrics import page_grades, relevance_of_grades


def online_metrics(
    log: ClickLog, world: World | None = None, abandoned: bool = True
) -> dict[str, Floats]:
    """Return the online metrics of each page of a log, by name, (n,) each.

    Only clicks on web results count; a log has no others.

    Parameters
    ----------
    log : ClickLog
    world : World, optional
        With grades, for the gains; without it they are left out.
    abandoned : bool
        Whether pages without a click count in the reciprocal ranks, with 0. False: they are NaN
        there, and ``Configurations.mean`` leaves them out.

    Returns
    -------
    dict from str to (n,)
        "UCTR", whether there was a click; "MaxRR", "MeanRR" and "MinRR", the reciprocal rank of
        the first click, the mean of all clicks', and that of the last; "Gain" and "MaxGain", the
        sum and the largest of r = (2^R - 1) / 2^Rmax over what was clicked, 0 without a grade.
    """
    clicks = log.clicks
    number = clicks.sum(axis=1)
    clicked = number > 0
    reciprocal = 1.0 / np.arange(1.0, log.slots + 1.0)
    nothing = 0.0 if abandoned else np.nan
    first, last = clicks.argmax(axis=1), log.slots - 1 - clicks[:, ::-1].argmax(axis=1)
    found = {
        "UCTR": clicked.astype(np.float64),
        "MaxRR": np.where(clicked, reciprocal[first], nothing),
        "MeanRR": np.where(clicked, clicks @ reciprocal / np.maximum(number, 1), nothing),
        "MinRR": np.where(clicked, reciprocal[last], nothing),
    }
    if world is not None:
        world.require_grades("the gain of what was clicked needs")
        log.check_world(world)
        grades = page_grades(world, log.query, log.ranking)
        gain = np.where(clicks, relevance_of_grades(grades, world.max_grade), 0.0)
        found |= {"Gain": gain.sum(axis=1), "MaxGain": gain.max(axis=1)}
    return found
