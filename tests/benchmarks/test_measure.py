"""What the benchmarks share, and the comparison of two trees; nothing here depends on time."""

from __future__ import annotations

import _measure as measure
import pytest
from looping import loop_over
from speed import against


def test_works_are_timed_in_turn():
    calls = []
    works = {name: (lambda name=name: calls.append(name)) for name in "ab"}
    assert set(measure.time_in_turn(works, rounds=3)) == {"a", "b"}
    assert calls == ["a", "b"] * 3


def test_rows_survive_a_file(tmp_path):
    rows = [measure.Row("fit", 0.5, "s"), measure.Row("pages", 2e6, "1/s")]
    measure.save_rows(tmp_path / "a" / "rows.json", rows)
    assert measure.load_rows(tmp_path / "a" / "rows.json") == rows


@loop_over(
    ("value", "bar", "unit", "expected"),
    [
        (3.0, None, "", ""), (3.0, 0.0, "", ""), (2e6, 1.5e6, "", "1,500,000 met"),
        (1e6, 1.5e6, "samples/s", "1,500,000 samples/s MISSED"), (0.1, 0.2, "seconds",
        "0.2 seconds met"), (0.3, 0.2, "seconds", "0.2 seconds MISSED"),
    ],
)  # fmt: skip
def test_a_bar_is_met_or_missed(value, bar, unit, expected):
    assert measure.judge(value, bar, unit) == expected


def test_a_name_is_found_wherever_it_lies():
    assert measure.find("data", "read_pyclick").__name__ == "read_pyclick"
    with pytest.raises(LookupError, match=r"clickgym\.data has no nothing_like_it"):
        measure.find("data", "nothing_like_it")


def rows(seconds, rate):
    return [measure.Row("fit", seconds, "s"), measure.Row("pages", rate, "1/s")]


def test_trees_are_compared_by_the_median_ratio_of_speeds():
    old = [rows(1.0, 10.0), rows(2.0, 20.0), rows(1.0, 10.0)]
    new = [rows(0.5, 20.0), rows(2.0, 20.0), rows(0.5, 20.0)]
    (fit, new_fit, faster), (_, _, more) = against.compare(old, new)
    assert (fit.value, new_fit.value, faster, more) == (1.0, 0.5, 2.0, 2.0)


def test_rows_of_different_benchmarks_are_not_compared():
    with pytest.raises(ValueError, match="rows differ: fit beside pages"):
        against.compare([rows(1.0, 1.0)], [rows(1.0, 1.0)[::-1]])
