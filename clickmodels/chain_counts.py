"""Fitting models that read from the top by counting: reading ends at the last click."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from .chain_fit import ChainCounts, FittedChain
from .continuation import ByRank, Continuation, Satisfying
from .prior import BetaPrior

METHODS = ("likelihood", "counts")
_CYCLES = 20  # of learning a prior, which here has to be done in one go

Floats = NDArray[np.float64]


def count_to_last_click(counts: ChainCounts, continuation: Continuation) -> FittedChain:
    """Return the closed form under the assumption that reading ends at the last click.

    Documents down to the last click were examined (all of them on a page without one), and every
    last click ended its page. Unlike the likelihood, this takes for certain what is only likely:
    the two agree where nothing stands below a last click.
    """
    n_pairs = len(counts.clicked)
    skipped = counts.skipped + counts.tails.without_clicks(n_pairs)
    attractive = BetaPrior().learned(counts.clicked, counts.clicked + skipped, _CYCLES)
    logits = _posterior(counts.clicked, skipped, attractive)
    stopped = counts.clicked_cells - counts.went_on
    if isinstance(continuation, ByRank):
        rates = _posterior(counts.went_on, stopped, BetaPrior(0.5, 0.5))
        return FittedChain(logits, rates, attractive, continuation)
    satisfied = BetaPrior(1.0, 1.0).learned(stopped, counts.clicked_cells, _CYCLES)
    theta = _posterior(stopped, counts.went_on, satisfied)
    return FittedChain(logits, theta, attractive, Satisfying(True, satisfied))


def _posterior(successes: Floats, failures: Floats, prior: BetaPrior) -> Floats:
    """Return the logits of the most likely probabilities."""
    one, zero = successes + prior.successes, np.maximum(failures, 0.0) + prior.failures
    return np.asarray(logit(one / (one + zero)))
