"""A Beta prior on a table of probabilities, whose strength is learned from the log itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

_LEAST = 1e-3  # a prior this weak is as good as none, and never becomes exactly none
_MOST = 1e4


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
    def logit(self) -> float:
        """Logit of the mean."""
        return float(np.log(self.successes / self.failures))

    def loss(self, logit: NDArray[np.float64]) -> float:
        """Return minus the log density of logits (up to a constant), summed."""
        log_one, log_zero = -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)
        return -float(self.successes * log_one.sum() + self.failures * log_zero.sum())

    def gradient(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative of ``loss`` by the logits of ``probability``."""
        return (self.successes + self.failures) * probability - self.successes

    def curvature(self, probability: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivative of ``loss``."""
        return (self.successes + self.failures) * probability * (1.0 - probability)

    def learned(
        self, successes: NDArray[np.float64], trials: NDArray[np.float64], steps: int = 20
    ) -> BetaPrior:
        """Return the prior that makes these counts most likely (empirical Bayes).

        ``successes`` of ``trials`` a pair, (P,); Minka's fixed point for the beta-binomial. Counts
        that are themselves expectations are taken as they are.
        """
        failures = np.maximum(trials - successes, 0.0)
        trials = successes + failures
        one, zero = self.successes, self.failures
        for _ in range(steps):
            total = (digamma(trials + one + zero) - digamma(one + zero)).sum()
            if not total > 0:
                break
            one *= (digamma(successes + one) - digamma(one)).sum() / total
            zero *= (digamma(failures + zero) - digamma(zero)).sum() / total
            one, zero = float(np.clip(one, _LEAST, _MOST)), float(np.clip(zero, _LEAST, _MOST))
        return BetaPrior(one, zero)
