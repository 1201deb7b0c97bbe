"""Plackett-Luce pages given the displayed set: rank marginals and the probability of the set."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Booleans, Floats, Integers
from .quadrature import quadrature_marginals
from .race import integrate_race
from .subsets import subset_marginals

_CHUNK = 256  # pages whose race is integrated at a time
_SUBSETS_UP_TO = 15  # documents: beyond them quadrature is faster


def rank_marginals(weights: ArrayLike, shown: ArrayLike) -> Floats:
    """Return where displayed documents stand on a Plackett-Luce page, given which are displayed.

    A page draws documents one by one, without replacement, with probabilities proportional to
    their weights. Given that exactly the documents of ``shown`` are on it, in whatever order, row i
    and column r of the result are the probability that ``shown[i]`` stands at rank r (from 0).

    Parameters
    ----------
    weights : (N,) or, for n pages, (n, N), at least 0
        Of all candidates; 0 = not a candidate.
    shown : (k,) or (n, k)
        Candidate indices in any order, each once; -1 after those of a shorter page.

    Returns
    -------
    marginals : (k, k) or (n, k, k)
        Rows and columns sum to one, and are zero beyond the length of a shorter page.

    Notes
    -----
    Exact to some 13 digits whatever the weights. Costs k 2^k a page for up to 15 documents (lemmas
    1 and 2 of "Ranking metrics on non-shuffled traffic"), and about k³ beyond (``quadrature``).
    """
    one = np.ndim(shown) == 1
    logs, log_rest, lengths = _check_pages(weights, shown)
    marginals = marginals_of_logs(logs, log_rest, lengths)[0]
    return marginals[0] if one else marginals


def log_set_probability(weights: ArrayLike, shown: ArrayLike) -> Floats:
    """Return the log-probability that a Plackett-Luce page shows exactly these documents.

    In whatever order. Takes what ``rank_marginals`` takes, and returns () or (n,). Costs some 30 to
    200 times k a page.
    """
    one = np.ndim(shown) == 1
    logs, log_rest, lengths = _check_pages(weights, shown)
    result = np.zeros(len(logs))
    for length in np.unique(lengths[lengths > 0]).tolist():
        chosen = np.flatnonzero(lengths == length)
        for start in range(0, len(chosen), _CHUNK):
            rows = chosen[start : start + _CHUNK]
            result[rows] = integrate_race(logs[rows, :length], log_rest[rows])[1]
    return result[0] if one else result


def marginals_of_logs(logs: Floats, log_rest: Floats, lengths: Integers) -> tuple[Floats, Floats]:
    """Return rank marginals (n, k, k) and the log-probabilities of the displayed sets (n,).

    ``logs`` (n, k) are the log-weights of the displayed documents, of which ``lengths`` (n,) count,
    and ``log_rest`` (n,) is the log of the summed weight of all other candidates.
    """
    n, k = logs.shape
    marginals, log_probability = np.zeros((n, k, k)), np.zeros(n)
    for length in np.unique(lengths[lengths > 0]).tolist():
        rows = lengths == length
        method = subset_marginals if length <= _SUBSETS_UP_TO else quadrature_marginals
        found, log_probability[rows] = method(logs[rows, :length], log_rest[rows])
        marginals[rows, :length, :length] = found
    return marginals, log_probability


def split_logs(log_weights: Floats, shown: Integers) -> tuple[Floats, Floats]:
    """Return the log-weights (n, k) of the displayed documents, and that of all others (n,).

    ``log_weights`` (n, N) are used up. Nothing is subtracted: the others are summed.
    """
    rows = np.arange(len(shown))[:, None]
    logs = np.where(shown >= 0, log_weights[rows, shown], -np.inf)
    page, slot = np.nonzero(shown >= 0)
    log_weights[page, shown[page, slot]] = -np.inf
    top = log_weights.max(axis=1, initial=-np.inf)
    base = np.where(top > -np.inf, top, 0.0)
    log_weights -= base[:, None]
    np.exp(log_weights, out=log_weights)
    with np.errstate(divide="ignore"):
        return logs, np.log(log_weights.sum(axis=1)) + base


def check_shown(shown: ArrayLike, n_docs: int, name: str = "shown") -> Integers:
    """Return displayed documents (n, k) as int64, after checks; -1 only trails."""
    array = checks.integers(shown, name, 2).astype(np.int64, copy=False)
    checks.rankings(array, np.zeros(0, dtype=np.int64), 0, n_docs, name)
    repeats = checks.find_repeats(array)
    if repeats.any():
        page = int(repeats.argmax())
        documents, times = np.unique(array[page], return_counts=True)
        document = documents[(times > 1) & (documents >= 0)][0]
        raise ValueError(f"{name}[{page}] has document {document} twice")
    return array


def check_weighted(positive: Booleans, shown: Integers, name: str = "shown") -> None:
    """Raise unless every displayed document is a candidate: ``positive`` (n, k)."""
    wrong = (shown >= 0) & ~positive
    if wrong.any():
        page, slot = np.argwhere(wrong)[0]
        document = shown[page, slot]
        raise ValueError(
            f"{name}[{page}] has document {document}, whose weight is 0: it is no candidate"
        )


def _check_pages(weights: ArrayLike, shown: ArrayLike) -> tuple[Floats, Floats, Integers]:
    """Return log-weights of displayed documents, of the rest, and lengths, after checks."""
    if np.ndim(shown) == 1:
        weights = checks.finite(weights, "weights", 1)[None]
        shown = np.asarray(shown)[None]
    array = checks.finite(weights, "weights", 2)
    if (array < 0).any():
        page, document = np.argwhere(array < 0)[0]
        value = array[page, document]
        raise ValueError(f"weights[{page}, {document}] is {value:g}, but must be at least 0")
    documents = check_shown(shown, array.shape[1])
    checks.same_shape(array, (len(documents), array.shape[1]), "weights", "shown")
    positive = np.take_along_axis(array, np.maximum(documents, 0), axis=1) > 0
    check_weighted(positive, documents)
    with np.errstate(divide="ignore"):
        logs, log_rest = split_logs(np.log(array), documents)
    return logs, log_rest, (documents >= 0).sum(axis=1)
