"""Fitting a mixture of ways to read a page: L-BFGS in logits that are scaled by root counts.

A fit starts from UBM's, runs on a tenth of a long log first, and goes on until attention stands
still: along the ridge on which attention and its effect are traded for each other the likelihood
hardly moves while they do. Then the priors are learned once more, and it goes on from there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from ...common.runtime import cores
from ...common.typing import Booleans, Floats, Integers
from ...data import ClickLog, World
from ..tablefit.prior import BetaPrior, logistic
from ..ubm import UBM
from .mixture import MixedPages, Slopes, latest_cells

_LONG = 50_000  # rows from which on a tenth of the log comes first
_CORRECTIONS = 20  # steps that L-BFGS remembers
_STEPS = 10  # between two looks at attention
_STILL_PART, _STILL = 2e-3, 5e-4  # mean changes of attention that are none
_MOST_STEPS = 300
_FARTHEST = 16.0  # a logit beyond this is as good as 0 or 1
_CYCLES = 20  # of learning a prior in one go
_HALF = 0.5  # successes and failures that every probability but attractiveness has seen before


class Ways(ABC):
    """How the probabilities of a model make the examination tables and the shares of its ways.

    Attributes
    ----------
    sizes : dict from str to int
        The number of probabilities of each kind: "examination", then the model's own, and
        "attention" (G,), where G = T (K + 1).
    watched : tuple of str
        The kinds that must stand still.
    """

    sizes: dict[str, int]
    watched: tuple[str, ...]

    @abstractmethod
    def cells(
        self, log: ClickLog, base: NDArray[np.int32]
    ) -> tuple[tuple[NDArray[np.int32], ...], tuple[int, ...]]:
        """Return the cells of each way, (n, K), and their number; ``base`` are UBM's."""

    @abstractmethod
    def start(self, ubm: UBM) -> dict[str, Floats]:
        """Return the first probabilities of each kind."""

    @abstractmethod
    def forward(self, parts: dict[str, Floats]) -> tuple[list[Floats], Floats]:
        """Return the examination of each way's cells, and the shares, (G, W)."""

    @abstractmethod
    def backward(self, parts: dict[str, Floats], slopes: Slopes) -> dict[str, Floats]:
        """Return the derivatives by the probabilities; ``slopes.shares`` is (G, W)."""

    @abstractmethod
    def counts(self, pages: MixedPages) -> dict[str, Floats]:
        """Return roughly how much the pages tell about each probability."""

    def trials(
        self, parts: dict[str, Floats], slopes: Slopes
    ) -> dict[str, tuple[Floats, Floats]]:
        """Return expected successes and failures of the kinds whose prior is learned, too.

        Probabilities without any keep the prior of the others. Here there are no such kinds.
        """
        return {}


