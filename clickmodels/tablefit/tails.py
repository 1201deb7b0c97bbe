"""The ends of pages under models that read from the top: after the last click, or without one.

With g₀ and g₁ the probabilities that reading goes on after a skip and after a click, and B_k that
of no click from rank k on once it is examined,

    B_k = (1 - a_k) (1 - g₀ + g₀ B_{k+1}),   B = 1 beyond the page's end,

a tail has probability ``1 - g₁ + g₁ B`` of the rank below the last click, or ``B_1`` without one.
Tails are worked on in blocks that stay in the cache, in groups that go to a thread each.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.runtime import cores
from ...common.typing import Floats, Integers
from .counting import sums

_BLOCK = 1 << 16  # pages
_GROUP = 1 << 18  # pages that are counted at a time, at most
TINY = 1e-100  # its reciprocal times any weight is still finite


class TailBlock(NamedTuple):
    """Some distinct ends of pages, in rising order of their last click.

    ``below`` (T,) are the pairs below the last click, P on empty slots: first those in slot 0 of
    all pages that have it below their last click (those without a click), then those in slot 1,
    and so on; slot k has the first ``reach[k]`` pages.
    """

    weight: Floats  # (m,) of the pages
    below: Integers
    reach: list[int]  # (K + 1,): reach[k] pages have their last click above slot k
    bounds: list[int]  # (K + 1,): where the pairs of slot k begin in ``below``
    stop: Integers  # click cells of the last clicks, of the pages that have one


class TailGroup(NamedTuple):
    """Blocks, and what they have together."""

    blocks: list[TailBlock]
    below: Integers
    stop: Integers


@dataclass(frozen=True)
class Tails:
    """The m distinct ends of pages, in rising order of their last click."""

    groups: list[TailGroup]

    @classmethod
    def fold(cls, pages: NDArray[Any], last: Integers, stop: NDArray[Any], weight: Floats) -> Tails:
        """Fold pages (K, m) of pairs, in rising order of ``last``; those without weight go."""
        kept = weight > 0
        if not kept.all():
            pages, last, stop, weight = pages[:, kept], last[kept], stop[kept], weight[kept]

        m = len(last)
        size = max(-(-m // max(-(-m // _GROUP), 1)), 1)
        groups = []
        for start in range(0, m, size):
            end = min(start + size, m)
            parts = [slice(a, min(a + _BLOCK, end)) for a in range(start, end, _BLOCK)]
            groups.append(
                _make_group([_make_block(pages[:, a], last[a], stop[a], weight[a]) for a in parts])
            )
        return cls(groups)

    def without_clicks(self, n_pairs: int) -> Floats:
        """Return the impressions of each pair on pages without a click, (P,)."""
        total = np.zeros(n_pairs + 1)
        for group in self.groups:
            for block in group.blocks:
                weight = block.weight[: block.reach[0]]
                for start in block.bounds[:-1]:
                    total += sums(block.below[start : start + len(weight)], weight, n_pairs + 1)
        return total[:-1]


def _make_group(blocks: list[TailBlock]) -> TailGroup:
    return TailGroup(
        blocks,
        np.concatenate([block.below for block in blocks]),
        np.concatenate([block.stop for block in blocks]),
    )


def _make_block(
    pages: NDArray[Any], last: Integers, stop: NDArray[Any], weight: Floats
) -> TailBlock:
    reach = np.searchsorted(last, np.arange(len(pages) + 1))
    below = np.concatenate([pages[slot, : reach[slot]] for slot in range(len(pages))])
    bounds = np.concatenate([[0], np.cumsum(reach[:-1])])
    stops = stop[reach[0] :].astype(np.int64)
    return TailBlock(weight, below.astype(np.int64), reach.tolist(), bounds.tolist(), stops)


@dataclass(frozen=True)
class TailTerms:
    """The tails' log-likelihood, its derivatives, and the sums of weight / P(tail)."""

    log_likelihood: float
    by_attractive: Floats  # (P,)
    by_skip: float
    by_click: Floats  # (C,)
    stops: Floats  # (C,), over the tails that begin at a last click

    def __add__(self, more: TailTerms) -> TailTerms:
        return TailTerms(*(value + vars(more)[key] for key, value in vars(self).items()))


