"""First and second moments of what a policy shows: which document in which slot, and in two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...common import checks
from .types import TypeTable

_ROUNDING = 1e-6  # how far given moments may be off


@dataclass(frozen=True, eq=False)
class SlateMoments:
    """Moments of a policy's pages for one query.

    Attributes
    ----------
    types : (N,)
        The type of each document; -1 for one that is never shown.
    table : TypeTable
    samples : int
        How many drawn pages they come from; 0 where they are exact.
    halves : (SlateMoments, SlateMoments) or None
        Those of the first and second half of the drawn pages, which differ as much as drawing them
        does; None where they are exact or not known.
    """

    types: NDArray[np.int64]
    table: TypeTable
    samples: int = field(default=0, kw_only=True)
    halves: tuple[SlateMoments, SlateMoments] | None = field(default=None, kw_only=True)

    @staticmethod
    def from_arrays(
        single: ArrayLike,
        pair: ArrayLike,
        samples: int = 0,
        halves: tuple[SlateMoments, SlateMoments] | None = None,
    ) -> SlateMoments:
        """Make the moments from P(slot shows a), (K, N), and of pairs, (K, N, K, N).

        They may be off by rounding, but must be of some policy: a slot shows at most one document,
        and nothing depends on which of two slots is named first.
        """
        slot = _rounded(single, "single", 2)
        joint = _rounded(pair, "pair", 4)
        checks.same_shape(joint, slot.shape * 2, "pair", "single")
        _check_moments(slot, joint)
        shown = np.flatnonzero(slot.any(axis=0))
        types = np.full(slot.shape[1], -1)
        types[shown] = np.arange(len(shown))
        joint = joint[:, shown][:, :, :, shown]
        table = TypeTable(np.ones(len(shown), dtype=np.int64), slot[:, shown], joint)
        return SlateMoments(types, table, samples=samples, halves=halves)

    @property
    def exact(self) -> bool:
        """Whether nothing was sampled."""
        return self.samples == 0

    @property
    def halved(self) -> bool:
        """Whether it is known how much these vary: they are exact, or have halves."""
        return self.exact or self.halves is not None

    @cached_property
    def stderr(self) -> float:
        """The largest standard error of any probability here; 0 where they are exact."""
        if self.exact:
            return 0.0
        chance = np.concatenate([self.table.slot.ravel(), self.table.joint.ravel()])
        return float(np.sqrt((chance * (1.0 - chance)).max(initial=0.0) / self.samples))

    @cached_property
    def single(self) -> NDArray[np.float64]:
        """P(slot j shows document a), (K, N): q of this policy."""
        return self._of_documents(self.table.slot / self.table.counts)

    def _of_documents(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``values`` of types (..., T) for each document, (..., N); 0 where never shown."""
        shown = self.types >= 0
        result = np.zeros((*values.shape[:-1], len(self.types)))
        result[..., shown] = values[..., self.types[shown]]
        return result

    @property
    def pair(self) -> NDArray[np.float64]:
        """P(slot j shows a and slot k shows b), (K, N, K, N): Γ of this policy."""
        shown = np.flatnonzero(self.types >= 0)
        types = self.types[shown]
        counts = self.table.counts[types]
        same = types[:, None] == types
        share = 1.0 / (counts[:, None] * np.where(same, np.maximum(counts - 1, 1), counts))
        share[np.diag_indices(len(shown))] = counts == 1
        slots = len(self.table.slot)
        part = self.table.joint[:, types][:, :, :, types] * share[:, None]
        for j in range(slots):
            part[j, :, j] = np.diag(self.single[j, shown])
        result = np.zeros((slots, len(self.types), slots, len(self.types)))
        result[:, shown[:, None, None], np.arange(slots)[:, None], shown] = part
        return result

    @property
    def repeats(self) -> bool:
        """Whether a page can show a document twice."""
        return self.table.repeats


