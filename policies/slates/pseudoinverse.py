"""The pseudoinverse of Γ, the second moments of a logging policy's pages, as an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...common import checks
from ...common.typing import Floats, Integers
from .moments import SAMPLES, SlateMoments, slate_moments

if TYPE_CHECKING:
    from ..base import Policy


class SlatePseudoinverse:
    """Γ† of one query, multiplied without a (K N, K N) matrix.

    Attributes
    ----------
    moments : SlateMoments
        The moments that Γ consists of; ``moments.exact`` says whether they were sampled.

    Notes
    -----
    Costs O((K T)² + K² N) per vector with T types of documents, and O(K N) for product policies.
    """

    def __init__(self, moments: SlateMoments) -> None:
        self.moments = moments
        self.shape = moments.table.slot.shape[0], len(moments.types)
        table = moments.table
        several = np.flatnonzero(table.counts > 1)
        self._members = [np.flatnonzero(moments.types == t) for t in several]
        self._spread = [part for part in table.within if part is not None]
        shown = np.flatnonzero(moments.types >= 0)
        self._to_types = np.zeros((self.shape[1], len(table.counts)))
        self._to_types[shown, moments.types[shown]] = 1.0 / np.sqrt(
            table.counts[moments.types[shown]]
        )

    def times(self, vectors: ArrayLike) -> Floats:
        """Return Γ† times each of ``vectors``, (..., K, N)."""
        return self._apply("inverse", vectors)

    def solve(self, vectors: ArrayLike) -> Floats:
        """Return an x, (..., K, N), for which Γ x is each of ``vectors``, projected.

        Sums of x over the slots of a page are those of ``times``, and have more digits where the
        policy hardly ever shows some documents.
        """
        return self._apply("solver", vectors)

    def project(self, vectors: ArrayLike) -> Floats:
        """Return the projection of ``vectors``, (..., K, N), onto the range of Γ.

        A target policy whose marginals this changes shows pages that logging does not cover.
        """
        return self._apply("projector", vectors)

    def _apply(self, kind: str, vectors: ArrayLike) -> Floats:
        array = np.asarray(vectors, dtype=np.float64)
        if array.shape[-2:] != self.shape:
            slots, n_docs = self.shape
            raise ValueError(f"vectors has shape {array.shape}, not (..., {slots}, {n_docs})")
        table = self.moments.table
        means = array @ self._to_types
        result = table.apply_between(kind, means) @ self._to_types.T
        for members, part in zip(self._members, self._spread, strict=True):
            some = array[..., members]
            differences = some - some.mean(axis=-1, keepdims=True)
            result[..., members] += getattr(part, kind) @ differences
        return result

    def impute(
        self, rankings: ArrayLike, rewards: ArrayLike, weight: ArrayLike | None = None
    ) -> Floats:
        """Return the mean over pages of Γ† 1_s r, (K, N): rewards of documents in slots.

        Parameters
        ----------
        rankings : (n, K)
            This query's pages; -1 = empty slot.
        rewards : (n,)
        weight : (n,), optional
            How many impressions a page stands for.

        Notes
        -----
        Γ† is linear, so it is applied once, to the mean of 1_s r.
        """
        pages = checks.integers(rankings, "rankings", 2)
        slots, n_docs = self.shape
        checks.same_shape(pages, (len(pages), slots), "rankings", "this policy")
        checks.rankings(pages, np.zeros(len(pages), dtype=np.int64), 1, n_docs, "rankings")
        values = checks.finite(rewards, "rewards", 1)
        checks.same_shape(values, (len(pages),), "rewards", "rankings")
        counts = np.ones(len(pages)) if weight is None else checks.finite(weight, "weight", 1)
        checks.same_shape(counts, (len(pages),), "weight", "rankings")
        if not counts.sum() > 0:
            raise ValueError("rankings has no pages to impute rewards from")
        self._check_shown(pages)
        places = pages + np.arange(slots) * (n_docs + 1) + 1  # the first place of a slot is empty
        each = np.repeat(values * counts, slots)
        total = np.bincount(places.ravel(), each, slots * (n_docs + 1))
        return self.times(total.reshape(slots, n_docs + 1)[:, 1:] / counts.sum())

    def _check_shown(self, pages: Integers) -> None:
        """Raise where a page has a document that the policy never shows in that slot."""
        if not self.moments.exact:
            return
        never = (pages >= 0) & (self.moments.single[np.arange(self.shape[0]), pages] == 0)
        if never.any():
            row, slot = np.argwhere(never)[0]
            raise ValueError(
                f"rankings[{row}, {slot}] is {pages[row, slot]}, which the policy never shows there"
            )


def slate_pseudoinverse(
    policy: Policy, query: int, samples: int = SAMPLES, seed: int = 0
) -> SlatePseudoinverse:
    """Return the pseudoinverse of ``policy``'s Γ for one query (arguments: ``slate_moments``)."""
    return SlatePseudoinverse(slate_moments(policy, query, samples, seed))
