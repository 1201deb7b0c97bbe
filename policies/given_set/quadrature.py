"""Rank marginals given the displayed set by quadrature, for pages of any length.

Given the time τ of the first arrival outside of the page (``race``), document i stands at rank r
when it arrives at a time s and just r - 1 of the others came before s, each by itself with
probability a_j(s): a coefficient of the polynomial Π_{j ≠ i} (z a_j + 1 - a_j).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...common.typing import Floats
from .race import integrate_race

_CACHED = 1 << 15  # numbers that are worked on at a time
_PAGES = 64  # whose nodes of τ are found at once
_TAIL = 3.6  # exp(-exp(3.6)) is 1e-16
_STEP = 0.21  # the widest step in p
_HIGHEST, _FLAT = 600.0, -50.0


def quadrature_marginals(logs: Floats, log_rest: Floats) -> tuple[Floats, Floats]:
    """Return what ``subset_marginals`` returns, at a cost that does not double with k.

    Notes
    -----
    The time s is τ (1 - exp(-ψ)) with ψ = exp(p - exp(-p)) / λτ, where λ is the rate of the first
    arrival: trapezoids in p converge exponentially, ends included, and reach down to every scale
    of the weights. Costs O(k²) per node, with some sqrt(k) nodes for τ and sqrt(k) for s, hence
    O(k³) a page.
    """
    n, k = logs.shape
    marginals, log_probability = np.empty((n, k, k)), np.empty(n)
    for start in range(0, n, _PAGES):
        part = slice(start, start + _PAGES)
        nodes, log_probability[part] = integrate_race(logs[part], log_rest[part])
        ends = np.searchsorted(nodes.page, np.arange(len(logs[part]) + 1))
        for page, (first, last) in enumerate(pairwise(ends.tolist()), start):
            log_times, weights = nodes.log_time[first:last], nodes.weight[first:last]
            marginals[page] = _integrate_page(logs[page], log_times, weights)
    return marginals, log_probability


def _integrate_page(logs: Floats, log_times: Floats, weights: Floats) -> Floats:
    """Return the marginals (k, k) of a page with log-weights (k,), for nodes of log τ (m,)."""
    k = len(logs)
    scaled = np.maximum(logs + log_times[:, None], _FLAT)  # (m, k): log w τ
    whole = -np.expm1(-np.exp(np.minimum(scaled, _HIGHEST)))  # P(document comes before τ)
    rate = np.logaddexp.reduce(scaled - np.log(whole), axis=1)  # log λτ
    width = min(_STEP, 0.95 / np.sqrt(k + 1.0))
    counts = np.ceil((2 * _TAIL + rate) / width).astype(np.int64) + 1
    row = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    step = (2 * _TAIL + rate) / (counts - 1)
    place = step[row] * place - _TAIL  # p of each node
    log_psi = place - np.exp(-place) - rate[row]
    psi = np.exp(np.maximum(log_psi, _FLAT))
    log_arrived = np.where(log_psi < _FLAT, log_psi, np.log(-np.expm1(-psi)))  # log s / τ
    weight = (weights * step)[row] * (1.0 + np.exp(-place)) * psi / np.expm1(psi)
    polynomials = _Polynomials(k)
    for start in range(0, len(row), max(_CACHED // k, 1)):
        part = slice(start, start + max(_CACHED // k, 1))
        log_end, inside = scaled.T[:, row[part]], whole.T[:, row[part]]
        elapsed = np.exp(np.minimum(log_end + log_arrived[part], _HIGHEST))  # (k, nodes): w s
        before = -np.expm1(-elapsed)
        density = elapsed * (1.0 - before) / inside * weight[part]
        polynomials.add(before / inside, density)
    return polynomials.coefficients()


class _Polynomials:
    """Sums over nodes of density_i Π_{j ≠ i} (z a_j + 1 - a_j), for each of k documents.

    Polynomials are known by their values at an odd number of roots of unity, so that none is -1,
    where a factor may vanish; one Fourier transform of the sums gives the coefficients.
    """

    def __init__(self, k: int) -> None:
        self.k, self.number = k, k + 1 - k % 2
        angles = 2.0 * np.pi * np.arange(self.number // 2 + 1) / self.number
        self.roots = np.exp(1j * angles)
        self.shifts = 1.0 + np.cos(angles)
        powers = np.exp(1j * angles[:, None] * np.arange(k + 1))
        self.powers = np.stack([powers.real, powers.imag], axis=1)  # (roots, 2, k + 1)
        self.values = np.zeros((len(angles), k), dtype=np.complex128)

    def add(self, before: Floats, density: Floats) -> None:
        """Add nodes with probabilities a (k, nodes) and densities (k, nodes)."""
        after = 1.0 - before
        products = self.powers @ _multiply(before, after)  # (roots, 2, nodes): of all factors
        # 1 / (z a + b) is (a / z + b) / |z a + b|², and |z a + b|² = (a - b)² + 2 a b (1 + cos)
        difference, both = (before - after) ** 2, 2.0 * before * after
        share = np.empty_like(both)
        for number, root in enumerate(self.roots):
            np.multiply(both, self.shifts[number], out=share)
            share += difference
            np.divide(density, share, out=share)
            real, imaginary = (share @ products[number].T).T
            values = real + 1j * imaginary
            share *= before
            real, imaginary = (share @ products[number].T).T
            self.values[number] += values + (real + 1j * imaginary) * (root.conjugate() - 1.0)

    def coefficients(self) -> Floats:
        """Return the coefficients of z^0 to z^(k-1) of each document's polynomial, (k, k)."""
        found: NDArray[np.float64] = np.fft.irfft(self.values.T.conj(), self.number, axis=1)
        return np.maximum(found[:, : self.k], 0.0)


def _multiply(before: Floats, after: Floats) -> Floats:
    """Return the coefficients of Π (z a + b), (k + 1, nodes)."""
    k, nodes = before.shape
    result, shifted = np.zeros((k + 1, nodes)), np.empty((k, nodes))
    result[0] = 1.0
    for degree in range(1, k + 1):
        np.multiply(result[:degree], before[degree - 1], out=shifted[:degree])
        result[:degree] *= after[degree - 1]
        result[1 : degree + 1] += shifted[:degree]
    return result
