"""How often a query is asked and which of its documents become candidates."""

from __future__ import annotations

import numpy as np


def power_law(n_queries: int, rng: np.random.Generator, exponent: float = 1.12) -> np.ndarray:
    """Return query probabilities p proportional to k ** -exponent, k = 1..Q, in a random order.

    Parameters
    ----------
    n_queries : int
        Q, at least 1.
    rng : numpy.random.Generator
        Decides which query is the most frequent one, the second, and so on.
    exponent : float
        How steep the law is; 0 makes all queries equally frequent.

    Returns
    -------
    (Q,) float64 probabilities, which sum to one.
    """
    if n_queries < 1:
        raise ValueError(f"n_queries must be at least 1, got {n_queries}")
    weights = np.arange(1, n_queries + 1, dtype=np.float64) ** -exponent
    return rng.permutation(weights / weights.sum())


def draw_stratified(
    relevance: np.ndarray, candidates: np.ndarray, n_docs: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw ``n_docs`` candidates of every query so that all grades are represented.

    From the highest grade down, at most ceil(3 * n_docs / 10) documents of a grade are taken at
    random; places that are left are filled with the documents of the lowest grades. Hence the
    drawn grades differ whenever the query's grades do. The drawn documents stand in a random
    order: a document's place says nothing about its grade.

    Parameters
    ----------
    relevance : (Q, N) int array
        Grades; an unjudged candidate (-1) counts as a grade of its own below all others.
    candidates : (Q, N) bool array
        Which documents may be drawn.
    n_docs : int
        Documents to draw per query, at least 2 (one document cannot have two grades).
    rng : numpy.random.Generator

    Returns
    -------
    (Q, n_docs) int64 indices into the query's N documents, each at most once. A query with fewer
    candidates gives all that it has, followed by -1.
    """
    if n_docs < 2:
        raise ValueError(f"n_docs must be at least 2 to draw different grades, got {n_docs}")
    limit = -(-3 * n_docs // 10)
    # Documents by grade, highest first, in a random order within a grade; non-candidates last.
    grade = relevance.astype(np.float64)
    order = np.argsort(np.where(candidates, rng.random(grade.shape) - grade, np.inf), axis=1)
    grade = np.take_along_axis(grade, order, axis=1)
    available = np.take_along_axis(candidates, order, axis=1)

    place = np.broadcast_to(np.arange(grade.shape[1]), grade.shape)
    starts_grade = np.ones(grade.shape, dtype=bool)
    starts_grade[:, 1:] = grade[:, 1:] != grade[:, :-1]
    place_in_grade = place - np.maximum.accumulate(np.where(starts_grade, place, 0), axis=1)

    within_limit = place_in_grade < limit
    fill_last = 2.0 * np.abs(grade).max(initial=0) + 2.0  # keeps fillers behind all the others
    turn = np.where(within_limit, -grade, grade + fill_last)
    chosen = np.argsort(np.where(available, turn, np.inf), axis=1, kind="stable")[:, :n_docs]

    drawn = np.full((len(relevance), n_docs), -1, dtype=np.int64)
    drawn[:, : chosen.shape[1]] = np.where(
        np.take_along_axis(available, chosen, axis=1),
        np.take_along_axis(order, chosen, axis=1),
        -1,
    )
    shuffled = np.argsort(rng.random(drawn.shape) + (drawn < 0), axis=1)
    return np.take_along_axis(drawn, shuffled, axis=1)
