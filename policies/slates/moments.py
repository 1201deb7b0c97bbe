"""First and second moments of what a policy shows: documents in slots, and in pairs of slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from ...common import checks
from ...common.typing import Floats, Integers
from .document_types import TypeTable

if TYPE_CHECKING:
    from ..base import Policy

SAMPLES = 100_000
_CHUNK = 10_000  # pages drawn at a time
_ROUNDING = 1e-6  # how far given moments may be off

Halves = tuple["SlateMoments", "SlateMoments"]


@dataclass(frozen=True, eq=False)
class SlateMoments:
    """Moments of a policy's pages for one query.

    Attributes
    ----------
    types : (N,)
        The type of each document; -1 for one that is never shown.
    table : TypeTable
    samples : int
        How many drawn pages the moments come from; 0 where they are exact.
    halves : (SlateMoments, SlateMoments) or None
        The moments of the first and of the second half of the drawn pages, whose difference shows
        how much sampling varies; None where the moments are exact or the halves not known.
    """

    types: Integers
    table: TypeTable
    samples: int = field(default=0, kw_only=True)
    halves: Halves | None = field(default=None, kw_only=True)

    @staticmethod
    def from_arrays(
        single: ArrayLike, pair: ArrayLike, samples: int = 0, halves: Halves | None = None
    ) -> SlateMoments:
        """Make the moments from P(slot shows a), (K, N), and of pairs, (K, N, K, N).

        They may be off by rounding, but some policy must have them: a slot shows at most one
        document, and nothing depends on which of two slots is named first.
        """
        slot = _clip_rounding(single, "single", 2)
        joint = _clip_rounding(pair, "pair", 4)
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
    def has_spread(self) -> bool:
        """Whether it is known how much sampling varies: the moments are exact, or have halves."""
        return self.exact or self.halves is not None

    @cached_property
    def stderr(self) -> float:
        """The largest standard error of any probability here; 0 where they are exact."""
        if self.exact:
            return 0.0
        chance = np.concatenate([self.table.slot.ravel(), self.table.joint.ravel()])
        return float(np.sqrt((chance * (1.0 - chance)).max(initial=0.0) / self.samples))

    @cached_property
    def single(self) -> Floats:
        """P(slot j shows document a), (K, N): q of this policy."""
        shown = self.types >= 0
        result = np.zeros((len(self.table.slot), len(self.types)))
        result[:, shown] = (self.table.slot / self.table.counts)[:, self.types[shown]]
        return result

    @property
    def pair(self) -> Floats:
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


def _clip_rounding(value: ArrayLike, name: str, ndim: int) -> Floats:
    """Return probabilities, clipped to [0, 1] where rounding led them out of it."""
    array = checks.finite(value, name, ndim)
    near = np.clip(array, 0.0, 1.0)
    off = np.abs(near - array).max(initial=0.0)
    return near if off < _ROUNDING else checks.probabilities(array, name, ndim)


def _check_moments(slot: Floats, joint: Floats) -> None:
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


def slate_marginals(
    policy: Policy, query: int, samples: int = SAMPLES, seed: int = 0
) -> tuple[Floats, Floats]:
    """Return P(slot shows a), (K, N), and P(slot shows a and slot' shows b), (K, N, K, N).

    ``slate_moments`` says in addition whether they are exact.
    """
    moments = slate_moments(policy, query, samples, seed)
    return moments.single, moments.pair


def slate_moments(
    policy: Policy, query: int, samples: int = SAMPLES, seed: int = 0
) -> SlateMoments:
    """Return first and second moments of what ``policy`` shows for one query.

    Exact for deterministic, uniform and product policies; for Plackett-Luce with few documents or
    few distinct weights (``draws.MOST_WORK``); for mixtures of such policies. Otherwise they come
    from ``samples`` drawn pages, and ``.exact``, ``.samples`` and ``.stderr`` say so.

    A policy of one's own gives its own by a method ``marginals(query)`` that returns a
    ``SlateMoments``, the two arrays of ``slate_marginals``, or None where it cannot.
    """
    query = checks.positive_integer(query, "query", 0)
    policy.check_query([query])
    return policy.slate_moments(query, checks.positive_integer(samples, "samples", 2), seed)


def moments_from_arrays(policy: Policy, arrays: Any) -> SlateMoments:
    """Return the moments of the two arrays that ``policy.marginals`` returned, after checks."""
    source = f"{type(policy).__name__}.marginals"
    if not (isinstance(arrays, (tuple, list)) and len(arrays) == 2):
        raise ValueError(f"{source} must return two arrays, not {type(arrays).__name__}")
    single = checks.finite(arrays[0], f"what {source} returned", 2)
    needed = (policy.slots, policy.shape[1])
    checks.same_shape(single, needed, f"what {source} returned", "this policy")
    try:
        return SlateMoments.from_arrays(single, arrays[1])
    except ValueError as error:
        raise ValueError(f"what {source} returned is no policy's: {error}") from error


def sample_moments(policy: Policy, query: int, samples: int, seed: int) -> SlateMoments:
    """Return the moments of drawn pages, with those of both halves of them."""
    rng = np.random.default_rng((seed, query))
    numbers = [samples - samples // 2, samples // 2]
    totals = [_count_pairs(policy, query, number, rng) for number in numbers]
    first, second = map(_divide_counts, totals, numbers)
    return _divide_counts(totals[0] + totals[1], samples, (first, second))


def _count_pairs(policy: Policy, query: int, samples: int, rng: np.random.Generator) -> Floats:
    """Return how often drawn pages show documents in slots together, (K, N, K, N)."""
    slots, n_docs = policy.slots, policy.shape[1]
    total = np.zeros((slots * n_docs, slots * n_docs))
    for start in range(0, samples, _CHUNK):
        number = min(_CHUNK, samples - start)
        pages = policy.sample(np.full(number, query), rng)
        row, slot = np.nonzero(pages >= 0)
        places = (row, slot * n_docs + pages[row, slot])
        shown = csr_array((np.ones(len(row)), places), shape=(number, slots * n_docs))
        total += (shown.T @ shown).toarray()
    return total.reshape(slots, n_docs, slots, n_docs)


def _divide_counts(total: Floats, samples: int, halves: Halves | None = None) -> SlateMoments:
    single = np.einsum("jaja->ja", total) / samples
    return SlateMoments.from_arrays(single, total / samples, samples, halves)


def mix_moments(parts: Sequence[SlateMoments], shares: Sequence[float]) -> SlateMoments:
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
        one, two = _refine(part.table, coarse[fine], counts[fine])
        slot[:, fine] += share * one
        joint[:, fine[:, None, None], np.arange(slots)[:, None], fine] += share * two
    samples = min((part.samples for part in parts if not part.exact), default=0)
    halves = _mix_halves(parts, shares)
    return SlateMoments(types, TypeTable(counts, slot, joint), samples=samples, halves=halves)


def _mix_halves(parts: Sequence[SlateMoments], shares: Sequence[float]) -> Halves | None:
    """Return the mixtures of the parts' first and of their second halves."""
    if all(part.exact for part in parts) or any(not part.has_spread for part in parts):
        return None
    pairs = [part.halves or (part, part) for part in parts]
    first, second = (mix_moments([pair[half] for pair in pairs], shares) for half in (0, 1))
    return first, second


def _refine(table: TypeTable, coarse: Integers, counts: Integers) -> tuple[Floats, Floats]:
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
