"""Options of read_log: grades, pages to leave out, catalogues, extra columns, memory."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over

from clickgym.common import memory
from clickgym.data import BadLog, read_log

PLAIN = {
    "query": ["a", "a", "b", "b", "a"],
    "doc": ["u", "v", "u", "w", "v"],
    "rank": [1, 2, 1, 2, 1],
    "click": [0, 1, 0, 0, 0],
}
LABELS = {"query": ["a", "a", "c"], "doc": ["v", "x", "v"], "grade": [3, 1, 2]}


# Seed 000, section 4


def test_only_graded_queries_are_kept():
    found = read_log(PLAIN | {"grade": [None, 2, None, None, 2]}, graded_only=True)
    assert found[0].query_ids.tolist() == ["a"]
    assert found[0].relevance.tolist() == [[-1, 2]]
    assert found.report.oddities == {"ungraded_pages": 1}


def test_pages_without_a_click_are_dropped():
    found = read_log(PLAIN, drop_clickless=True)
    assert found[1].clicks.tolist() == [[0, 1]]
    assert found.report.oddities == {"clickless_pages": 2}


def test_sessions_are_split_into_pages():
    session = {"session": ["s"] * 5, "time": [1, 1, 2, 2, 3]}
    _, log = read_log(PLAIN | session)
    assert log.query.tolist() == [0, 1, 0]
    assert log.extra["session"].tolist() == ["s"] * 3
    assert log.extra["time"].tolist() == [1, 2, 3]


def test_a_log_is_split_by_time():
    n = 30
    time = np.random.default_rng(0).permutation(n)
    table = {"query": ["a"] * n, "doc": ["u"] * n, "rank": [1] * n, "click": [0, 1] * 15}
    _, log = read_log(table | {"time": time})
    train, validation, test = log.split_by("time", (28 / 30, 1 / 30, 1 / 30))
    assert train.extra["time"].max() < validation.extra["time"].min()
    assert validation.extra["time"].max() < test.extra["time"].min()
    assert (len(train), len(validation), len(test)) == (28, 1, 1)


def test_nothing_left_is_an_error():
    with pytest.raises(BadLog, match="no pages are left"):
        read_log(PLAIN | {"click": [0] * 5}, drop_clickless=True)


# Grades from elsewhere


def test_grades_come_from_labels():
    found = read_log(PLAIN, labels=LABELS)
    assert found[0].relevance.tolist() == [[-1, 3], [-1, -1]]
    assert found.report.oddities == {"unknown_labels": 2}


def test_labels_say_which_queries_are_graded():
    world, log = read_log(PLAIN, labels=LABELS, graded_only=True)
    assert world.query_ids.tolist() == ["a"]
    assert len(log) == 2


def test_a_grade_outside_is_an_error_that_names_the_argument():
    with pytest.raises(BadLog, match=r"a grade of 5, outside -1\.\.4 \(grade=\"\" .*max_grade=…"):
        read_log(PLAIN, labels=LABELS | {"grade": [5, 0, 0]})
    assert read_log(PLAIN, labels=LABELS | {"grade": [5, 0, 0]}, max_grade=5)[0].max_grade == 5


# One catalogue for all queries


def test_every_document_of_a_catalogue_is_a_candidate_of_every_query():
    table = PLAIN | {"length": [1.0, 2, 1, 3, 2]}
    world, log = read_log(table, catalogue=True, features="length")
    assert world.candidates.all()
    assert world.doc_ids.tolist() == [["u", "v", "w"]] * 2
    assert log.ranking.tolist() == [[0, 1], [0, 2], [1, -1]]
    assert world.features[..., 0].tolist() == [[1, 2, 3]] * 2


# Extra columns


def test_columns_stay_with_the_log():
    more = {
        "device": ["phone", "phone", "desk", "desk", None], "temperature": [1.5, 1.5, 2, 2, 3],
        "new": [True, True, False, False, True], "timestamp": np.arange(5).astype("M8[D]"),
    }  # fmt: skip
    _, log = read_log(PLAIN | more, extra=["device", "temperature", "new"])
    assert log.extra["device"].tolist() == ["phone", "desk", ""]
    assert log.extra["temperature"].tolist() == [1.5, 2.0, 3.0]
    assert log.extra["new"].tolist() == [True, False, True]
    assert log.extra["time"].dtype == "M8[us]"
    assert log.extra["time"].astype("M8[D]").astype(int).tolist() == [0, 2, 4]


@loop_over(
    ("given", "what"),
    [
        ({"format": "excel"}, "format"),
        ({"propensity_of": "session"}, "propensity_of"),
        ({"slots": 0}, "slots"),
        ({"max_grade": 0}, "max_grade"),
    ],
)
def test_a_wrong_option_is_named(given, what):
    with pytest.raises(ValueError, match=what):
        read_log(PLAIN, **given)


# Memory


def test_a_world_that_would_not_fit_is_refused_before_it_is_made(monkeypatch):
    n = 2000
    table = {"query": np.arange(n), "doc": np.zeros(n), "rank": np.ones(n), "click": np.zeros(n)}
    table["query"][:1000] = 0
    table["doc"][:1000] = np.arange(1000)
    monkeypatch.setattr(memory, "available_memory", lambda: 1e7)
    with pytest.raises(MemoryError, match=r"1,001 queries, .* 1,000 .* 0\.015 GiB.*fewer slots"):
        read_log(table)


@loop_over("name", ["log.csv", "log.parquet", "log.feather", "log.jsonl"])
def test_a_file_that_would_not_fit_is_refused_before_it_is_read(name, tmp_path, monkeypatch):
    import polars as pl

    frame = pl.DataFrame({"query": ["a" * 500], "doc": ["b"], "rank": [1], "click": [0]})
    path = tmp_path / name
    writers = {"csv": "csv", "parquet": "parquet", "feather": "ipc", "jsonl": "ndjson"}
    getattr(frame, f"write_{writers[name.split('.')[1]]}")(path)
    monkeypatch.setattr(memory, "available_memory", lambda: 100.0)
    with pytest.raises(MemoryError, match=rf"{name}: about .* GiB more memory needed"):
        read_log(path)