class _Posterior:
    """Minus the log posterior of all logits, attractiveness first."""

    def __init__(self, ways: Ways, pages: MixedPages, prior: BetaPrior, pool: Executor) -> None:
        self.ways, self.pages, self.pool = ways, pages, pool
        self._slices = {}
        end = pages.n_pairs
        for name, size in ways.sizes.items():
            self._slices[name] = slice(end, end + size)
            end += size
        self._pairs = slice(0, pages.n_pairs)
        self._successes, self._failures = np.full((2, end), _HALF)
        self._successes[self._pairs] = prior.successes
        self._failures[self._pairs] = prior.failures
        rough = np.ones(end)
        rough[self._pairs] += 0.3 * pages.clicks_by_pair()
        for name, counts in ways.counts(pages).items():
            rough[self._slices[name]] += counts
        self.scale = 1.0 / np.sqrt(rough)

    def parts(self, values: Floats) -> dict[str, Floats]:
        """Return what belongs to each kind of probability."""
        return {name: values[place] for name, place in self._slices.items()}

    def watched(self, values: Floats) -> Floats:
        """Return the probabilities that must stand still."""
        return np.concatenate([values[self._slices[name]] for name in self.ways.watched])

    def slopes(self, probs: Floats) -> tuple[Slopes, dict[str, Floats]]:
        """Return the likelihood's slopes and the probabilities by kind."""
        parts = self.parts(probs)
        tables, shares = self.ways.forward(parts)
        no_block = np.eye(1, len(tables))  # the group of pages without a block
        every = np.vstack([shares, no_block])
        found = self.pages.slopes(probs[self._pairs], tables, every, self.pool)
        return found._replace(shares=found.shares[:-1]), parts

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        """Return value and gradient at scaled logits."""
        values = logistic(point * self.scale)
        slopes, parts = self.slopes(values.p)
        gradient = np.empty(len(point))
        gradient[self._pairs] = slopes.pairs * (1.0 - values.p[self._pairs])
        for name, slope in self.ways.backward(parts, slopes).items():
            gradient[self._slices[name]] = slope * parts[name] * (1.0 - parts[name])
        gradient += self._successes - (self._successes + self._failures) * values.p
        prior = self._successes @ values.log_p + self._failures @ values.log_not_p
        return -(slopes.value + float(prior)), -gradient * self.scale

    def learn_kinds(self, logits: Floats) -> None:
        """Learn the priors of other kinds than attractiveness from their expected trials."""
        slopes, parts = self.slopes(expit(logits))
        for name, (successes, failures) in self.ways.trials(parts, slopes).items():
            tried = np.flatnonzero(successes + failures > 0) + self._slices[name].start
            prior = BetaPrior(_HALF, _HALF).learn(successes, successes + failures, _CYCLES)
            self._successes[tried], self._failures[tried] = prior.successes, prior.failures

    def learn(self, logits: Floats) -> BetaPrior:
        """Return the prior of attractiveness that the expected counts of pairs make likely.

        An examined document that is not clicked is a failure. Of a slot without a click it is
        γ (1 - a) / (1 - a γ), and the slopes hold the sum of a γ / (1 - a γ).
        """
        probs = expit(logits)
        slopes, _ = self.slopes(probs)
        attractive = np.maximum(probs[self._pairs], 1e-12)
        clicks = self.pages.clicks_by_pair()
        failures = (clicks - slopes.pairs) * (1.0 - attractive) / attractive
        return BetaPrior().learn(clicks, clicks + np.maximum(failures, 0.0))


def _search(posterior: _Posterior, logits: Floats, still: float) -> Floats:
    """Return the most likely logits: until attention changes by no more than ``still``."""
    from scipy.optimize import minimize

    steps = 0
    before = posterior.watched(expit(logits))

    def look(point: Floats) -> None:
        nonlocal steps, before
        steps += 1
        if steps % _STEPS == 0:
            now = posterior.watched(expit(point * posterior.scale))
            moved, before = np.abs(now - before).mean(), now
            if steps > _STEPS and moved < still:
                raise StopIteration

    options = {
        "maxiter": _MOST_STEPS, "maxfun": 2 * _MOST_STEPS, "maxcor": _CORRECTIONS,
        "ftol": 1e-13, "gtol": 1e-9,
    }  # fmt: skip
    found = minimize(
        posterior, logits / posterior.scale, jac=True, method="L-BFGS-B", callback=look,
        bounds=np.outer(_FARTHEST / posterior.scale, [-1.0, 1.0]), options=options,
    )  # fmt: skip
    result: Floats = found.x * posterior.scale
    return result


def count_types(log: ClickLog, world: World) -> int:
    """Return the number of types of blocks that a log or its world knows, at least 1."""
    known = [-1 if types is None else int(types.max(initial=-1)) for types in
             (log.vertical, world.vertical)]  # fmt: skip
    return max(*known, 0) + 1


def has_blocks(log: ClickLog) -> bool:
    """Return whether any page of a log shows a block."""
    return log.vertical is not None and bool((log.vertical >= 0).any())


