"""Rank marginals of any policy given the displayed set: exact, enumerated or from drawn pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.grouping import group_rows
from ...common.progress import progress
from ...common.typing import Booleans, Floats, Integers
from .marginals import check_shown

if TYPE_CHECKING:
    from ..base import Policy

SAMPLES = 100_000  # pages drawn for each query of a policy that only samples
_CHUNK = 10_000  # pages at a time
_ENUMERATE_UP_TO = 7  # documents, whose orders are all scored where there are log-probabilities
_NO_DOCUMENT = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class GivenSet:
    """Where displayed documents stand, given which documents are displayed.

    Attributes
    ----------
    probabilities : (n, k, k)
        Row i, column r: the probability that document ``shown[i]`` stands at rank r (from 0), given
        that exactly the documents of ``shown`` are on the page.
    log_probability : (n,)
        Of showing exactly these documents, in whatever order.
    standard_error : (n, k, k) or None
        Of probabilities that come from drawn pages; None where they are exact.
    """

    probabilities: Floats
    log_probability: Floats
    standard_error: Floats | None = None


def marginals_given_set(
    policy: Policy, query: ArrayLike, shown: ArrayLike, seed: int = 0
) -> GivenSet:
    """Return where a policy puts displayed documents, given which documents are displayed.

    Parameters
    ----------
    policy : Policy
    query : (n,)
    shown : (n, k)
        Documents of each page in any order, each once; -1 after those of a shorter page.
    seed : int
        For policies that must be sampled.

    Returns
    -------
    GivenSet

    Raises
    ------
    ValueError
        Where a page shows what the policy never shows: its number is named.

    Notes
    -----
    Exact for all policies of this package, and for others that have log-probabilities as long as
    pages have at most 7 documents, all of whose orders are then scored. Otherwise 100,000 pages are
    drawn for each query, of which only those with the same documents count: few or none where
    there are many sets. Rows are not folded: ask for each distinct set once.
    """
    query = policy.check_query(query)
    documents = check_shown(shown, policy.document_limit())
    check_lengths(query, documents)
    found = policy.given_set(query, documents, checks.positive_integer(seed, "seed", 0))
    reason = ""
    if found.standard_error is not None:
        reason = f"none of {SAMPLES:,} drawn pages has them"
    check_possible(policy, query, documents, found.log_probability > -np.inf, reason)
    return found


def check_lengths(query: Integers, shown: Integers) -> None:
    """Raise unless there is a page for each query."""
    if len(shown) != len(query):
        raise ValueError(f"shown has {len(shown)} pages, but query {len(query)}")


def check_possible(
    policy: Policy, query: Integers, shown: Integers, possible: Booleans, reason: str = ""
) -> None:
    """Raise unless all pages are ``possible`` (n,); name the first one that is not, and why."""
    if possible.all():
        return
    page = int(possible.argmin())
    documents = shown[page][shown[page] >= 0].tolist()
    reason = reason or policy.why_never(int(query[page]), documents)
    raise ValueError(
        f"page {page} (query {query[page]}) shows the documents {documents}, but {policy!r} "
        f"never shows exactly them{': ' if reason else ''}{reason}"
    )


def mix_given(parts: Sequence[GivenSet], log_shares: Sequence[float | Floats]) -> GivenSet:
    """Return what holds for a page of ``parts[i]`` with log-probability ``log_shares[i]``, (n,).

    Given the set, a part counts as much as it shows this set.
    """
    logs = np.array(
        [part.log_probability + share for part, share in zip(parts, log_shares, strict=True)]
    )
    total = np.logaddexp.reduce(logs, axis=0)
    with np.errstate(invalid="ignore"):
        shares = np.where(logs > -np.inf, np.exp(logs - total), 0.0)[:, :, None, None]
    mixed = np.zeros_like(parts[0].probabilities)
    for share, part in zip(shares, parts, strict=True):
        mixed += share * part.probabilities
    squares = [
        (share * part.standard_error) ** 2
        for share, part in zip(shares, parts, strict=True)
        if part.standard_error is not None
    ]
    return GivenSet(mixed, total, np.sqrt(sum(squares)) if squares else None)


def count_orders(
    known: tuple[Integers, Integers, Floats], query: Integers, shown: Integers
) -> tuple[Floats, Floats]:
    """Return how often known pages show each page's documents at each rank, and together.

    Parameters
    ----------
    known : (m,), (m, K), (m,)
        Queries, rankings and counts of pages.
    query, shown : (n,), (n, k)

    Returns
    -------
    places : (n, k, k)
        Row i, column r: how often ``shown[i]`` stands at rank r of a page with these documents.
    total : (n,)
        How often there is such a page.
    """
    known_query, ranking, counts = known
    k, width = shown.shape[1], max(shown.shape[1], ranking.shape[1])
    pages = np.concatenate([_widen(ranking, width), _widen(shown, width)])
    order = np.argsort(pages, axis=1)
    sets = np.take_along_axis(pages, order, axis=1)
    sets[sets == _NO_DOCUMENT] = -1
    first, group = group_rows([np.concatenate([known_query, query])[:, None], sets])
    place = np.argsort(order, axis=1)  # of each slot's document in the sorted set
    m = len(ranking)
    asked = np.unique(group[m:])
    number = np.full(len(first), -1)
    number[asked] = np.arange(len(asked))
    rows = np.flatnonzero(number[group[:m]] >= 0)
    which = number[group[rows]]
    cells = (which[:, None] * width + place[rows]) * width + np.arange(width)
    size = len(asked) * width * width
    tables = np.bincount(cells.ravel(), np.repeat(counts[rows], width), size)
    tables = tables.reshape(len(asked), width, width)
    total = np.bincount(which, counts[rows], len(asked))
    mine = number[group[m:]]
    filled = shown >= 0
    inside = filled[:, :, None] & filled[:, None, :]
    return np.where(inside, tables[mine[:, None], place[m:, :k], :k], 0.0), total[mine]


def _widen(pages: Integers, width: int) -> Integers:
    """Return pages (n, width) whose empty slots sort last."""
    missing = width - pages.shape[1]
    wide = np.pad(pages, ((0, 0), (0, missing)), constant_values=-1)
    return np.where(wide < 0, _NO_DOCUMENT, wide)


def counted_given(places: Floats, total: Floats, of: Floats) -> GivenSet:
    """Return the shares of counts (n, k, k) in ``total`` (n,), out of ``of`` (n,) pages."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(total[:, None, None] > 0, places / total[:, None, None], 0.0)
        return GivenSet(shares, np.log(total) - np.log(of))