def _rounded(value: ArrayLike, name: str, ndim: int) -> NDArray[np.float64]:
    """Return probabilities that rounding may have led out of [0, 1], within it."""
    array = checks.finite(value, name, ndim)
    near = np.clip(array, 0.0, 1.0)
    off = np.abs(near - array).max(initial=0.0)
    return near if off < _ROUNDING else checks.probabilities(array, name, ndim)


def _check_moments(slot: NDArray[np.float64], joint: NDArray[np.float64]) -> None:
    """Raise unless first (K, N) and second moments (K, N, K, N) can be a policy's."""
    total = slot.sum(axis=1)
    if (total > 1.0 + _ROUNDING).any():
        worst = int(total.argmax())
        raise ValueError(f"single[{worst}] sums to {total[worst]:.9g}, more than 1")
    if np.abs(joint - joint.transpose(2, 3, 0, 1)).max(initial=0.0) > _ROUNDING:
        raise ValueError("pair is not symmetric: pair[j, a, k, b] must be pair[k, b, j, a]")
    own = np.einsum("jajb->jab", joint)
    if np.abs(own - slot[:, :, None] * np.eye(slot.shape[1])).max(initial=0.0) > _ROUNDING:
        raise ValueError("pair[j, a, j, a] must be single[j, a], and pair[j, a, j, b] zero")
    if (joint.sum(axis=3) > slot[:, :, None] + _ROUNDING).any():
        raise ValueError("pair[j, a, k] sums to more than single[j, a]")


def mixed(parts: Sequence[SlateMoments], shares: Sequence[float]) -> SlateMoments:
    """Return the moments of showing a page of ``parts[i]`` with probability ``shares[i]``.

    Two documents are of one type where all parts treat them alike.
    """
    parts = [part for part, share in zip(parts, shares, strict=True) if share > 0]
    shares = [share for share in shares if share > 0]
    labels = np.stack([part.types for part in parts])
    shown = (labels >= 0).any(axis=0)
    columns, inverse, counts = np.unique(
        labels[:, shown], axis=1, return_inverse=True, return_counts=True
    )
    types = np.full(labels.shape[1], -1)
    types[shown] = inverse.reshape(-1)
    slots, n_types = len(parts[0].table.slot), columns.shape[1]
    slot, joint = np.zeros((slots, n_types)), np.zeros((slots, n_types, slots, n_types))
    for part, share, coarse in zip(parts, shares, columns, strict=True):
        fine = np.flatnonzero(coarse >= 0)
        one, two = _refined(part.table, coarse[fine], counts[fine])
        slot[:, fine] += share * one
        joint[:, fine[:, None, None], np.arange(slots)[:, None], fine] += share * two
    return SlateMoments(
        types, TypeTable(counts, slot, joint), samples=_samples(parts),
        halves=_mixed_halves(parts, shares),
    )  # fmt: skip


def _samples(parts: Sequence[SlateMoments]) -> int:
    return min((part.samples for part in parts if not part.exact), default=0)


def _mixed_halves(
    parts: Sequence[SlateMoments], shares: Sequence[float]
) -> tuple[SlateMoments, SlateMoments] | None:
    """Return the mixtures of the parts' first and of their second halves."""
    if all(part.exact for part in parts) or any(not part.halved for part in parts):
        return None
    pairs = [part.halves or (part, part) for part in parts]
    first, second = (mixed([pair[half] for pair in pairs], shares) for half in (0, 1))
    return first, second


def _refined(
    table: TypeTable, coarse: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the moments of parts of types: ``counts[r]`` documents of type ``coarse[r]``."""
    whole = table.counts[coarse]
    slot = table.slot[:, coarse] * (counts / whole)
    same = coarse[:, None] == coarse
    ways = counts[:, None] * np.where(np.eye(len(counts), dtype=bool), counts - 1, counts)
    of = whole[:, None] * np.where(same, whole - 1, whole)
    share = np.where(of > 0, ways / np.maximum(of, 1), 1.0)  # alone: the same document again
    joint = table.joint[:, coarse][:, :, :, coarse] * share[:, None]
    for j in range(len(slot)):
        joint[j, :, j] = np.diag(slot[j])
    return slot, joint