def fit_ubm(log: ClickLog, world: World) -> UBM:
    """Return UBM fitted to the log as if there were no blocks."""
    (model,) = UBM.table_fit.fit(UBM, log, world, [0])
    assert isinstance(model, UBM)
    return model


def fit_ways(ways: Ways, log: ClickLog, world: World) -> dict[str, Any]:
    """Fit the ways to read a page to a log with blocks.

    Returns
    -------
    dict
        "attractiveness" (Q, N), and the probabilities of each kind of ``ways``.
    """
    log = log.compress() if not log.extra else ClickLog(
        log.query, log.ranking, log.clicks, weight=log.weight, vertical=log.vertical,
        vertical_position=log.vertical_position,
    ).compress()  # fmt: skip
    ubm = fit_ubm(log, world)
    shown, pages = _make_pages(ways, log, world)
    values = ubm.attractiveness.reshape(-1)[shown]
    start = np.concatenate([values, *ways.start(ubm).values()])
    logits = logit(np.clip(start, 0.01, 0.99))
    with ThreadPoolExecutor(cores()) as pool:
        prior = _Posterior(ways, pages, BetaPrior(), pool).learn(logits)
        if len(log) >= _LONG:
            rows = np.random.default_rng(0).permutation(len(log))[: len(log) // 10]
            part = _Posterior(ways, pages.part(np.sort(rows)), prior, pool)
            logits = _search(part, logits, _STILL_PART)
        prior = _Posterior(ways, pages, prior, pool).learn(logits)
        logits = _search(_Posterior(ways, pages, prior, pool), logits, _STILL)
        prior = _Posterior(ways, pages, prior, pool).learn(logits)
        posterior = _Posterior(ways, pages, prior, pool)
        posterior.learn_kinds(logits)
        logits = _search(posterior, logits, _STILL)
    probs = expit(logits)
    attractiveness = np.full(world.n_queries * world.n_docs, prior.mean)
    attractiveness[shown] = probs[: len(shown)]
    table = attractiveness.reshape(world.n_queries, world.n_docs)
    return {"attractiveness": table} | posterior.parts(probs)


def _make_pages(ways: Ways, log: ClickLog, world: World) -> tuple[Integers, MixedPages]:
    """Return the pairs that the log shows, rising (``query * N + document``), and its pages."""
    assert log.vertical is not None
    assert log.vertical_position is not None
    filled: Booleans = log.ranking >= 0
    flat = log.query[:, None].astype(np.int64) * world.n_docs + log.ranking
    seen = np.zeros(world.n_queries * world.n_docs, dtype=bool)
    seen[flat[filled]] = True
    shown = np.flatnonzero(seen)
    number = np.cumsum(seen, dtype=np.int64) - 1
    pair = np.where(filled, number[np.where(filled, flat, 0)], len(shown)).astype(np.int32)
    cells, sizes = ways.cells(log, latest_cells(log.clicks))
    group = log.vertical * (log.slots + 1) + log.vertical_position
    group = np.where(log.vertical >= 0, group, ways.sizes["attention"]).astype(np.int32)
    by_slot = [np.ascontiguousarray(array.T) for array in (pair, log.clicks, *cells)]
    weight = np.ascontiguousarray(log.counts)
    return shown, MixedPages(
        by_slot[0], by_slot[1], weight, group, tuple(by_slot[2:]), sizes, len(shown)
    )


def fill_attention(attention: Floats, log: ClickLog) -> Floats:
    """Return attention (T, K+1), with the mean of its type where the log shows no such block.

    A type that is never shown has the mean of all blocks. Means are weighted by impressions.
    """
    assert log.vertical is not None
    assert log.vertical_position is not None
    counts = np.zeros(attention.shape)
    shown = log.vertical >= 0
    np.add.at(counts, (log.vertical[shown], log.vertical_position[shown]), log.counts[shown])
    sums, totals = (counts * attention).sum(axis=1), counts.sum(axis=1)
    overall = sums.sum() / totals.sum()
    means = np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), overall)
    return np.where(counts > 0, attention, means[:, None])
