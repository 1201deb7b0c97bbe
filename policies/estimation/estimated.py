"""``estimate_logging``: who made a log, when nobody kept its propensities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...common import checks
from ...common.runtime import warn_caller
from ...common.typing import Floats
from ...data import ClickLog, World
from ..base import Policy, pack_policy, register, unpack_policy
from ..plackett_luce import PlackettLuce, Uniform
from ..wrapper import PolicyWrapper
from .median_weights import median_log_weights
from .page_counts import PageCounts, look_up_counts
from .pages import LoggedPages
from .plackett_luce_fit import fit_log_weights, page_log_probs
from .short_pages import ShortPages, estimate_lengths

KINDS = ("uniform", "plackett-luce", "page counts")  # from the simplest on
_HELD_OUT = 0.2  # the share of impressions that chooses
_SPREADS = (0.5, 1.0, 2.0, 4.0, 5.7, 8.0, 11.3, 16.0, 22.6, 32.0)  # of log-weights
_PRIORS = (1.0, 10.0, 100.0)  # impressions that Plackett-Luce is worth beside page counts
_CLEARLY, _HARDLY = 3.0, 2.0  # standard errors by which one fit is better than another
_ALWAYS = 0.95  # a log that shows one page of a query so often looks deterministic
_CHANGE = 0.3  # of a log-propensity by its own impression: then the log is too short
_LOWEST = -600.0  # log-weight below the largest, so that no weight underflows


class UncertainPropensities(UserWarning):
    """Propensities were estimated from a log that says too little about them."""


@register("EstimatedLogging")
class EstimatedLogging(PolicyWrapper):
    """The policy that made a log, as ``estimate_logging`` finds it.

    Attributes
    ----------
    kind : str
        One of "uniform", "plackett-luce" and "page counts".
    policy : Policy
        The estimate itself: ``Uniform``, ``PlackettLuce``, ``PageCounts``, or ``ShortPages`` where
        the log's pages have different lengths.
    plackett_luce : PlackettLuce
        The estimate as Plackett-Luce weights: the policy itself, or what ``policy`` is made from.
    held_out : dict
        The mean log-likelihood, per impression left out of the fit, of each kind that was tried.
    doubts : tuple of str
        Why its propensities should not be trusted; empty where nothing speaks against them.
    """

    def __init__(
        self,
        policy: Policy,
        kind: str,
        held_out: Mapping[str, float],
        doubts: Sequence[str] = (),
    ) -> None:
        super().__init__(policy)
        self.kind = checks.choice(kind, KINDS, "kind")
        self.plackett_luce = _find_plackett_luce(policy)
        self.held_out = {str(name): float(value) for name, value in held_out.items()}
        self.doubts = tuple(map(str, doubts))
        self.estimated = kind

    def __repr__(self) -> str:
        n_queries, n_docs = self.shape
        doubts = "".join(f"; {doubt}" for doubt in self.doubts)
        return (
            f"EstimatedLogging({self.kind}, {n_queries} queries of {n_docs} candidates, "
            f"{self.slots} slots{doubts})"
        )

    def state(self) -> dict[str, Any]:
        """Return the estimate's state, and how it was found."""
        header, arrays = pack_policy(self.policy, "policy.")
        found = {"kind": self.kind, "held_out": self.held_out, "doubts": list(self.doubts)}
        return {"header": header} | found | arrays

    @classmethod
    def from_state(cls, **state: Any) -> Self:
        """Make it from the estimate's state."""
        policy = unpack_policy(state["header"], state, "policy.")
        return cls(policy, state["kind"], state["held_out"], state["doubts"])


def _find_plackett_luce(policy: Policy) -> PlackettLuce:
    while not isinstance(policy, PlackettLuce):
        if not isinstance(policy, (PageCounts, ShortPages)):
            raise ValueError(f"an estimate is made from Plackett-Luce weights, not {policy!r}")
        policy = policy.policy
    return policy