def tail_terms(tails: Tails, a: Floats, skip: float, click: Floats) -> TailTerms:
    """Return what the tails say about attractiveness (P,), g₀ = ``skip`` and g₁ = ``click`` (C,).

    A pass over the tails, there and back.
    """
    unclicked = np.append(1.0 - a, 1.0)

    def terms(group: TailGroup) -> TailTerms:
        return _group_terms(group, unclicked, skip, click)

    none = TailTerms(0.0, np.zeros(len(a)), 0.0, np.zeros(len(click)), np.zeros(len(click)))
    with ThreadPoolExecutor(max(min(cores(), len(tails.groups)), 1)) as pool:
        return sum(pool.map(terms, tails.groups), start=none)


class TailSquares(NamedTuple):
    """Sums over tails of weight times a slope of log P(tail), and of its square.

    By attractiveness the slope is less than 0: minus it is summed.
    """

    by_attractive: Floats  # (P,)
    by_attractive_squared: Floats
    by_click: Floats  # (C,), of minus the slope by g₁
    by_click_squared: Floats


def tail_squares(tails: Tails, a: Floats, skip: float, click: Floats) -> TailSquares:
    """Return what the curvature of the tails' log-likelihood is made of; as ``tail_terms``."""
    unclicked = np.append(1.0 - a, 1.0)
    result = TailSquares(*(np.zeros(size) for size in (len(a), len(a), len(click), len(click))))
    for group in tails.groups:
        for block in group.blocks:
            values, ends = np.empty(len(block.below)), np.empty((2, len(block.stop)))
            _block_terms(block, unclicked, skip, click[block.stop], values, ends)
            # Slot by slot the first pages of the block, whose weight is taken out once.
            weight = np.concatenate([block.weight[:size] for size in block.reach[:-1]])
            last = block.weight[block.reach[0] :]
            for place, slope, once, size, (one, two) in (
                (block.below, values, weight, len(a) + 1, result[:2]),
                (block.stop, ends[1], last, len(click), result[2:]),
            ):
                one += sums(place, slope, size)[: len(one)]
                two += sums(place, slope**2 / once, size)[: len(two)]
    return result


def _group_terms(group: TailGroup, unclicked: Floats, skip: float, click: Floats) -> TailTerms:
    by_value, ends = np.empty(len(group.below)), np.empty((2, len(group.stop)))
    likelihood, by_skip, value, end = 0.0, 0.0, 0, 0
    for block in group.blocks:
        values = by_value[value : value + len(block.below)]
        some = ends[:, end : end + len(block.stop)]
        found = _block_terms(block, unclicked, skip, click[block.stop], values, some)
        likelihood, by_skip = likelihood + found[0], by_skip + found[1]
        value, end = value + len(block.below), end + len(block.stop)
    return TailTerms(
        likelihood,
        -sums(group.below, by_value, len(unclicked))[:-1],
        by_skip / max(skip, TINY),
        -sums(group.stop, ends[1], len(click)),
        sums(group.stop, ends[0], len(click)),
    )


def _block_terms(
    block: TailBlock, unclicked: Floats, skip: float, stop: Floats, by_value: Floats, ends: Floats
) -> tuple[float, float]:
    """Return the log-likelihood and g₀ times its derivative by g₀.

    ``stop`` is g₁ of the last clicks. Into ``by_value`` (T,) go minus the derivatives by the
    values below, into ``ends`` weight / P(tail) and minus the derivative by ``stop``.
    """
    reach, bounds = block.reach, block.bounds
    slots = len(reach) - 1
    skipped = unclicked.take(block.below)
    rest = np.empty(len(block.below))  # 1 - g₀ + g₀ B of the next slot, slot by slot
    none = np.ones(len(block.weight))  # B of the current slot; in the end, below the last click
    for slot in range(slots - 1, -1, -1):
        part, reached = slice(bounds[slot], bounds[slot + 1]), none[: reach[slot]]
        if slot < slots - 1 and skip != 1.0:
            reached *= skip
            reached += 1.0 - skip
        rest[part] = reached
        reached *= skipped[part]
    start = reach[0]
    more = 1.0 - none[start:]  # P(a further click | reading went on)
    none[start:] = 1.0 - stop * more
    np.maximum(none, TINY, out=none)
    flow = block.weight / none  # derivative by B, of the current slot for those above
    np.copyto(ends[0], flow[start:])
    np.multiply(flow[start:], more, out=ends[1])
    flow[start:] *= stop
    by_skip = 0.0
    for slot in range(slots):
        part, reached = slice(bounds[slot], bounds[slot + 1]), flow[: reach[slot]]
        np.multiply(reached, rest[part], out=by_value[part])
        reached *= skipped[part]
        if slot < slots - 1 and skip != 1.0:
            by_skip += float(reached @ rest[part] - reached.sum())
            reached *= skip
    return float(block.weight @ np.log(none)), by_skip
