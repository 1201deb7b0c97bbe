"""A Beta prior on a table of probabilities, whose strength is learned from the log itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma, logit

from ...common.typing import Floats


class Logistic(NamedTuple):
    """Of logits x: p = 1 / (1 + e^-x), log p and log(1 - p), laid out alike."""

    p: Floats
    log_p: Floats
    log_not_p: Floats


def logistic(logits: Floats) -> Logistic:
    """Return probabilities and logarithms of them and of their complements; none overflows."""
    small = np.exp(-np.abs(logits))
    shift = np.log1p(small)
    p = np.where(logits >= 0, 1.0, small) / (1.0 + small)
    return Logistic(p, np.minimum(logits, 0.0) - shift, -np.maximum(logits, 0.0) - shift)


_RANGE = np.log([1e-3, 1e4])  # the weakest is as good as none, and never becomes exactly none
_STILL = 1e-3  # a relative change that is none


@dataclass(frozen=True)
class BetaPrior:
    """``Beta(successes, failures)`` on a probability, written in its logit.

    The most likely logit given ``s`` successes in ``n`` trials is that of
    ``(s + successes) / (n + successes + failures)``: a pair seen three times stays near the mean
    of all pairs, a pair seen often goes where its clicks are.
    """

    successes: float = 0.5
    failures: float = 2.0

    @property
    def mean(self) -> float:
        """The probability of a pair that was never seen."""
        return self.successes / (self.successes + self.failures)

    @property
    def strength(self) -> float:
        """As how many trials the prior counts."""
        return self.successes + self.failures

    @property
    def logit(self) -> float:
        """Logit of the mean."""
        return float(np.log(self.successes / self.failures))

    def loss(self, values: Logistic) -> float:
        """Return minus the log density of logits (up to a constant), summed."""
        one, zero = values.log_p.sum(), values.log_not_p.sum()
        return -float(self.successes * one + self.failures * zero)

    def gradient(self, probability: Floats) -> Floats:
        """Return the derivative of ``loss`` by the logits of ``probability``."""
        return (self.successes + self.failures) * probability - self.successes

    def curvature(self, probability: Floats) -> Floats:
        """Return the second derivative of ``loss``."""
        return (self.successes + self.failures) * probability * (1.0 - probability)

    def posterior(self, successes: Floats, failures: Floats) -> Floats:
        """Return the most likely logits given these counts."""
        one = successes + self.successes
        zero = np.maximum(failures, 0.0) + self.failures
        return np.asarray(logit(one / (one + zero)))

    def distance(self, other: BetaPrior) -> float:
        """Return the larger difference of the logarithms of the two counts."""
        ratios = [self.successes / other.successes, self.failures / other.failures]
        return float(np.abs(np.log(ratios)).max())

    def learn(self, successes: Floats, trials: Floats, cycles: int = 4) -> BetaPrior:
        """Return the prior that makes these counts most likely (empirical Bayes).

        ``successes`` of ``trials`` a pair, (P,); Minka's fixed point for the beta-binomial, in
        logarithms and sped up by extrapolating from every two steps (SQUAREM, where the steps get
        shorter and the counts do not become less likely), until a step changes nothing or for so
        many cycles. Counts that are themselves expectations are taken as they are.
        """
        failures = np.maximum(trials - successes, 0.0)
        tried = successes + failures > 0
        successes, failures = successes[tried], failures[tried]
        point = np.log([self.successes, self.failures])
        for _ in range(cycles if len(successes) else 0):
            first = _step(point, successes, failures)
            move = first - point
            if np.abs(move).max() < _STILL:
                point = first
                break
            second = _step(first, successes, failures)
            bend = second - first - move
            point = second
            if move @ bend < 0:
                length = max(float(np.hypot(*move) / np.hypot(*bend)), 1.0)
                far = np.clip(first - move + 2.0 * length * move + length**2 * bend, *_RANGE)
                counts = successes, failures
                if _likelihood(far, *counts) >= _likelihood(second, *counts):
                    point = far
        one, zero = np.exp(point)
        return BetaPrior(float(one), float(zero))


def _likelihood(point: Floats, successes: Floats, failures: Floats) -> float:
    """Return the beta-binomial log-likelihood of counts, up to a constant."""
    one, zero = np.exp(point)
    value = betaln(successes + one, failures + zero).sum() - len(successes) * betaln(one, zero)
    return float(value)


def _step(point: Floats, successes: Floats, failures: Floats) -> Floats:
    """Return the fixed point's next logarithms of the two counts."""
    one, zero = np.exp(point)
    total = (digamma(successes + failures + one + zero) - digamma(one + zero)).sum()
    if not total > 0:  # counts so small that they say nothing
        return point
    one *= (digamma(successes + one) - digamma(one)).sum() / total
    zero *= (digamma(failures + zero) - digamma(zero)).sum() / total
    return np.clip(np.log(np.maximum([one, zero], 1e-300)), *_RANGE)
