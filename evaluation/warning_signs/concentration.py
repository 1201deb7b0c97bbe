"""How few documents get what a policy shows: Gini and coverage, beside the log's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Booleans, Floats, Integers
from ...data import ClickLog, World
from ...policies import Policy
from ..logs.pairs import LoggedPairs, count_pairs
from ..values import SAMPLES
from .shown import ShownDocuments, documents_shown
from .sign import SignReport, percent

LEAST_COVERAGE = 0.5  # of the log's


@dataclass(frozen=True)
class Concentration(SignReport):
    """How exposure is spread over documents, by the policy and by the log.

    A document's exposure is how often it is shown, in slots weighted by how often they are looked
    at. Queries count by their impressions in the log on both sides.

    Attributes
    ----------
    gini, log_gini : float
        Over the whole catalogue: 0 where all documents get the same, towards 1 where one gets all.
    query_gini, log_query_gini : float
        The mean over queries of the Gini coefficient of each query's candidates.
    coverage, log_coverage : float
        The share of the catalogue that is shown at least once in as many pages as the log has (as
        an expected number, for the policy).
    documents : int
        The size of the catalogue: distinct ids where the world has some, so that a document of
        several queries counts once, otherwise pairs of query and document.
    exact : bool
        Whether the policy's probabilities were used, or drawn pages, which look a little more
        concentrated than the policy is.
    """

    sign: ClassVar[str] = "concentration"
    gini: float
    log_gini: float
    query_gini: float
    log_query_gini: float
    coverage: float
    log_coverage: float
    documents: int
    exact: bool

    @property
    def warning(self) -> str | None:
        """Speaks where the policy shows less than half of the documents that the log shows."""
        if self.coverage >= LEAST_COVERAGE * self.log_coverage:
            return None
        return (
            f"The policy shows {percent(self.coverage)} of the catalogue where the log showed "
            f"{percent(self.log_coverage)} (Gini of exposure {self.gini:.2f} instead of "
            f"{self.log_gini:.2f}): the next log will say nothing of the others, and their "
            "providers lose their traffic. Mix some exploration into the policy."
        )


def concentration(
    policy: Policy,
    log: ClickLog,
    world: World,
    examination: ArrayLike | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    *,
    pairs: LoggedPairs | None = None,
    shown: ShownDocuments | None = None,
) -> Concentration:
    """Return how concentrated the exposure of ``policy`` is, relative to ``log``.

    Parameters
    ----------
    examination : (K,), optional
        How often each slot is looked at; by default all slots alike. At least 0, and as many as
        the longer of the policy's and the log's pages.
    samples, seed : int
        For stochastic policies whose probabilities are not known (see ``documents_shown``).
    pairs, shown : LoggedPairs and ShownDocuments, optional
        ``count_pairs(log, world)`` and ``documents_shown(policy, world, samples, seed)``, where
        they are known.
    """
    samples = checks.positive_integer(samples, "samples", 2)
    log.check_world(world)
    looks = _check_examination(examination, max(policy.slots, log.slots))
    shown = documents_shown(policy, world, samples, seed) if shown is None else shown
    pairs = count_pairs(log, world) if pairs is None else pairs
    if not pairs.impressions.sum() > 0:
        raise ValueError("the log has no impressions to compare with")
    shape = world.candidates.shape
    places = shown.query * shape[1] + shown.document
    often = shown.chance * pairs.impressions[shown.query]
    sides = [
        (places, often, often * looks[shown.slot]),
        (pairs.query * shape[1] + pairs.document, pairs.total,
         pairs.by_slot @ looks[: log.slots]),
    ]  # fmt: skip
    catalogue, size = _catalogue(world)
    candidates = world.candidates.copy()
    for rows, _, _ in sides:
        candidates.reshape(-1)[rows] = True
    traffic = pairs.impressions / pairs.impressions.sum()
    found = []
    for rows, times, exposure in sides:
        by_pair: Floats = np.bincount(rows, exposure, candidates.size).astype(np.float64)
        by_query = gini(by_pair.reshape(shape), candidates)
        some = np.isfinite(by_query) & (traffic > 0)
        weight = traffic[some]
        members = catalogue[rows]
        whole: Floats = np.bincount(members, exposure, size).astype(np.float64)
        covered = np.bincount(members, times, size) >= 1.0 - 1e-9
        found.append((
            float(gini(whole[None], np.ones((1, size), dtype=bool))[0]),
            float(weight @ by_query[some] / weight.sum()) if weight.sum() else float("nan"),
            float(covered.mean()),
        ))  # fmt: skip
    (own, own_query, own_cover), (logged, logged_query, logged_cover) = found
    return Concentration(
        own, logged, own_query, logged_query, own_cover, logged_cover, size, shown.exact
    )


def gini(values: Floats, counted: Booleans) -> Floats:
    """Return the Gini coefficient of the counted values of each row, (Q,).

    Σ (2 i - n - 1) x_i / (n Σ x) over ascending x; NaN where nothing counts or all is 0.
    """
    kept = np.where(counted, values, -1.0)  # what does not count comes first
    kept.sort(axis=1)
    n = counted.sum(axis=1)[:, None]
    place = np.arange(1, values.shape[1] + 1) - (values.shape[1] - n)
    factor = np.where(place > 0, 2 * place - n - 1, 0)
    kept = np.where(place > 0, kept, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((factor * kept).sum(axis=1) / (n[:, 0] * kept.sum(axis=1)))


def _check_examination(examination: ArrayLike | None, slots: int) -> Floats:
    if examination is None:
        return np.ones(slots)
    looks = checks.finite(examination, "examination", 1)
    checks.same_shape(looks, (slots,), "examination", "the longest page")
    if (looks < 0).any() or not looks.sum() > 0:
        raise ValueError("examination must be at least 0, and not 0 everywhere")
    return looks


def _catalogue(world: World) -> tuple[Integers, int]:
    """Return which document of the catalogue each pair is, (Q N,), and how many there are."""
    candidates = world.candidates.reshape(-1)
    if world.doc_ids is None:
        number = np.cumsum(candidates) - 1
        return np.where(candidates, number, 0), int(candidates.sum())
    names = np.broadcast_to(world.doc_ids.numbers(), world.candidates.shape).reshape(-1)
    kept, number = np.unique(names[candidates], return_inverse=True)
    result = np.zeros(len(names), dtype=np.int64)
    result[candidates] = number.reshape(-1)
    return result, len(kept)
