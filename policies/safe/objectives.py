"""What safe policies maximise, as functions of the attention ρ that documents get.

All start from clicks per attention, R = clicks / attention, which under position bias is how
attractive a document is: V = Σ_d ρ_d R_d estimates the clicks on a page, and R is wild where a
document hardly had any attention.
"""

from __future__ import annotations

import numpy as np

from ...common import checks
from ...common.typing import Floats, Integers
from .evidence import Evidence

_BACK = 0.02  # of the slope, beyond the factors of ``Proximal``


class Clicks:
    """Inverse propensity scoring: V itself, linear in ρ.

    Its maximum believes every click, also those divided by next to nothing, unless R is clipped.
    """

    def __init__(self, attractiveness: Floats) -> None:
        self.attractiveness = attractiveness

    def evaluate(self, rows: Integers, exposure: Floats) -> tuple[Floats, Floats]:
        """Return the values (n,) and slopes (n, N) of queries ``rows``."""
        slopes = self.attractiveness[rows]
        return (exposure * slopes).sum(axis=1), slopes


class LowerBound:
    """Exposure-based risk minimisation: V less a bound of its error, query by query.

    V - c √D,   D = Σ_d ρ_d² / ρ₀_d,   c = √((1 - δ) / (δ n)).

    Notes
    -----
    With R divided by expected attention, V has on n pages a variance of at most Σ_d (ρ_d/ρ₀_d)²
    P(d is clicked) / n, which is at most D / n, where clicks on a page are not positively
    correlated (they are not under position bias, given the page). Cantelli's inequality makes of
    this a lower bound of the true value of one policy that holds with probability 1 - δ.
    D is least, and equal to Σ_d ρ₀_d, at the logging policy.
    """

    def __init__(self, attractiveness: Floats, logging_exposure: Floats, strength: Floats) -> None:
        self.attractiveness, self.strength = attractiveness, strength
        self.inverse = inverse_where_positive(logging_exposure)

    def evaluate(self, rows: Integers, exposure: Floats) -> tuple[Floats, Floats]:
        """Return the values (n,) and slopes (n, N) of queries ``rows``."""
        reward, inverse = self.attractiveness[rows], self.inverse[rows]
        root = np.sqrt((exposure**2 * inverse).sum(axis=1, keepdims=True))
        strength = self.strength[rows, None]
        value = (exposure * reward).sum(axis=1) - (strength * root)[:, 0]
        return value, reward - strength * exposure * inverse / root


class Divergence:
    """V less a multiple of D: what ``LowerBound`` of a mean over queries is, to first order."""

    def __init__(self, attractiveness: Floats, logging_exposure: Floats, strength: float) -> None:
        self.attractiveness, self.strength = attractiveness, strength
        self.inverse = inverse_where_positive(logging_exposure)

    def evaluate(self, rows: Integers, exposure: Floats) -> tuple[Floats, Floats]:
        """Return the values (n,) and slopes (n, N) of queries ``rows``."""
        reward, inverse = self.attractiveness[rows], self.inverse[rows]
        relative = exposure * inverse
        value = (exposure * (reward - self.strength * relative)).sum(axis=1)
        return value, reward - 2.0 * self.strength * relative


class Proximal:
    """PRPO: no document gains by having its attention changed by more than given factors.

    Σ_d f(ρ_d/ρ₀_d, r_d),   f = min(x, high) r for r ≥ 0 and max(x, low) r for r < 0,
    r_d = ρ₀_d (R_d - R of an average unit of the logging policy's attention).

    Notes
    -----
    Attention adds up to the same on every full page, so subtracting the average from R changes no
    policy's rank in V; but it says which documents are to lose attention, where the lower factor
    then ends all reward for it. Never shown, R = 0 is below the average: nothing is to be gained.

    Beyond its factor a document's f is flat in the paper, so that of many policies that are worth
    the same some are far from the logging policy. Here it falls, by a fiftieth of its slope, which
    decides between them.
    """

    def __init__(
        self, attractiveness: Floats, logging_exposure: Floats, low: float, high: float
    ) -> None:
        self.low, self.high = low, high
        self.inverse = inverse_where_positive(logging_exposure)
        clicks = (logging_exposure * attractiveness).sum(axis=1, keepdims=True)
        average = clicks / logging_exposure.sum(axis=1, keepdims=True)
        self.slopes = attractiveness - average
        self.logging_exposure = logging_exposure

    def evaluate(self, rows: Integers, exposure: Floats) -> tuple[Floats, Floats]:
        """Return the values (n,) and slopes (n, N) of queries ``rows``."""
        slopes, logging = self.slopes[rows], self.logging_exposure[rows]
        ratio = exposure * self.inverse[rows]
        gains = slopes >= 0
        clipped = np.where(gains, np.minimum(ratio, self.high), np.maximum(ratio, self.low))
        moves = np.where(gains, ratio < self.high, ratio > self.low)
        beyond = np.abs(ratio - clipped) * np.abs(slopes)
        value = ((clipped * slopes - _BACK * beyond) * logging).sum(axis=1)
        return value, np.where(moves, slopes, -_BACK * slopes)


def inverse_where_positive(values: Floats) -> Floats:
    """Return 1 / values, and 0 where these are 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def bound_strength(evidence: Evidence, delta: float) -> Floats:
    """Return the factor c of each query's bound, (A,)."""
    delta = float(checks.finite(delta, "delta", 0))
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be within (0, 1), not {delta}")
    return np.sqrt((1.0 - delta) / delta / evidence.impressions)
