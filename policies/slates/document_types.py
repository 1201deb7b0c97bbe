"""Moments of types of documents, those that a policy treats alike, and the inverses of Γ."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...common.typing import Floats, Integers

TOLERANCE = 1e-12  # an eigenvalue below this share of the largest is taken for 0
RARE = 1e-12  # documents shown less often than this count as never shown


class Inverse(NamedTuple):
    """What the pseudoinverse estimator needs of a symmetric matrix.

    Attributes
    ----------
    inverse : (S, S)
        Its Moore-Penrose pseudoinverse.
    projector : (S, S)
        The orthogonal projector onto its range.
    solver : (S, S)
        Times a vector v it solves "matrix times x is the projection of v". ``inverse`` gives the
        shortest solution, in which the large entries of rare documents spread to all others and
        cancel in exact arithmetic only; here they stay where they are.
    """

    inverse: Floats
    projector: Floats
    solver: Floats


def invert(matrix: Floats) -> Inverse:
    """Return the pseudoinverse of a positive semidefinite ``matrix`` (S, S) of probabilities.

    The matrix is scaled to a unit diagonal first, so that a probability of 1e-6 is not taken for
    a rounding error. The inverse of the scaled matrix, scaled back, is a generalised inverse G,
    and the projector onto the range on both sides of G makes it Moore and Penrose's. Rows whose
    diagonal is below ``RARE`` count as zeros.
    """
    size = len(matrix)
    some = np.flatnonzero(matrix.diagonal() > RARE)
    inverse, projector, solver = (np.zeros((size, size)) for _ in range(3))
    if len(some):
        scale = 1.0 / np.sqrt(matrix.diagonal()[some])
        values, vectors = np.linalg.eigh(matrix[np.ix_(some, some)] * scale * scale[:, None])
        kept = values > TOLERANCE * values[-1]
        general = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T * scale * scale[:, None]
        null, _ = np.linalg.qr(vectors[:, ~kept] * scale[:, None])
        onto = np.eye(len(some)) - null @ null.T
        inverse[np.ix_(some, some)] = onto @ general @ onto
        projector[np.ix_(some, some)] = onto
        solver[np.ix_(some, some)] = general @ onto
    return Inverse(inverse, projector, solver)


class TypeTable:
    """Moments of the types that pages show, one query's or shared by many.

    Γ is the same for all documents of a type, so it splits into one matrix that acts on the means
    of the types and, for each type, one that acts on the differences between its documents.

    Parameters
    ----------
    counts : (T,)
        How many documents are of each type.
    slot : (K, T)
        P(slot j shows a document of type t).
    joint : (K, T, K, T)
        P(slot j shows type t and slot k type u). Only documents that are alone in their type may be
        shown twice on a page.
    """

    def __init__(self, counts: Integers, slot: Floats, joint: Floats | None = None) -> None:
        self.counts, self.slot, self._joint = counts, slot, joint

    @property
    def joint(self) -> Floats:
        """P(slot j shows type t and slot k type u), (K, T, K, T)."""
        assert self._joint is not None
        return self._joint

    @cached_property
    def between(self) -> Inverse:
        """The inverse of Γ on the types' means times the roots of their counts, (K T, K T)."""
        size = self.slot.size
        root = np.sqrt(self.counts)
        return invert((self.joint / (root[:, None, None] * root)).reshape(size, size))

    @cached_property
    def within(self) -> list[Inverse | None]:
        """The inverse of Γ on differences within each type, (K, K); None for single documents."""
        several = self.counts > 1
        return [self._invert_within(t) if several[t] else None for t in range(len(several))]

    def _invert_within(self, t: int) -> Inverse:
        count = int(self.counts[t])
        matrix = -self.joint[:, t, :, t] / (count * (count - 1))
        np.fill_diagonal(matrix, self.slot[:, t] / count)
        return invert(matrix)

    @cached_property
    def repeats(self) -> bool:
        """Whether a page can show a document twice."""
        alone = np.flatnonzero(self.counts == 1)
        twice = self.joint[:, alone, :, alone]  # (alone, K, K)
        return bool((twice.sum(axis=(1, 2)) > self.slot[:, alone].sum(axis=0) + 1e-12).any())

    def apply_between(self, kind: str, means: Floats) -> Floats:
        """Return a matrix of ``between``, named by ``kind``, times scaled means, (..., K, T)."""
        matrix = getattr(self.between, kind)
        return (means.reshape(*means.shape[:-2], -1) @ matrix.T).reshape(means.shape)