def orders_given_set(policy: Policy, query: Integers, shown: Integers, seed: int) -> GivenSet:
    """Return what ``Policy.given_set`` gives for a policy of which nothing more is known."""
    if policy.deterministic:
        asked = np.unique(query)
        known = (asked, policy.greedy(asked), np.ones(len(asked)))
        return counted_given(*count_orders(known, query, shown), np.ones(len(query)))
    longest = int((shown >= 0).sum(axis=1).max(initial=0))
    if policy.has_log_prob and longest <= _ENUMERATE_UP_TO:
        return _enumerate_orders(policy, query, shown)
    return _sample_orders(policy, query, shown, seed)


@lru_cache(maxsize=_ENUMERATE_UP_TO + 1)
def _all_orders(k: int) -> Integers:
    """Return all orders of k documents, (k!, k)."""
    return np.array(list(permutations(range(k))), dtype=np.int64)


def _enumerate_orders(policy: Policy, query: Integers, shown: Integers) -> GivenSet:
    """Score every order of every page."""
    n, k = shown.shape
    probabilities, log_probability = np.zeros((n, k, k)), np.full(n, -np.inf)
    lengths = (shown >= 0).sum(axis=1)
    for length in np.unique(lengths[lengths <= policy.slots]).tolist():
        orders = _all_orders(length)
        stands = (orders[:, None] == np.arange(length)[:, None]).astype(np.float64)
        chosen = np.flatnonzero(lengths == length)
        step = max(_CHUNK // len(orders), 1)
        for start in range(0, len(chosen), step):
            rows = chosen[start : start + step]
            pages = shown[rows][:, orders].reshape(len(rows) * len(orders), length)
            pages = np.pad(pages, ((0, 0), (0, policy.slots - length)), constant_values=-1)
            logs = policy.log_prob(np.repeat(query[rows], len(orders)), pages)
            logs = logs.reshape(len(rows), -1)
            total = np.logaddexp.reduce(logs, axis=1)
            log_probability[rows] = total
            shares = np.exp(logs - np.where(total > -np.inf, total, 0.0)[:, None])
            probabilities[rows, :length, :length] = np.einsum("no,oir->nir", shares, stands)
    return GivenSet(probabilities, log_probability)


def _sample_orders(policy: Policy, query: Integers, shown: Integers, seed: int) -> GivenSet:
    """Draw pages and keep those with the same documents."""
    places, total = np.zeros((*shown.shape, shown.shape[1])), np.zeros(len(shown))
    asked = np.unique(query).tolist()
    with progress(len(asked), "queries drawn") as advance:
        for one in asked:
            rng = np.random.default_rng((seed, one))
            rows = np.flatnonzero(query == one)
            for start in range(0, SAMPLES, _CHUNK):
                drawn = np.full(min(_CHUNK, SAMPLES - start), one)
                known = (drawn, policy.sample(drawn, rng), np.ones(len(drawn)))
                more, found = count_orders(known, query[rows], shown[rows])
                places[rows] += more
                total[rows] += found
            advance(1)
    given = counted_given(places, total, np.full(len(shown), float(SAMPLES)))
    times = total[:, None, None] + 2.0  # as if there were one page more with and one without, so
    near = (places + 1.0) / times  # that what was seen in none of a few pages is not certain
    filled = shown >= 0
    error = np.sqrt(near * (1.0 - near) / times) * (filled[:, :, None] & filled[:, None, :])
    return GivenSet(given.probabilities, given.log_probability, error)
