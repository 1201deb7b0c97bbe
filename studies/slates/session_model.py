"""Sessions on a result page: clicks, satisfaction and times, and two metrics of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import clickmodels

READING = 2.0  # seconds that a result costs to read
DISAPPOINTED = 10.0  # mean seconds on a page that does not satisfy
SATISFIED, STAYED = 30.0, 30.0  # least, and mean further, seconds on a page that does
CAP = 60.0  # seconds at which the time to success is capped


@dataclass(frozen=True)
class Sessions:
    """What n users did with their pages, arrays (n, K) slot by slot.

    Attributes
    ----------
    examined, clicks : (n, K) bool
    satisfied : (n, K) bool
        The click that satisfied; at most one per page, the last one.
    visit : (n, K)
        Seconds on the clicked page, 0 without a click.
    """

    examined: NDArray[np.bool_]
    clicks: NDArray[np.bool_]
    satisfied: NDArray[np.bool_]
    visit: NDArray[np.float64]

    def time_to_success(self) -> NDArray[np.float64]:
        """Return the time from the page's display to the satisfying click, scaled, (n,).

        It is the time spent reading results up to and with the satisfying one, and on the pages
        that disappointed before, capped at ``CAP`` seconds and divided by them: in [0, 1], 1
        where nothing satisfied. Lower is better.
        """
        disappointed = np.where(self.satisfied, 0.0, self.visit)
        seconds = (READING * self.examined + disappointed).sum(axis=1)
        seconds = np.where(self.satisfied.any(axis=1), seconds, CAP)
        return np.minimum(seconds, CAP) / CAP

    def utility_rate(self) -> NDArray[np.float64]:
        """Return the balance of useful and useless time, (n,) in [-1, 1].

        Time on the page that satisfied is useful; time on pages that disappointed and time spent
        reading results is not. The rate is (useful - useless) / (useful + useless).
        """
        useful = np.where(self.satisfied, self.visit, 0.0).sum(axis=1)
        useless = (READING * self.examined).sum(axis=1) + self.visit.sum(axis=1) - useful
        return (useful - useless) / (useful + useless)


def sample_sessions(
    user: clickmodels.DBN,
    query: NDArray[np.integer],
    ranking: NDArray[np.integer],
    rng: np.random.Generator,
) -> Sessions:
    """Draw what DBN users do with pages (n, K).

    The DBN says what is examined, clicked and satisfying. Time is ours: a result takes
    ``READING`` seconds to read, a page that disappoints an exponential time of mean
    ``DISAPPOINTED`` and at most ``SATISFIED``, one that satisfies ``SATISFIED`` and an exponential
    time of mean ``STAYED`` more.
    """
    shown = ranking >= 0
    at = (query[:, None], np.maximum(ranking, 0))
    examined, clicks, satisfied = (np.zeros(ranking.shape, dtype=bool) for _ in range(3))
    reading = np.ones(len(query), dtype=bool)
    attracted = rng.random(ranking.shape) < user.attractiveness[at]
    content = rng.random(ranking.shape) < user.satisfaction[at]
    patient = rng.random(ranking.shape) < user.continuation
    for slot in range(ranking.shape[1]):
        examined[:, slot] = reading & shown[:, slot]
        clicks[:, slot] = examined[:, slot] & attracted[:, slot]
        satisfied[:, slot] = clicks[:, slot] & content[:, slot]
        reading = examined[:, slot] & ~satisfied[:, slot] & patient[:, slot]
    drawn = rng.standard_exponential(ranking.shape)
    disappointed = np.minimum(DISAPPOINTED * drawn, SATISFIED)
    visit = np.where(satisfied, SATISFIED + STAYED * drawn, disappointed) * clicks
    return Sessions(examined, clicks, satisfied, visit)
