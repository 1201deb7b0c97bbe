"""A Beta prior whose mean follows what is known of a pair before its clicks: a logistic line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import betaln, digamma, expit, logit

from ...common.typing import Floats, Integers
from .prior import BetaPrior, Logistic

_STRENGTH = np.log([1e-2, 1e4])  # the weakest is as good as none
_STEPS = 6  # of each search of the line: the next round goes on from there
_FULL_STEPS = 40  # where there is one round alone
_SD = np.array([3.0, 1.0, 3.0])  # of weak normal priors on mean, slope and log strength
_CENTRE = np.array([-1.5, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class LinePrior:
    """``Beta(ν m, ν (1 - m))`` on the probability of each pair, with ``logit m = α + β x``.

    ``x`` is what is known of a pair before its clicks. The slope β is never negative: a log in
    which the hidden documents look better than those shown is one that the model has misread (see
    ``docs/uncertainty.md``), and then all pairs have one mean.

    Parameters
    ----------
    covariate : (Q * N,)
        x of all pairs, with mean 0 and standard deviation 1 over the candidates.
    pairs : (P,)
        The pairs that have counts.
    line : (3,)
        α, β and the logarithm of ν.
    """

    covariate: Floats
    pairs: Integers
    line: Floats

    @classmethod
    def begin(cls, covariate: Floats, pairs: Integers) -> LinePrior:
        """Return the prior before anything is learned: mean 0.2, strength 2.5, as ``BetaPrior``."""
        return cls(covariate, pairs, np.array([logit(0.2), 0.0, np.log(2.5)]))

    @property
    def strength(self) -> float:
        """ν: as how many trials the prior counts."""
        return float(np.exp(self.line[2]))

    @property
    def slope(self) -> float:
        """β: by how much the logit of the mean rises with each standard deviation of x."""
        return float(self.line[1])

    @cached_property
    def mean(self) -> Floats:
        """The mean of every pair, (Q * N,): what a pair has that was never seen."""
        return np.asarray(expit(self.line[0] + self.line[1] * self.covariate))

    @cached_property
    def _means(self) -> Floats:
        return self.mean[self.pairs]

    @property
    def logit(self) -> Floats:
        """Logits of the means of the pairs with counts, (P,)."""
        return self.line[0] + self.line[1] * self.covariate[self.pairs]

    def loss(self, values: Logistic) -> float:
        """Return minus the log density of logits (P,), up to a constant, summed."""
        one = self._means @ values.log_p + (1.0 - self._means) @ values.log_not_p
        return -self.strength * float(one)

    def gradient(self, probability: Floats) -> Floats:
        """Return the derivative of ``loss`` by the logits of ``probability`` (P,)."""
        return self.strength * (probability - self._means)

    def curvature(self, probability: Floats) -> Floats:
        """Return the second derivative of ``loss``."""
        return self.strength * probability * (1.0 - probability)

    def posterior(self, successes: Floats, failures: Floats) -> Floats:
        """Return the most likely logits given these counts, (P,)."""
        one = successes + self.strength * self._means
        zero = np.maximum(failures, 0.0) + self.strength * (1.0 - self._means)
        return np.asarray(logit(one / (one + zero)))

    def distance(self, other: LinePrior) -> float:
        """Return the largest difference of mean, slope and log strength."""
        return float(np.abs(self.line - other.line).max())

    def learn(self, successes: Floats, trials: Floats, cycles: int = 4) -> LinePrior:
        """Return the line that makes these counts most likely (empirical Bayes).

        ``successes`` of ``trials`` a pair, (P,), are beta-binomial around the line; their
        likelihood, with a weak prior on the line, is searched for its highest point, for a few
        steps where more rounds will follow (``cycles`` up to 4).
        """
        from scipy.optimize import minimize  # here, because it is slow to import

        failures = np.maximum(trials - successes, 0.0)
        tried = successes + failures > 0
        if not tried.any():
            return self
        counts = successes[tried], failures[tried]
        x = self.covariate[self.pairs[tried]]

        def loss(line: Floats) -> tuple[float, Floats]:
            return _loss(line, x, *counts)

        steps = _STEPS if cycles <= 4 else _FULL_STEPS
        bounds = [(-12.0, 12.0), (0.0, 6.0), tuple(_STRENGTH)]
        options = {"maxiter": steps}
        found = minimize(
            loss, self.line, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        return replace(self, line=np.asarray(found.x))


def first_prior(covariate: Floats | None, pairs: Integers) -> BetaPrior | LinePrior:
    """Return the prior before anything is learned: plain without a covariate."""
    return BetaPrior() if covariate is None else LinePrior.begin(covariate, pairs)


def _loss(line: Floats, x: Floats, successes: Floats, failures: Floats) -> tuple[float, Floats]:
    """Return minus the beta-binomial log posterior of a line, and its gradient."""
    mean, strength = np.clip(expit(line[0] + line[1] * x), 1e-9, 1.0 - 1e-9), np.exp(line[2])
    one, zero = strength * mean, strength * (1.0 - mean)
    away = (line - _CENTRE) / _SD
    value = betaln(successes + one, failures + zero).sum() - betaln(one, zero).sum()
    whole = digamma(strength) - digamma(successes + failures + strength)
    by_one = digamma(successes + one) - digamma(one) + whole
    by_zero = digamma(failures + zero) - digamma(zero) + whole
    by_logit = strength * mean * (1.0 - mean) * (by_one - by_zero)
    by_strength = float(one @ by_one + zero @ by_zero)
    gradient = np.array([by_logit.sum(), by_logit @ x, by_strength])
    return 0.5 * float(away @ away) - float(value), away / _SD - gradient
