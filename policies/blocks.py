"""Pseudoinverses of symmetric matrices whose entries are of very different sizes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-12  # an eigenvalue below this share of the largest is taken for 0
RARE = 1e-12  # what is shown less often than this is taken for never shown


class Block(NamedTuple):
    """A symmetric matrix, for what PI needs of it.

    Attributes
    ----------
    inverse : (S, S)
        Its Moore-Penrose pseudoinverse.
    projector : (S, S)
        The orthogonal projector onto its range.
    solver : (S, S)
        Times a vector v it is a solution of "matrix times x is the projected v", though not the
        shortest, which ``inverse`` gives. What is rare has large entries in x; in the shortest
        solution they spread to all others, where they cancel in exact numbers only.
    """

    inverse: NDArray[np.float64]
    projector: NDArray[np.float64]
    solver: NDArray[np.float64]


def block(matrix: NDArray[np.float64]) -> Block:
    """Return the pseudoinverse of a positive semidefinite ``matrix`` (S, S) of probabilities.

    The matrix is scaled to a unit diagonal first, so that what is shown with probability 1e-6 is
    not taken for rounding. The inverse of the scaled matrix, scaled back, is a generalised inverse
    G, and the projector onto the range on both sides of G makes it Moore and Penrose's. Rows whose
    diagonal is below ``RARE`` are taken for zeros.
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
    return Block(inverse, projector, solver)
