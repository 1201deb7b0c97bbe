"""Scoring functions in any of the forms in which a team has them, as tables."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...clickmodels import ClickModel
from ...common import checks
from ...common.typing import Floats
from ...data import ClickLog
from ...policies import Policy


class WithRelevance(Protocol):
    """What ranks documents by ``relevance()``, (Q, N): every click model."""

    def relevance(self) -> Floats:
        """Return the score of every document."""


Scores = ArrayLike | WithRelevance | Policy


def find_scores(scores: Scores, log: ClickLog, policy: Policy | None = None) -> Floats:
    """Return the table (Q, N) of a scoring function for the pages of ``log``.

    Parameters
    ----------
    scores : (Q, N) floats, anything with ``relevance()``, or Policy
        A policy stands for the scores that it ranks by, where it has them (``document_scores``:
        Plackett-Luce), else for the places of its greedy rankings; documents that it does not
        show are then equal, below all that it shows.
    policy : Policy, optional
        Who made the log: scores must then have its shape. Otherwise they must have the log's
        queries and documents.
    """
    table = checks.scores(_make_table(scores, log), "scores")
    if policy is not None and policy.document_limit() == policy.shape[1]:
        checks.same_shape(table, policy.shape, "scores", "the logging policy")
    needed = (int(log.query.max(initial=-1)) + 1, int(log.ranking.max(initial=-1)) + 1)
    if table.shape[0] < needed[0] or table.shape[1] < needed[1]:
        raise ValueError(
            f"scores has shape {table.shape}, but the log has query {needed[0] - 1} and shows "
            f"document {needed[1] - 1}"
        )
    return table


def _make_table(scores: Any, log: ClickLog) -> ArrayLike:
    if isinstance(scores, Policy):
        _check_world(scores, log)
        own = scores.document_scores()
        return _score_places(scores) if own is None else own
    relevance = getattr(scores, "relevance", None)
    if callable(relevance):
        _check_world(scores, log)
        if isinstance(scores, ClickModel):
            scores.require("rank")
        found: ArrayLike = relevance()
        return found
    table: ArrayLike = scores
    return table


def _check_world(scorer: Any, log: ClickLog) -> None:
    own = getattr(scorer, "fingerprint", None)
    if None not in (own, log.fingerprint) and own != log.fingerprint:
        raise ValueError(
            f"scores ({type(scorer).__name__}) and the log belong to different worlds: their "
            f"fingerprints are {own:.12}… and {log.fingerprint:.12}…"
        )


def _score_places(policy: Policy) -> Floats:
    """Return minus the place of each document in its query's greedy ranking, -inf without one."""
    ranking = policy.greedy(np.arange(policy.shape[0]))
    result = np.full((policy.shape[0], policy.shape[1] + 1), -np.inf)
    np.put_along_axis(result, ranking, -np.arange(ranking.shape[1], dtype=np.float64)[None], axis=1)
    return result[:, :-1]  # -1 landed in the last column
