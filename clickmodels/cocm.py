"""The complex click model: a mixture that no other model's structure can express."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from ..common import checks
from ..common.random import Uniforms
from ..common.typing import Booleans, Floats, Integers
from .base import ClickModel
from .pages import check_pages, log_of_outcomes
from .reading.attractiveness import WithAttractiveness, read_probabilities
from .reading.browsing import Browsing
from .registry import register

TOP_DOWN, BOTTOM_UP, NO_LOOK = 0, 1, 2


@register("CoCM")
class CoCM(WithAttractiveness, ClickModel):
    """Complex click model (appendix B of the robustness paper, equation 17).

    Assumptions: each page is read in one of three modes. Top-down, a document is clicked if it is
    examined, attractive and not outshone by the next one (``1 - attractiveness / 2`` of it), and
    never right after a click; examination fades by ``continuation`` per rank and by
    ``1 - satisfaction`` per click. Bottom-up is the same, read from the last document shown
    upwards. In no-look, slots are clicked blindly. Beyond the page's ends there is no neighbour
    (attractiveness 0).

    Parameters
    ----------
    attractiveness : (Q, N)
    satisfaction, continuation : float
    modes : three floats
        Probabilities of top-down, bottom-up and no-look; they sum to one.
    no_look : (K,), optional
        Blind click probability by slot. Default ``0.2 * 0.9 ** k`` from k = 0, for any length.

    Notes
    -----
    The modes' posterior moves with the observed clicks, so ``conditional_click_probs`` needs
    P(c_1 .. c_k) under each mode. Top-down gives it directly. Bottom-up has not yet shown what
    lies below: those clicks are summed out over (number of clicks below, was the document just
    below clicked), which costs O(K²) per page. The paper prints modes (0.2, 0.7, 0.3) for its
    mismatch variant, which do not sum to one; (0.2, 0.7, 0.1) are the released code's.
    """

    def __init__(
        self,
        attractiveness: ArrayLike,
        satisfaction: float = 0.7,
        continuation: float = 0.9,
        modes: Sequence[float] = (0.6, 0.3, 0.1),
        no_look: ArrayLike | None = None,
    ) -> None:
        super().__init__(attractiveness)
        self.satisfaction = float(checks.probabilities(satisfaction, "satisfaction", 0))
        self.continuation = float(checks.probabilities(continuation, "continuation", 0))
        weights = checks.probabilities(modes, "modes", 1)
        if weights.shape != (3,) or abs(weights.sum() - 1.0) > 1e-9:
            raise ValueError(f"modes must be three probabilities that sum to 1, not {modes!r}")
        if abs(weights.sum() - 1.0) > 1e-15:  # else a saved model's modes would change in loading
            weights = weights / weights.sum()
        self.modes = tuple(weights.tolist())
        self.no_look: Floats | None = None
        if no_look is not None:
            self.no_look = read_probabilities(no_look, "no_look", 1)
        self._browsing = Browsing(self.satisfaction, self.continuation)

    @property
    def max_slots(self) -> int | None:
        """The length of ``no_look``, if it was given."""
        return None if self.no_look is None else len(self.no_look)

    def _blind(self, slots: int) -> Floats:
        if self.no_look is not None:
            return self.no_look[:slots]
        return np.asarray(0.2 * 0.9 ** np.arange(slots), dtype=np.float64)

    def log_likelihood(self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike) -> Floats:
        """Return log P(clicks), (n,), of the mixture."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        values = self._attractiveness.rows(query, ranking)
        shown = ranking >= 0
        reversed_values = _read_upwards(values, shown)
        reversed_clicks = _read_upwards(clicks, shown)
        blind = np.where(shown, self._blind(ranking.shape[1]), 0.0)
        browse = self._browsing
        by_mode = np.stack([
            log_of_outcomes(browse.conditionals(values, clicks), clicks).sum(axis=1),
            log_of_outcomes(
                browse.conditionals(reversed_values, reversed_clicks), reversed_clicks
            ).sum(axis=1),
            log_of_outcomes(blind, clicks).sum(axis=1),
        ])  # fmt: skip
        # A click on an empty slot is impossible in every mode; reversing a page leaves it out.
        by_mode[BOTTOM_UP, (clicks & ~shown).any(axis=1)] = -np.inf
        return self._mix(by_mode)

    def _mix(self, by_mode: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            weights = np.log(np.array(self.modes)).reshape((3,) + (1,) * (by_mode.ndim - 1))
        return np.logaddexp.reduce(by_mode + weights, axis=0)

    def conditional_click_probs(
        self, query: ArrayLike, ranking: ArrayLike, clicks: ArrayLike
    ) -> Floats:
        """Return P(C_k = 1 | c_<k), (n, K), of the mixture."""
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        values = self._attractiveness.rows(query, ranking)
        shown = ranking >= 0
        top_down = self._browsing.conditionals(values, clicks)
        blind = np.where(shown, self._blind(ranking.shape[1]), 0.0)
        # log P(c_<k, C_k = 1) and log P(c_<k), (3, n, K)
        before, click = (np.empty((3, *ranking.shape)) for _ in range(2))
        for mode, probs in ((TOP_DOWN, top_down), (NO_LOOK, blind)):
            before[mode, :, 0] = 0.0
            outcomes = log_of_outcomes(probs, clicks)
            before[mode, :, 1:] = np.cumsum(outcomes, axis=1)[:, :-1]
            with np.errstate(divide="ignore"):
                click[mode] = before[mode] + np.log(probs)
        before[BOTTOM_UP], click[BOTTOM_UP] = self._browsing.upwards(values, clicks, shown)
        total = self._mix(before)
        possible = total > -np.inf
        ratio = self._mix(click) - np.where(possible, total, 0.0)
        return np.where(possible, np.minimum(np.exp(ratio), 1.0), 0.0)

    def click_probs(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return P(C_k = 1), (n, K): each mode's by recursion over its clicks, O(n K²)."""
        query, ranking = check_pages(self, query, ranking)
        values = self._attractiveness.rows(query, ranking)
        shown = ranking >= 0
        down = self._browsing.marginals(values)
        up = _read_upwards(self._browsing.marginals(_read_upwards(values, shown)), shown)
        blind = np.where(shown, self._blind(ranking.shape[1]), 0.0)
        top_down, bottom_up, no_look = self.modes
        return top_down * down + bottom_up * up + no_look * blind

    def score_columns(self, query: Integers, columns: Integers) -> Floats:
        """Return the expected clicks of pages laid out slot by slot, (K, n)."""
        values = self._attractiveness.columns(query, columns)
        shown = columns >= 0
        blind = self._blind(len(columns)) @ shown
        if shown[-1].all():
            upwards = np.ascontiguousarray(values[::-1])
        else:
            upwards = np.ascontiguousarray(_read_upwards(values.T, shown.T).T)
        top_down, bottom_up, no_look = self.modes
        result = top_down * self._browsing.expected(values)
        result += bottom_up * self._browsing.expected(upwards)
        result += no_look * blind
        return result

    def sample_columns(self, query: Integers, columns: Integers, rng: Generator) -> Booleans:
        """Draw clicks, (K, n): bottom-up pages are turned over, so one recursion serves both."""
        mode = rng.random(columns.shape[1])
        blind = mode >= self.modes[TOP_DOWN] + self.modes[BOTTOM_UP]
        upwards = np.logical_and(mode >= self.modes[TOP_DOWN], ~blind)
        uniforms = rng.random(columns.shape)
        values = self._attractiveness.columns(query, columns)
        short = bool((columns[-1] < 0).any())
        values = _turn_over(values, upwards, columns, short)
        clicks = self._browsing.sample(values, uniforms)
        clicks = _turn_over(clicks, upwards, columns, short)
        clicks[:, blind] = uniforms[:, blind] < self._blind(len(columns))[:, None]
        if short:
            clicks &= columns >= 0
        return clicks

    def sample_page(self, query: int, ranking: list[int], uniforms: Uniforms) -> list[bool]:
        """Draw the clicks of one page."""
        shown = ranking
        if ranking[-1] < 0:
            shown = [document for document in ranking if document >= 0]
        mode = uniforms.one()
        if mode >= self.modes[TOP_DOWN] + self.modes[BOTTOM_UP]:
            pairs = zip(uniforms.take(len(shown)), self._blind(len(shown)).tolist(), strict=True)
            clicks = [uniform < blind for uniform, blind in pairs]
        elif mode >= self.modes[TOP_DOWN]:
            values = self._attractiveness.page(query, shown[::-1])
            clicks = self._browsing.sample_page(values, uniforms)[::-1]
        else:
            values = self._attractiveness.page(query, shown)
            clicks = self._browsing.sample_page(values, uniforms)
        return clicks if shown is ranking else clicks + [False] * (len(ranking) - len(shown))


def _read_upwards(values: NDArray[Any], shown: Booleans) -> NDArray[Any]:
    """Turn pages (n, K) over so that the last document shown comes first; empty slots stay last.

    Turning twice gives the page back.
    """
    length = shown.sum(axis=1)
    slots = values.shape[1]
    if (length == slots).all():
        return values[:, ::-1]
    place = length[:, None] - 1 - np.arange(slots)
    turned = np.take_along_axis(values, np.maximum(place, 0), axis=1)
    return np.where(place >= 0, turned, np.zeros((), values.dtype))


def _turn_over(
    values: NDArray[Any], turn: Booleans, columns: Integers, short: bool
) -> NDArray[Any]:
    """Turn over the chosen pages of (K, n) ``values``."""
    other = _read_upwards(values.T, columns.T >= 0).T if short else values[::-1]
    return np.where(turn, other, values)