def estimate_logging(
    log: ClickLog, world: World, kind: str | None = None, seed: int = 0
) -> EstimatedLogging:
    """Estimate the policy that made ``log`` from the pages that it shows.

    Three kinds are tried: "uniform"; "plackett-luce", one weight per document and query, with a
    prior that gives documents which were never shown a small weight, and what the log shows rarely
    or never the median of its possible rates (``median_log_weights``); and "page counts", how often
    each query's pages were shown, smoothed by the Plackett-Luce estimate. The kind, and how much
    the priors count, are chosen by the likelihood of a fifth of the impressions that are left out;
    a simpler kind is kept unless another one is better by three standard errors. The estimate is
    then fitted to all impressions.

    Parameters
    ----------
    log : ClickLog
        Its propensities, if it has any, are not looked at. Pages may be shorter than its slots:
        each query then has its own distribution of lengths.
    world : World
        Whose candidates the policy chooses from.
    kind : str, optional
        Take this kind, whatever fits better.
    seed : int
        Of the impressions that are left out.

    Returns
    -------
    EstimatedLogging
        A policy with exact log-probabilities: give it to ``evaluation.estimate`` as ``logging``.
        Queries that the log never asks are uniform.

    Warns
    -----
    UncertainPropensities
        Where the log shows nearly always the same page for a query, so that it says nothing about
        other pages; where most queries were asked once; and where the log is so short that a
        page's propensity depends on whether that page is in it. The result's ``doubts`` say the
        same.

    Notes
    -----
    Use the estimate for the very log that it comes from. The errors of estimated propensities and
    the chance in how often pages were shown then cancel: with Plackett-Luce logging, weights π/μ̂
    have a mean of 1 up to terms of second order. For other impressions of the same policy the mean
    is too large by about the number of weights per impression.

    Equal pages are folded first, which costs a sort of the n impressions. The fits cost O(m (N +
    K)) per step for m distinct pages of K slots and N candidates (padded), some 200 steps in all,
    and O(Q N) memory besides the pages: 100,000 impressions of 100 queries with 30 candidates take
    about 3 seconds.
    """
    if kind is not None:
        checks.choice(kind, KINDS, "kind")
    seed = checks.positive_integer(seed, "seed", 0)
    pages = LoggedPages.from_log(log, world)
    train, left_out = pages.split(_HELD_OUT, seed)
    tried = _try_kinds(train, left_out, estimate_lengths(train, pages, world))
    found = _choose(tried, left_out.counts) if kind is None else tried[KINDS.index(kind)]
    policy = _fit(found, pages, world)
    doubts = _find_doubts(pages, left_out, policy, found)
    for doubt in doubts:
        warn_caller(f"estimated propensities cannot be trusted: {doubt}", UncertainPropensities)
    held_out = {one.kind: one.mean(left_out.counts) for one in tried}
    return EstimatedLogging(policy, found.kind, held_out, doubts)


@dataclass(frozen=True)
class _Tried:
    """A kind with its best settings, and the log-probabilities of the pages left out, (h,)."""

    kind: str
    log_probs: Floats
    spread: float | None = None
    prior: float | None = None

    def mean(self, counts: Floats) -> float:
        """Return the mean log-likelihood of the impressions left out."""
        return float(counts @ self.log_probs / counts.sum()) if len(counts) else float("nan")


def _try_kinds(
    train: LoggedPages, left_out: LoggedPages, lengths: Floats | None
) -> tuple[_Tried, _Tried, _Tried]:
    """Fit every kind to ``train``, each with the settings that fit ``left_out`` best."""
    of_length = np.zeros(len(left_out.place))
    if lengths is not None:
        of_length = np.log(lengths[left_out.queries[left_out.place], left_out.lengths])
    uniform = np.where(train.candidates, 0.0, -np.inf)
    plain = _Tried("uniform", page_log_probs(left_out, uniform) + of_length)
    spread, log_weights = _find_spread(train, left_out)
    medians = median_log_weights(train, log_weights, spread)
    drawing = _Tried("plackett-luce", page_log_probs(left_out, medians) + of_length, spread)
    known = look_up_counts(
        train.place, train.ranking, train.counts, left_out.place, left_out.ranking
    )
    total, chance = train.impressions[left_out.place], np.exp(drawing.log_probs)
    counted = []
    for prior in _PRIORS:
        found = np.log(known + prior * chance) - np.log(total + prior)
        counted.append(_Tried("page counts", found, drawing.spread, prior))
    return plain, drawing, max(counted, key=lambda one: one.mean(left_out.counts))


