"""Weights of the pseudoinverse estimator: one table per query, looked up for every page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common import checks
from ...common.runtime import warn_caller
from ...common.typing import Booleans, Floats, Integers
from ...policies import Policy, SlateMoments, SlatePseudoinverse, slate_moments
from ...policies.slates.moments import SAMPLES
from .importance import NoOverlap

_CHUNK = 8192  # rows looked up at a time, so that they stay in cache
_OUTSIDE = 1e-7  # marginals may be this far out of the range of Γ by rounding


class PseudoinverseWeights:
    """q_π Γ† 1_s of pages: what a page of the logging policy says about the target policy.

    Γ† q_π is a (K, N) table for each query, so a page's weight is the sum of K numbers, whatever
    the logging policy is. (Any solution of Γ x = q_π has the same sums; ``tables`` has the one that
    loses no digits, see ``SlatePseudoinverse.solve``.) Make it once, use it for many logs.

    Parameters
    ----------
    logging, target : Policy
        Same numbers of slots and queries.
    queries : (q,) integers
        The queries that pages may have.
    samples, seed : int
        For policies whose marginals are sampled (``slate_moments``).

    Attributes
    ----------
    queries : (q,)
        Distinct, ascending.
    tables : (q, K, N)
        A solution of Γ x = q_π, projected onto the range of Γ; NaN where the logging policy never
        shows a document.
    sigma_squared : (q,)
        q_π Γ† q_π.
    outside : (q,)
        How far q_π is out of the range of Γ: above rounding, the target shows what logging does
        not, of which a ``NoOverlap`` warns.
    exact : bool
        Whether all marginals are.

    Notes
    -----
    Memory is 8 q K (N + 1) bytes, twice that with sampled marginals; a weight costs K look-ups.
    """

    def __init__(
        self,
        logging: Policy,
        target: Policy,
        queries: ArrayLike,
        samples: int = SAMPLES,
        seed: int = 0,
        *,
        _fill: bool = True,
    ) -> None:
        if logging.slots != target.slots:
            raise ValueError(f"target shows {target.slots} slots, logging {logging.slots}")
        self.logging, self.target = logging, target
        self.queries = np.unique(logging.check_query(queries))
        self._slots, self._n_docs = logging.slots, logging.shape[1]
        self._index = np.full(logging.shape[0], -1)
        self._index[self.queries] = np.arange(len(self.queries))
        # The first place of each slot is for an empty one.
        self._padded = np.zeros((len(self.queries), self._slots, self._n_docs + 1))
        self.sigma_squared = np.zeros(len(self.queries))
        self.outside = np.zeros(len(self.queries))
        self._repeats = np.zeros(len(self.queries), dtype=bool)
        self._never_repeats = np.zeros(len(self.queries), dtype=bool)
        self._halves: Floats | None = None
        self.exact, self._logging_exact = True, True
        if _fill:
            for place, query in enumerate(self.queries.tolist()):
                shown = slate_moments(logging, query, samples, seed)
                self._fill_table(place, query, shown, samples, seed)
            self._warn_outside()

    @classmethod
    def of_targets(
        cls,
        logging: Policy,
        targets: Sequence[Policy],
        queries: ArrayLike,
        samples: int = SAMPLES,
        seed: int = 0,
    ) -> list[Self]:
        """Return the weights of several targets, for which each query's moments are found once.

        The same as one by one, without keeping the logging policy's moments of all queries.
        """
        made = [cls(logging, target, queries, samples, seed, _fill=False) for target in targets]
        for place, query in enumerate(made[0].queries.tolist() if made else []):
            shown = slate_moments(logging, query, samples, seed)
            for one in made:
                one._fill_table(place, query, shown, samples, seed)
        for one in made:
            one._warn_outside()
        return made

    def _fill_table(
        self, place: int, query: int, shown: SlateMoments, samples: int, seed: int
    ) -> None:
        """Solve for the table of one query, of which logging has the moments ``shown``."""
        wanted = shown
        if self.target is not self.logging:
            wanted = slate_moments(self.target, query, samples, seed + 1)
        marginals = self._marginals(wanted)
        inverse = SlatePseudoinverse(shown)
        table, inside = inverse.solve(marginals), inverse.project(marginals)
        self.sigma_squared[place] = (inside * table).sum()
        beyond = wanted.single[:, self._n_docs :].max(initial=0.0)
        self.outside[place] = max(np.abs(marginals - inside).max(), beyond)
        self._repeats[place] = shown.repeats
        self._never_repeats[place] = shown.exact and not shown.repeats
        self._logging_exact &= shown.exact
        self.exact &= shown.exact and wanted.exact
        if shown.exact:
            table = np.where(shown.single > 0, table, np.nan)
            self._padded[place, :, 0] = np.where(shown.single.sum(axis=1) > 1 - 1e-9, np.nan, 0.0)
        if not (shown.exact and wanted.exact) and shown.has_spread and wanted.has_spread:
            self._keep_halves(place, shown, wanted)
        self._padded[place, :, 1:] = table

    def _marginals(self, wanted: SlateMoments) -> Floats:
        """Return q_π of the logging policy's documents, (K, N)."""
        marginals = np.zeros((self._slots, self._n_docs))
        width = min(wanted.single.shape[1], self._n_docs)
        marginals[:, :width] = wanted.single[:, :width]
        return marginals

    def _keep_halves(self, place: int, shown: SlateMoments, wanted: SlateMoments) -> None:
        """Keep half the difference between the tables of both halves of the drawn pages."""
        if self._halves is None:
            self._halves = np.zeros_like(self._padded)
        logged, asked = ((part.halves or (part, part)) for part in (shown, wanted))
        first, second = (
            SlatePseudoinverse(logged[half]).solve(self._marginals(asked[half])) for half in (0, 1)
        )
        self._halves[place, :, 1:] = (first - second) / 2.0

    @property
    def covers(self) -> Booleans:
        """Whether the logging policy shows what the target does, but for rounding, (q,)."""
        return self.outside <= _OUTSIDE

    def _warn_outside(self) -> None:
        outside = ~self.covers
        if outside.any():
            worst = int(self.outside.argmax())
            seen = "the logging policy does"
            if not self._logging_exact:
                seen = "drawn pages of the logging policy do"
            warn_caller(
                f"the target shows what {seen} not, or hardly ever, for {int(outside.sum())} of "
                f"{len(outside)} queries (most for query {self.queries[worst]}, probability "
                f"{self.outside[worst]:.2g}): those rewards are unknown",
                NoOverlap,
            )

    @property
    def tables(self) -> Floats:
        """A solution of Γ x = q_π of each query, (q, K, N)."""
        return self._padded[:, :, 1:]

    def of(self, query: ArrayLike, ranking: ArrayLike) -> Floats:
        """Return the weights of pages ``query`` (n,), ``ranking`` (n, K), as (n,)."""
        asked = checks.integers(query, "query", 1)
        pages = checks.integers(ranking, "ranking", 2)
        checks.same_shape(pages, (len(asked), self._slots), "ranking", "these policies")
        checks.rankings(pages, asked, len(self._index), self._n_docs)
        rows = self._index.take(asked)
        if rows.size and rows.min() < 0:
            row = int(rows.argmin())
            raise ValueError(f"query[{row}] is {asked[row]}, which these weights were not made for")
        weights = self._sums(self._padded, rows, pages)
        wrong = np.isnan(weights)
        if self._never_repeats.any():
            wrong |= checks.find_repeats(pages) & self._never_repeats[rows]
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"row {row} shows {pages[row].tolist()} for query {asked[row]}, which the logging "
                "policy never does: its propensity is zero"
            )
        return weights

    def _sums(self, tables: Floats, rows: Integers, pages: Integers) -> Floats:
        """Return the sums over slots of what ``tables`` (q, K, N + 1) have for pages, (n,)."""
        width = self._n_docs + 1
        first = np.arange(self._slots) * width + 1
        ones, flat = np.ones(self._slots), tables.reshape(-1)
        sums = np.empty(len(pages))
        for start in range(0, len(pages), _CHUNK):
            part = slice(start, start + _CHUNK)
            places = pages[part] + first
            places += (rows[part] * (self._slots * width))[:, None]
            np.dot(flat.take(places), ones, out=sums[part])
        return sums

    def sampling_variance(
        self, query: NDArray[Any], ranking: NDArray[Any], factors: Floats
    ) -> float:
        """Return the variance of Σ weight · factor over pages that drawn marginals bring.

        ``factors`` are (n,). The two halves of the drawn pages give two such sums per query, whose
        difference has four times the variance of their mean; queries are drawn independently.
        """
        if self._halves is None:
            return 0.0
        rows = self._index[query]
        sums = np.bincount(rows, self._sums(self._halves, rows, ranking) * factors)
        return float(sums @ sums)

    @cached_property
    def rho(self) -> Floats:
        """The largest |weight| of any page that the logging policy shows, (q,).

        Over all pages of documents that it shows in their slots, without repeats unless it has
        some: an upper bound for a policy that never shows some of those pages.
        """
        return np.array([
            _largest(table, repeats)
            for table, repeats in zip(self._padded, self._repeats, strict=True)
        ])  # fmt: skip


def _largest(table: Floats, repeats: bool) -> float:
    """Return the largest |sum| of one number per slot; column 0 is for an empty slot."""
    from scipy.optimize import linear_sum_assignment

    if repeats:
        return float(max(np.nanmax(table, axis=1).sum(), -np.nanmin(table, axis=1).sum()))
    choices = np.hstack([table[:, 1:], np.repeat(table[:, :1], len(table), axis=1)])
    sums = []
    for sign in (1.0, -1.0):
        cost = np.where(np.isnan(choices), np.inf, -sign * choices)
        slot, choice = linear_sum_assignment(cost)
        sums.append(-cost[slot, choice].sum())
    return float(max(sums))
