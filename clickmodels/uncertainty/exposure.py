"""What the logging policy says of a document before anybody clicks: how often it was shown.

The covariate of informed priors, for all pairs, those never shown among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common import checks
from ...common.typing import Floats
from ...data import ClickLog, World
from ..pages import row_weights

PLAIN = "plain"
PRIORS = (PLAIN, "exposure", "score")
_FLOOR = 0.1  # of the share by chance, or of the best weight, below which they say no more
_HALF = 0.5  # pages on which every candidate counts as shown: Jeffreys' prior on its share


def read_covariate(kind: str, log: ClickLog, world: World, logging: Any) -> Floats | None:
    """Return what an informed prior's mean follows, (Q * N,); None for the plain prior.

    It has mean 0 and standard deviation 1 over the candidates.

    Parameters
    ----------
    kind : {"plain", "exposure", "score"}
    logging : Policy or (Q, N), optional
        For "score": the policy that made the log, or the logarithms of its weights.
    """
    checks.choice(kind, PRIORS, "prior")
    if kind == "score":
        if logging is None:
            raise ValueError("prior='score' needs logging, the policy that made the log")
        return _standardise(_scores(logging, world), world)
    if logging is not None:
        raise ValueError(f"logging is for prior='score', not prior={kind!r}")
    return None if kind == PLAIN else _standardise(_log_exposure(log, world), world)


def exposure(log: ClickLog, world: World) -> Floats:
    """Return the share of its query's pages that showed each document, (Q, N).

    Every candidate has half a page more than the log gives it, on as many more pages as show all
    candidates half a time: so the shares of a query sum to its slots, and a document of a query
    that was never asked has the share that chance gives. Documents that are no candidates have
    half a page, too.
    """
    weight, size = row_weights(log), (world.n_queries, world.n_docs + 1)
    shown, pages = np.zeros(size).reshape(-1), np.zeros(world.n_queries)
    np.add.at(pages, log.query, weight)
    # Empty slots mark the place before a query's first document, which is cut off.
    place = log.query.astype(np.int64) * size[1] + 1
    for documents in log.ranking.T:
        shown += np.bincount(place + documents, weight, len(shown))
    slots = np.minimum(log.slots, np.maximum(world.n_candidates, 1))
    more = _HALF * np.maximum(world.n_candidates, 1) / slots
    result: Floats = (shown.reshape(size)[:, 1:] + _HALF) / (pages + more)[:, None]
    return np.minimum(result, 1.0)


def _log_exposure(log: ClickLog, world: World) -> Floats:
    """Return the logarithm of the share, above a floor, (Q, N).

    A ranker that is nearly deterministic shows some documents a million times less than others
    that are hardly better: far below chance its share says no more. So a tenth of the share that
    chance gives, K / N, is added; without it the line would end far below what is true of
    documents that were never shown.
    """
    chance = np.minimum(log.slots / np.maximum(world.n_candidates, 1), 1.0)
    return np.asarray(np.log(exposure(log, world) + _FLOOR * chance[:, None]))


def _scores(logging: Any, world: World) -> Floats:
    """Return the logarithm of the logging policy's weights above a floor, (Q, N).

    The best candidate of each query has weight 1, and a tenth of that is added, for the same
    reason as in ``_log_exposure``.
    """
    if hasattr(logging, "check_world"):
        logging.check_world(world)
    scores = getattr(logging, "log_weights", None)
    if scores is None:
        if hasattr(logging, "log_prob"):
            raise ValueError(
                f"prior='score' needs a logging policy with scores, and {type(logging).__name__} "
                "has none (PlackettLuce has log_weights): use prior='exposure', or give the "
                "logarithms of weights, (Q, N)"
            )
        scores = logging
    array = checks.scores(scores, "logging")
    checks.same_shape(array, (world.n_queries, world.n_docs), "logging", "the world")
    known = np.isfinite(array) & world.candidates
    if not known.any():
        raise ValueError("logging scores no candidate")
    top = np.where(known, array, -np.inf).max(axis=1, keepdims=True)
    array = array - np.where(np.isfinite(top), top, 0.0)
    return np.asarray(np.log(np.exp(np.minimum(array, 0.0)) + _FLOOR))


def _standardise(values: Floats, world: World) -> Floats:
    """Return values (Q, N) flat, with mean 0 and standard deviation 1 over the candidates."""
    known = values[world.candidates]
    spread = float(known.std())
    scaled: Floats = (values - known.mean()) / (spread if spread > 1e-9 else 1.0)
    return scaled.reshape(-1)