def _find_spread(train: LoggedPages, left_out: LoggedPages) -> tuple[float, Floats]:
    """Return the width of the prior, and the most probable log-weights (q, N) with it.

    The middle one of those widths with which ``left_out`` is hardly less likely than with the best
    one. The best itself is too narrow, and the widest too wide, for what was never shown.
    """
    fits: list[Floats] = []
    for spread in _SPREADS:
        fits.append(fit_log_weights(train, spread, fits[-1] if fits else None))
    tried = [_Tried("plackett-luce", page_log_probs(left_out, fitted)) for fitted in fits]
    best = max(tried, key=lambda one: one.mean(left_out.counts))
    as_good = [
        number
        for number, one in enumerate(tried)
        if not _is_better(best, one, left_out.counts, _HARDLY)
    ]
    middle = as_good[len(as_good) // 2]
    return _SPREADS[middle], fits[middle]


def _is_better(first: _Tried, second: _Tried, counts: Floats, errors: float) -> bool:
    """Whether ``first`` fits better by so many standard errors of the difference."""
    if not len(counts):
        return False
    better = first.log_probs - second.log_probs
    mean = counts @ better / counts.sum()
    return bool(mean > errors * np.sqrt(counts @ (better - mean) ** 2) / counts.sum())


def _choose(tried: Sequence[_Tried], counts: Floats) -> _Tried:
    """Return the simplest kind, unless a later one is better by three standard errors."""
    chosen = tried[0]
    for other in tried[1:]:
        if _is_better(other, chosen, counts, _CLEARLY):
            chosen = other
    return chosen


def _fit(found: _Tried, pages: LoggedPages, world: World) -> Policy:
    """Fit the chosen kind, with its settings, to all pages."""
    if found.spread is None:
        drawing: PlackettLuce = Uniform(world, pages.slots)
    else:
        fitted = fit_log_weights(pages, found.spread)
        log_weights = median_log_weights(pages, fitted, found.spread)
        below = np.maximum(log_weights - log_weights.max(axis=1, keepdims=True), _LOWEST)
        weights = world.candidates.astype(np.float64)
        weights[pages.queries] = np.where(pages.candidates, np.exp(below), 0.0)
        drawing = PlackettLuce(weights, slots=pages.slots)
        drawing.fingerprint = world.fingerprint
    lengths = estimate_lengths(pages, pages, world)
    policy: Policy = drawing if lengths is None else ShortPages(drawing, lengths)
    if found.prior is None:
        return policy
    query = pages.queries[pages.place]
    return PageCounts(policy, query, pages.ranking, pages.counts, found.prior)


def _find_doubts(
    pages: LoggedPages, left_out: LoggedPages, policy: Policy, found: _Tried
) -> list[str]:
    """Return in words what speaks against the estimated propensities."""
    doubts = []
    impressions = pages.impressions
    again = (impressions > 1) & (pages.candidates.sum(axis=1) > 1)
    repeated, most = impressions[again].sum(), pages.most_frequent[again].sum()
    if repeated and most >= _ALWAYS * repeated:
        doubts.append(
            f"the log looks deterministic: {most / repeated:.1%} of the impressions of queries "
            "asked more than once show the query's most frequent page, so that little is known "
            "of any other page"
        )
    once = impressions[impressions <= 1].sum() / impressions.sum()
    if once > 0.5:
        doubts.append(f"{once:.0%} of the impressions are of queries that were asked only once")
    full = policy.log_prob(left_out.queries[left_out.place], left_out.ranking)
    counts = left_out.counts
    change = float(counts @ (full - found.log_probs) / counts.sum()) if len(counts) else 0.0
    if change > _CHANGE:
        doubts.append(
            f"the log is too short: a page's propensity is {np.exp(change):.2g} times as large "
            "with its impression in the log as without"
        )
    return doubts
