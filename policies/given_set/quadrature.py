"""Rank marginals given the displayed set by quadrature, for pages of any length.

Given the moment τ of the first arrival outside of the page (``race``), document i stands at rank r
when it arrives at a moment s and just r - 1 of the others came before s, each by itself with
probability a_j(s): a coefficient of the polynomial Π_{j ≠ i} (z a_j + 1 - a_j).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...common.typing import Floats
from .race import integrate_race

_CACHED = 1 << 16  # numbers that are worked on at a time
_TAIL = 3.6  # exp(-exp(3.6)) is 1e-16
_STEP = 0.21  # the widest step in p
_HIGHEST, _FLAT = 700.0, -50.0


def quadrature_marginals(logs: Floats, log_rest: Floats) -> tuple[Floats, Floats]:
    """Return what ``subset_marginals`` returns, at a cost that does not double with k.

    Notes
    -----
    The moment s is τ (1 - exp(-ψ)) with ψ = exp(p - exp(-p)) / λτ, where λ is the rate of the first
    arrival: trapezoids in p converge exponentially, ends included, and reach down to every scale
    of the weights. Polynomials are known by their values at an odd number of roots of unity (so
    that none is -1, where a factor may vanish), which are summed over all nodes before one Fourier
    transform. Costs O(k²) per node, with some sqrt(k) nodes for τ and sqrt(k) for s, hence O(k³).
    """
    n, k = logs.shape
    nodes, log_probability = integrate_race(logs, log_rest)
    roots = k + 1 - k % 2
    angles = 2.0 * np.pi * np.arange(roots // 2 + 1) / roots
    values = np.zeros((n, k, len(angles)), dtype=np.complex128)
    scaled = np.maximum(logs[nodes.page] + nodes.log_moment[:, None], _FLAT)  # (m, k): log w τ
    rate = _log_first_rate(scaled)
    width = min(_STEP, 1.05 / np.sqrt(k + 1.0))
    for part in _cut(rate, width, k):
        count = int(np.ceil((2 * _TAIL + rate[part].max()) / width)) + 1
        found = _sum_over_moments(scaled[part], rate[part], count, angles)
        found *= nodes.weight[part, None, None]
        np.add.at(values, nodes.page[part], found)
    marginals = np.fft.irfft(values.conj(), roots, axis=2)[:, :, :k]
    return np.maximum(marginals, 0.0), log_probability


def _cut(rate: Floats, width: float, k: int) -> Iterator[slice]:
    """Cut rows into parts that stay in cache."""
    typical = (2 * _TAIL + float(np.median(rate))) / width * k
    step = max(int(_CACHED / typical), 1)
    for start in range(0, len(rate), step):
        yield slice(start, start + step)


def _log_first_rate(scaled: Floats) -> Floats:
    """Return log λτ, (m,): the rate of arrivals at first, Σ t / (1 - exp(-t)) for log t (m, k)."""
    t = np.exp(np.minimum(scaled, _HIGHEST))
    each = scaled - np.log(-np.expm1(-t))
    return np.logaddexp.reduce(each, axis=1)


def _sum_over_moments(scaled: Floats, rate: Floats, count: int, angles: Floats) -> Floats:
    """Return the polynomials' values (m, k, roots), integrated over s, for given moments τ."""
    place = np.linspace(-_TAIL, rate + _TAIL, count, axis=1)  # (m, count)
    step = (rate + 2 * _TAIL) / (count - 1)
    log_psi = place - np.exp(-place) - rate[:, None]
    psi = np.exp(np.maximum(log_psi, _FLAT))
    log_moment = np.where(log_psi < _FLAT, log_psi, np.log(-np.expm1(-psi)))  # log s / τ
    jacobian = (1.0 + np.exp(-place)) * psi / np.expm1(psi) * step[:, None]
    log_t = scaled[:, None]  # (m, 1, k)
    t = np.exp(np.minimum(log_t, _HIGHEST))
    elapsed = np.exp(np.minimum(log_t + log_moment[:, :, None], _HIGHEST))
    survive = np.exp(-elapsed)
    whole = -np.expm1(-t)
    before = -np.expm1(-elapsed) / whole  # (m, count, k): a
    after = survive * -np.expm1(-np.exp(np.minimum(log_t - psi[:, :, None], _HIGHEST))) / whole
    density = elapsed * survive / whole * jacobian[:, :, None]
    difference, both = (before - after) ** 2, 2.0 * before * after
    result = np.empty((*scaled.shape, len(angles)), dtype=np.complex128)
    for number, angle in enumerate(angles):
        root = np.exp(1j * angle)
        product = np.prod(1.0 + before * (root - 1.0), axis=2)  # (m, count)
        # 1 / (z a + b) is (a / z + b) / |z a + b|², and the sum under it never cancels
        share = density / (difference + both * (1.0 + np.cos(angle)))
        result[:, :, number] = np.einsum(
            "mc,mck->mk", product, share * before
        ) * root.conjugate() + np.einsum("mc,mck->mk", product, share * after)
    return result
