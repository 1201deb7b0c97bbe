"""Columns of one's own stay with a log, and logs are split by them."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over

from clickgym.data import ClickLog

N = 100


def make_log(n=N, **more):
    rng = np.random.default_rng(0)
    extra = {
        "user": np.array([f"u{number}" for number in rng.integers(0, 12, n)]),
        "time": rng.permutation(n) + 1_700_000_000,
        "date": rng.integers(0, 9, n).astype("M8[D]").astype("M8[us]"),
        "score": rng.random(n),
        "new": rng.random(n) < 0.5,
    }
    ranking = np.tile(np.arange(3), (n, 1))
    return ClickLog(rng.integers(0, 4, n), ranking, rng.random((n, 3)) < 0.3, extra=extra | more)


def assert_has_rows(part, log, rows):
    for name, values in log.extra.items():
        np.testing.assert_array_equal(part.extra[name], values[rows])


@loop_over("rows", [slice(3, 20, 2), [5, 1, 5], np.arange(N) % 3 == 0])
def test_chosen_rows_keep_their_columns(rows):
    log = make_log()
    assert_has_rows(log[rows], log, rows)


def test_a_random_split_keeps_the_columns():
    log = make_log()
    for part in log.split((0.5, 0.5), seed=1):
        rows = np.flatnonzero(np.isin(log.extra["time"], part.extra["time"]))
        assert_has_rows(part, log, rows)


def test_columns_survive_a_file(tmp_path):
    log = make_log()
    log.save(tmp_path / "log.parquet")
    again = ClickLog.load(tmp_path / "log.parquet")
    assert list(again.extra) == list(log.extra)
    assert_has_rows(again, log, slice(None))
    for name, values in log.extra.items():
        assert again.extra[name].dtype == values.dtype, name


def test_compress_drops_columns_and_says_so():
    with pytest.warns(UserWarning, match="compress drops the log's columns user, time"):
        folded = make_log().compress()
    assert folded.extra == {}
    assert folded.impressions == N


def test_columns_are_read_only():
    log = make_log()
    with pytest.raises(ValueError, match="read-only"):
        log.extra["score"][0] = 1
    with pytest.raises(TypeError):
        log.extra["new column"] = np.zeros(N)


@loop_over("value", [np.zeros(3), np.zeros((N, 2)), np.zeros(N, "c8"), 3.0])
def test_a_column_of_another_shape_or_kind_is_an_error(value):
    with pytest.raises(ValueError, match=r"extra\['wrong'\]"):
        make_log(wrong=value)


# split_by


def test_the_earliest_rows_come_first():
    train, test = make_log().split_by("time", (0.8, 0.2))
    assert (len(train), len(test)) == (80, 20)
    assert train.extra["time"].max() < test.extra["time"].min()


@loop_over("name", ["user", "new"])
def test_groups_are_never_split(name):
    log = make_log()
    parts = log.split_by(name, (0.5, 0.3, 0.2), seed=3)
    assert sum(len(part) for part in parts) == N
    values = [value for part in parts for value in np.unique(part.extra[name])]
    assert len(values) == len(np.unique(log.extra[name]))


def test_parts_are_as_large_as_groups_allow():
    log = make_log()
    one = log.split_by("user", (0.7, 0.3), seed=0)[0]
    largest = np.unique(log.extra["user"], return_counts=True)[1].max()
    assert abs(len(one) - 70) <= largest / 2


def test_the_seed_draws_the_groups():
    log = make_log()
    first = [
        set(log.split_by("user", (0.5, 0.5), seed=seed)[0].extra["user"]) for seed in (0, 0, 1)
    ]
    assert first[0] == first[1] != first[2]


def test_rows_of_equal_time_stay_together():
    log = make_log(time=np.repeat([3, 1], [10, 90]))
    early, late = log.split_by("time", (0.5, 0.5))
    assert (len(early), len(late)) == (90, 10)


def test_an_unknown_column_is_an_error_that_lists_the_others():
    with pytest.raises(ValueError, match="no column 'session' to split by; it has user, time"):
        make_log().split_by("session", (0.5, 0.5))


def test_times_without_an_order_are_an_error():
    with pytest.raises(ValueError, match="times are text such as 'soon'"):
        make_log(time=np.array(["soon"] * N)).split_by("time", (0.5, 0.5))
    times = np.arange(N).astype("M8[s]")
    times[1] = "NaT"
    with pytest.raises(ValueError, match="row 1 has no time"):
        make_log(time=times).split_by("time", (0.5, 0.5))