class UniformTable(TypeTable):
    """One type: every ordered choice of ``slots`` out of ``count`` documents is equally likely.

    In closed form, with m documents and K filled slots: Γ is 1 1ᵀ / m between and
    (I - 1 1ᵀ / m) / (m - 1) within.
    """

    def __init__(self, count: int, slots: int) -> None:
        filled = (np.arange(slots) < count).astype(np.float64)
        joint = (filled[:, None] * filled)[:, None, :, None]
        super().__init__(np.array([count]), filled[:, None], joint)

    @cached_property
    def between(self) -> Inverse:
        """In closed form, (K, K)."""
        ones, filled = self.joint[:, 0, :, 0], self.slot.sum()
        return _closed_form(ones * self.counts[0] / filled**2, ones / filled)

    @cached_property
    def within(self) -> list[Inverse | None]:
        """In closed form, (K, K)."""
        count = int(self.counts[0])
        if count == 1:
            return [None]
        ones, identity = self.joint[:, 0, :, 0], np.diag(self.slot[:, 0])
        filled = int(self.slot.sum())
        if filled == count:  # whole lists: each document is in exactly one slot
            projector = identity - ones / filled
            return [_closed_form((count - 1) * projector, projector)]
        return [_closed_form((count - 1) * (identity + ones / (count - filled)), identity)]


def _closed_form(inverse: Floats, projector: Floats) -> Inverse:
    return Inverse(inverse, projector, inverse)


class ProductTable(TypeTable):
    """Slots drawn independently of each other; each document is a type of its own.

    Γ has diag(p_j) for slot j and p_j p_kᵀ for two slots. With L filled slots,
    diag(1/p) - (L - 1)/L² 1 1ᵀ is a generalised inverse (Example 4 of the slates paper), and the
    projector onto the range of Γ on both sides makes it Moore and Penrose's. The null space is
    that of vectors that are constant in each slot, with constants that sum to 0.

    Parameters
    ----------
    slot : (K, N)
        The slots' distributions; zeros for an empty slot.
    """

    def __init__(self, slot: Floats) -> None:
        super().__init__(np.ones(slot.shape[1], dtype=np.int64), slot)
        self._some = slot > RARE
        self._sizes = self._some.sum(axis=1)

    @property
    def joint(self) -> Floats:
        """P(slot j shows a and slot k shows b), (K, N, K, N)."""
        joint = self.slot[:, :, None, None] * self.slot
        for j, slot in enumerate(self.slot):
            joint[j, :, j] = np.diag(slot)
        return joint

    @cached_property
    def repeats(self) -> bool:
        """Whether two slots can show the same document."""
        return bool((self._some.sum(axis=0) > 1).any())

    def apply_between(self, kind: str, means: Floats) -> Floats:
        """Return the matrix named by ``kind`` times ``means``, (..., K, N)."""
        inside = self._project(means)
        if kind == "projector":
            return inside
        filled = max(int((self._sizes > 0).sum()), 1)
        result = np.divide(inside, self.slot, out=np.zeros_like(inside), where=self._some)
        total = inside.sum(axis=(-2, -1), keepdims=True)
        result -= np.where(self._some, (filled - 1) / filled**2 * total, 0.0)
        return result if kind == "solver" else self._project(result)

    def _project(self, means: Floats) -> Floats:
        inside = np.where(self._some, means, 0.0)
        sizes = np.maximum(self._sizes, 1)[:, None]
        centre = inside.sum(axis=-1, keepdims=True) / sizes
        common = centre.sum(axis=-2, keepdims=True) / max((self._some / sizes**2).sum(), 1e-300)
        return np.where(self._some, inside - centre + common / sizes, 0.0)
