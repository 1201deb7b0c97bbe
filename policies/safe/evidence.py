"""What a log says about documents, without a click model: clicks, and the attention they had."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...clickmodels import PBM, fit
from ...common import checks
from ...common.typing import Floats, Integers
from ...data import ClickLog, World
from ..base import Policy
from ..plackett_luce import PlackettLuce
from ..propensities import check_logging
from ..slates.placements import PAGES
from ..wrapper import PolicyWrapper
from .climb import climb
from .exposure import expected_exposure

PROPENSITIES = ("log", "policy")
_LEAST = 1e-12  # exposure: what the logging policy shows less often counts as shown this often
_LOWEST = 600.0  # log-weight below the largest: far less likely than anything that counts
_START_STEPS = 200
_CLOSE = 1e-6  # of exposures, squared and relative


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a log says about the A queries that it asked.

    Attributes
    ----------
    logging : Policy
        Who made the log, out of its wrappers.
    queries : (A,)
    examination : (K,)
        Probability that a slot is examined, over that of the most examined slot.
    impressions : (A,)
    clicks : (A, N)
        How often each document was clicked.
    shown : (A, N)
        The attention that each document had in the log: the examination of its slots, summed.
    logging_exposure : (A, N)
        Expected attention on one page of the logging policy, ρ₀; 0 = no candidate.
    logits : (A, N)
        Where learning begins: those of the logging policy, or of the Plackett-Luce policy with the
        most similar exposures; -inf = no candidate.
    """

    logging: Policy
    queries: Integers
    examination: Floats
    impressions: Floats
    clicks: Floats
    shown: Floats
    logging_exposure: Floats
    logits: Floats

    @property
    def temperature(self) -> float:
        """That of the logging policy if it is a Plackett-Luce policy, otherwise 1."""
        return self.logging.temperature if isinstance(self.logging, PlackettLuce) else 1.0

    @property
    def lowest_logit(self) -> float:
        """What a logit may be below its query's largest, so that its weight does not underflow."""
        return -_LOWEST / max(self.temperature, 1.0)

    @property
    def share(self) -> Floats:
        """How often each query was asked, (A,)."""
        return self.impressions / self.impressions.sum()

    @property
    def clicks_per_page(self) -> float:
        """Clicks on a page of the log."""
        return float(self.clicks.sum() / self.impressions.sum())

    def attractiveness(self, propensity: str, clip: float) -> Floats:
        """Return clicks per attention, (A, N): 0 where there is none; it may exceed 1.

        Parameters
        ----------
        propensity : {"log", "policy"}
            What clicks are divided by: the attention that the document had in the log, or would
            have had on average, ρ₀. The second is unbiased, the first (a ratio of two sums) varies
            far less and is unbiased for what was shown.
        clip : float
            The least attention per page that is divided by.
        """
        checks.choice(propensity, PROPENSITIES, "propensity")
        if not 0.0 <= float(checks.finite(clip, "clip", 0)) <= 1.0:
            raise ValueError(f"clip must be within [0, 1], not {clip}")
        impressions = self.impressions[:, None]
        least = max(float(clip), _LEAST)
        had = self.shown if propensity == "log" else self.logging_exposure * impressions
        return np.where(self.clicks > 0, self.clicks / np.maximum(had, least * impressions), 0.0)


def gather_evidence(
    log: ClickLog,
    world: World,
    logging: Policy,
    examination: ArrayLike | None = None,
    seed: int = 0,
) -> Evidence:
    """Return what ``log`` says; arguments as of ``safe_policy``.

    Notes
    -----
    ρ₀ is exact for Plackett-Luce policies and all others that know their placements; for the rest
    it is the mean over drawn pages and those of the log together.
    """
    log.check_world(world)
    logging.check_world(world)
    if not logging.has_log_prob:
        raise ValueError(f"{logging!r} has no log-probabilities, which the policy needs")
    if logging.places_blocks:
        raise ValueError(f"{logging!r} places blocks: safe policies learn rankings alone")
    if logging.slots != log.slots:
        raise ValueError(f"logging shows {logging.slots} slots, the log has {log.slots}")
    if not log.impressions > 0 or not (log.ranking >= 0).any():
        raise ValueError("log has no impressions to learn from")
    check_logging(log, logging)
    attention = _check_examination(examination, log, world)
    asked, shown, clicks, impressions = _count(log, world, attention)
    while isinstance(logging, PolicyWrapper):
        logging = logging.policy
    if isinstance(logging, PlackettLuce):
        logits = _logits_of(logging, asked)
        exposure = expected_exposure(logits, attention)
    else:
        exposure = _find_exposure(logging, asked, shown, impressions, attention, seed)
        logits = _fit_logits(exposure, attention)
    exposure = np.where(np.isfinite(logits), np.maximum(exposure, _LEAST), 0.0)
    never = (clicks > 0) & ~np.isfinite(logits)
    if never.any():
        row, document = np.argwhere(never)[0]
        raise ValueError(
            f"the log shows document {document} for query {asked[row]}, which the logging policy "
            "never does"
        )
    return Evidence(logging, asked, attention, impressions, clicks, shown, exposure, logits)


