"""Folding a log into counts by pair and cell."""

from __future__ import annotations

from collections import Counter

import numpy as np
from conftest import SLOTS, small_world
from looping import loop_over
from model_contract import simulate

from clickgym.clickmodels import cells
from clickgym.clickmodels.tablefit import pair_counts

CELLS = {
    "rank": (cells.rank_cells, lambda slot, above: slot),
    "latest": (
        cells.latest_cells,
        lambda slot, above: slot * SLOTS + max(np.flatnonzero(above) + 1, default=0),
    ),
    "prefix": (
        cells.prefix_cells,
        lambda slot, above: 2**slot - 1 + int("0" + "".join(str(int(c)) for c in above), 2),
    ),
}


def counted(log, n_docs, number):
    """Clicks and skips by (pair, cell), one slot after the other."""
    clicks, skips = Counter(), Counter()
    for query, ranking, clicked, weight in zip(
        log.query, log.ranking, log.clicks, log.weight, strict=True
    ):
        for slot, document in enumerate(ranking):
            if document >= 0 and weight > 0:
                key = query * n_docs + document, number(slot, clicked[:slot])
                (clicks if clicked[slot] else skips)[key] += weight
    return +clicks, +skips


@loop_over("way", ["sorted", "slot by slot", "table", "table in parts"])
@loop_over("kind", CELLS)
def test_folded_counts_are_those_of_a_loop(monkeypatch, kind, way):
    if way == "table in parts":
        monkeypatch.setattr(pair_counts, "_PART", 40)
        monkeypatch.setattr(pair_counts, "_CHUNK", 17)
    elif way != "table":
        monkeypatch.setattr(pair_counts, "_DENSE", 0)
        monkeypatch.setattr(pair_counts, "_COUNTED", 0 if way == "sorted" else 1 << 25)
    world, log = small_world(short=True), simulate(150, short=True, weighted=True)
    function, number = CELLS[kind]
    fold = pair_counts.PairCellFold(log[log.weight > 0], world, function)
    counts = fold.whole
    keys = list(zip(fold.pairs[counts.pair], fold.cells[counts.cell], strict=True))
    clicks = Counter(dict(zip(keys, counts.clicks, strict=True)))
    skips = Counter(dict(zip(keys, counts.skips, strict=True)))
    assert (+clicks, +skips) == counted(log, world.n_docs, number)
    (again,) = fold.counts(log.weight[log.weight > 0, None])
    np.testing.assert_array_equal(again.clicks, counts.clicks)
    np.testing.assert_array_equal(again.pair, counts.pair)
    np.testing.assert_array_equal(again.skips, counts.skips)


@loop_over("slots", [1, 2, 5])
def test_a_click_prefix_has_the_number_that_it_is_listed_under(slots):
    clicks, length = cells.prefix_clicks(slots)
    found = cells.cell_numbers(cells.prefix_cells, np.pad(clicks, ((0, 0), (0, 1))))
    numbers = np.arange(2**slots - 1)
    np.testing.assert_array_equal(found[numbers, length], numbers)


def test_click_prefixes_are_all_different():
    clicks, length = cells.prefix_clicks(SLOTS)
    assert len({(n, row.tobytes()) for n, row in zip(length, clicks, strict=True)}) == 2**SLOTS - 1
