"""Folding equal rows of integers, against counting them one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
from looping import loop_over

from clickgym.common import grouping
from clickgym.common.grouping import fold_rows, group_rows


def test_the_widest_row_that_fits_one_word_is_folded_exactly():
    columns = np.array([[0, 0], [2**32 - 1, 2**32 - 1], [0, 1], [2**32 - 1, 2**32 - 1]])
    first, weight = fold_rows([columns])
    assert (first.tolist(), weight.tolist()) == ([0, 1, 2], [1.0, 2.0, 1.0])


def test_rows_that_differ_in_the_second_word_only_stay_apart():
    columns = np.array([[0, 0, 0], [2**40, 2**40, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0]])
    assert fold_rows([columns])[0].tolist() == [0, 1, 2, 3]


@loop_over("mix", [(0, 0), (1, 0), (2**40, 1)])
def test_rows_whose_hashes_collide_stay_apart(monkeypatch, mix):
    monkeypatch.setattr(grouping, "_MIX", tuple(np.uint64(factor) for factor in mix))
    rng = np.random.default_rng(0)
    columns = [rng.integers(-1, 3, size=(500, 2)), rng.integers(0, 2, size=(500, 3)) == 1]
    rows = np.column_stack(columns).tolist()
    numbers = Counter(map(tuple, rows))
    first, weight = fold_rows(columns)
    assert [tuple(rows[row]) for row in first] == list(dict.fromkeys(map(tuple, rows)))
    assert weight.tolist() == [numbers[tuple(rows[row])] for row in first]
    found, group = group_rows(columns)
    assert [rows[found[number]] for number in group] == rows
    assert len(found) == len(numbers)


@loop_over("dtype", [np.int64, np.uint64])
def test_values_of_any_span_are_folded_exactly(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    rows = np.array([[low, 1], [high, 1], [high - 1, 1], [high, 0], [low, 1], [high, 1]], dtype)
    columns = [rows, np.zeros((6, 1), dtype), rows[:, ::-1]]
    first, weight = fold_rows(columns)
    assert (first.tolist(), weight.tolist()) == ([0, 1, 2, 3], [2.0, 2.0, 1.0, 1.0])