def _check_examination(examination: ArrayLike | None, log: ClickLog, world: World) -> Floats:
    """Return how much each slot is examined, (K,), the most examined one 1."""
    if examination is None:
        model = fit(PBM.name, log, world)
        assert isinstance(model, PBM)
        examination = model.examination
    attention = checks.finite(examination, "examination", 1)
    checks.same_shape(attention, (log.slots,), "examination", "this log")
    if (attention < 0).any() or not attention.max() > 0:
        raise ValueError("examination must be at least 0, and above 0 somewhere")
    return attention / attention.max()


def _count(
    log: ClickLog, world: World, examination: Floats
) -> tuple[Integers, Floats, Floats, Floats]:
    """Return the queries asked (A,), their attention and clicks (A, N) and impressions (A,)."""
    shape = world.n_queries, world.n_docs
    row, slot = np.nonzero((log.ranking >= 0) & (log.counts > 0)[:, None])
    cell = log.query[row].astype(np.int64) * shape[1] + log.ranking[row, slot]
    weight, size = log.counts[row], shape[0] * shape[1]
    asked = np.unique(log.query[row]).astype(np.int64)

    def add_up(values: Floats) -> Floats:
        total: Floats = np.bincount(cell, values, size).astype(np.float64)
        return total.reshape(shape)[asked]

    pages = np.bincount(log.query, log.counts, shape[0]).astype(np.float64)
    shown = add_up(weight * examination[slot])
    return asked, shown, add_up(weight * log.clicks[row, slot]), pages[asked]


def _logits_of(logging: PlackettLuce, asked: Integers) -> Floats:
    """Return the logits (A, N) of the queries asked, 0 for the largest of each."""
    with np.errstate(divide="ignore"):
        logits = np.log(logging.weights[asked]) / logging.temperature
    logits -= logits.max(axis=1, keepdims=True)
    return np.where(np.isfinite(logits), np.maximum(logits, -_LOWEST), -np.inf)


def _find_exposure(
    logging: Policy, asked: Integers, shown: Floats, impressions: Floats, examination: Floats,
    seed: int,
) -> Floats:  # fmt: skip
    """Return the expected exposures (A, N) of a policy that is not Plackett-Luce."""
    exposure = np.zeros(shown.shape)
    for row, query in enumerate(asked.tolist()):
        placements = logging.placements(query, PAGES, seed)
        exposure[row] = examination @ placements.probabilities
        if placements.standard_error is not None:
            drawn = exposure[row] * PAGES + shown[row]
            exposure[row] = drawn / (PAGES + impressions[row])
    return exposure


def _fit_logits(exposure: Floats, examination: Floats) -> Floats:
    """Return the logits (A, N) of Plackett-Luce policies with about these exposures (A, N)."""
    with np.errstate(divide="ignore"):
        start = np.log(exposure)
    start -= start.max(axis=1, keepdims=True)
    enough = _CLOSE * float(examination.sum())
    return climb(_Similar(exposure), start, examination, enough, _START_STEPS)


class _Similar:
    """How close exposures are to given ones: minus Σ (ρ - ρ₀)² / 2ρ₀."""

    def __init__(self, exposure: Floats) -> None:
        self.exposure = exposure

    def evaluate(self, rows: Integers, exposure: Floats) -> tuple[Floats, Floats]:
        """Return the values (n,) and slopes (n, N) of queries ``rows``."""
        wanted = self.exposure[rows]
        slopes = 1.0 - np.divide(exposure, wanted, out=np.ones_like(exposure), where=wanted > 0)
        return -0.5 * ((wanted - exposure) * slopes).sum(axis=1), slopes
