"""How often a query is asked and which of its documents become candidates."""

from __future__ import annotations

import numpy as np

from ..common import checks


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


def draw_candidates(
    sampler: str,
    relevance: np.ndarray,
    candidates: np.ndarray,
    n_docs: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw ``n_docs`` candidates of every query by one of ``SAMPLERS``: see ``draw_stratified``."""
    return SAMPLERS[check_sampler(sampler)](relevance, candidates, n_docs, rng)


def check_sampler(sampler: str) -> str:
    """Return the name of a sampler, or raise."""
    return checks.choice(sampler, tuple(SAMPLERS), "sampler")


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
    # Documents by grade, highest first, in a random order within a grade.
    grade = relevance.astype(np.float64)
    first = rng.random(grade.shape) - grade
    within_limit = _count_better_of_grade(grade, candidates, first) < _limit(n_docs)
    fill_last = 2.0 * np.abs(grade).max(initial=0) + 2.0  # keeps fillers behind all the others
    turn = np.where(within_limit, -grade, grade + fill_last)
    return _take(turn, first, candidates, n_docs, rng)


def draw_relevant(
    relevance: np.ndarray, candidates: np.ndarray, n_docs: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw ``n_docs`` candidates of every query as the robustness paper's released code does.

    For its section 6.1: of every grade from 1 on, the highest first, at most
    ceil(3 * n_docs / 10) documents, the first of the list; places that are left are filled with
    grade 1, then with grade 0 (and then with what there is), again the first of the list. Most
    queries therefore show hardly a document of grade 0. The drawn documents stand in a random
    order, which is all that ``rng`` decides.

    Parameters and result are those of ``draw_stratified``.
    """
    grade = relevance.astype(np.float64)
    first = np.broadcast_to(np.arange(grade.shape[1], dtype=np.float64), grade.shape)
    few = _count_better_of_grade(grade, candidates, first - grade.shape[1] * grade) < _limit(n_docs)
    best = np.abs(grade).max(initial=0) + 2.0
    filling = np.where(grade == 1.0, 0.0, np.where(grade <= 0.0, 1.0 - grade, best + grade))
    turn = np.where((grade >= 1.0) & few, -grade, filling)
    return _take(turn, first, candidates, n_docs, rng)


SAMPLERS = {"stratified": draw_stratified, "relevant": draw_relevant}


def _limit(n_docs: int) -> int:
    """Return how many documents of a grade are drawn before others fill the places."""
    if n_docs < 2:
        raise ValueError(f"n_docs must be at least 2 to draw different grades, got {n_docs}")
    return -(-3 * n_docs // 10)


def _count_better_of_grade(
    grade: np.ndarray, candidates: np.ndarray, first: np.ndarray
) -> np.ndarray:
    """Return how many candidates of its grade come before each document, (Q, N).

    ``first`` (Q, N) sorts documents by grade, highest first, and within a grade.
    """
    order = np.argsort(np.where(candidates, first, np.inf), axis=1, kind="stable")
    ordered = np.take_along_axis(grade, order, axis=1)
    place = np.broadcast_to(np.arange(grade.shape[1]), grade.shape)
    starts_grade = np.ones(grade.shape, dtype=bool)
    starts_grade[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    count = np.empty(grade.shape, dtype=np.int64)
    within = place - np.maximum.accumulate(np.where(starts_grade, place, 0), axis=1)
    np.put_along_axis(count, order, within, axis=1)
    return count


def _take(
    turn: np.ndarray,
    first: np.ndarray,
    candidates: np.ndarray,
    n_docs: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the candidates with the lowest ``turn``, then the lowest ``first``, shuffled."""
    order = np.argsort(first, axis=1, kind="stable")
    turn = np.take_along_axis(np.where(candidates, turn, np.inf), order, axis=1)
    chosen = np.argsort(turn, axis=1, kind="stable")[:, :n_docs]
    available = np.take_along_axis(turn, chosen, axis=1) < np.inf

    drawn = np.full((len(turn), n_docs), -1, dtype=np.int64)
    drawn[:, : chosen.shape[1]] = np.where(
        available, np.take_along_axis(order, chosen, axis=1), -1
    )
    shuffled = np.argsort(rng.random(drawn.shape) + (drawn < 0), axis=1)
    return np.take_along_axis(drawn, shuffled, axis=1)
