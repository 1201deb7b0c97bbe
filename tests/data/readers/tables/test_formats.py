"""Formats of real logs, on small files of each kind."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from looping import loop_over

from clickgym.data import BadLog, read_log, read_pyclick, read_sessions

YANDEX_2011 = [
    "1 0 Q q1 r0 u1 u2 u3",
    "1 5 C u2",
    "2 0 Q q1 r1 u1 u2",
    "1 9 Q q1 r0 u3 u4 u1",
    "1 12 C u1",  # on both pages of the session: the latest counts
    "1 13 C u2",  # on the first page only
    "1 14 C u9",  # on none
    "2 3 C u3",  # on a page of another session only
]
YANDEX_2013 = [
    "1 M 12 user5",
    "1 0 Q 0 q1 t1,t2 u1,d1 u2,d1",
    "1 7 C 0 u2",
    "1 20 T 1 q2 t3 u2,d1 u1,d1",
    "1 22 C 0 u1",  # a later click on the first page
    "2 M 13 user6",
    "2 0 Q 0 q1 t1,t2 u3,d2 u1,d1",
    "2 4 C 0 u9",
]


def write_lines(path, lines):
    text = "".join(line.replace(" ", "\t") + "\n" for line in lines)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


@loop_over("name", ["log.txt", "log.gz"])
def test_yandex_2011(name, tmp_path):
    path = write_lines(tmp_path / name, YANDEX_2011)
    with pytest.warns(UserWarning, match=f"{name}: 2 clicks on documents that"):
        world, log = read_log(path, format="yandex-2011")
    assert world.query_ids.tolist() == ["q1_r0", "q1_r1"]
    assert world.doc_ids.tolist() == [["u1", "u2", "u3", "u4"], ["u1", "u2", "", ""]]
    assert log.ranking.tolist() == [[0, 1, 2], [0, 1, -1], [2, 3, 0]]
    assert log.clicks.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert log.extra["session"].tolist() == ["1", "2", "1"]
    assert log.extra["time"].tolist() == [0, 0, 9]


def test_yandex_2011_with_its_grades(tmp_path):
    path = write_lines(tmp_path / "log.txt", YANDEX_2011[:4])
    labels = write_lines(tmp_path / "labels.txt", ["q1 r0 u2 1", "q1 r0 u1 0", "q9 r0 u1 1"])
    options = {"labels": labels, "graded_only": True, "drop_clickless": True, "max_grade": 1}
    world, log = read_log(path, format="yandex-2011", **options)
    assert world.query_ids.tolist() == ["q1_r0"]
    assert world.relevance.tolist() == [[0, 1, -1]]
    assert log.clicks.tolist() == [[0, 1, 0]]


def test_yandex_2013(tmp_path):
    path = write_lines(tmp_path / "train", YANDEX_2013)
    with pytest.warns(UserWarning, match="train: 1 clicks on documents that"):
        world, log = read_log(path, format="yandex-2013", extra="passed")
    assert world.query_ids.tolist() == ["q1", "q2"]
    assert world.doc_ids.tolist() == [["u1", "u2", "u3"], ["u2", "u1", ""]]
    assert log.ranking.tolist() == [[0, 1], [0, 1], [2, 0]]
    assert log.clicks.tolist() == [[1, 1], [0, 0], [0, 0]]
    assert log.extra["user"].tolist() == ["user5", "user5", "user6"]
    assert log.extra["time"].tolist() == [12, 12, 13]
    assert log.extra["passed"].tolist() == [0, 20, 0]


@loop_over(
    ("format", "lines", "error"),
    [
        ("yandex-2011", ["1 0 Q q1 r0 u1", "1 5 X u2"], "line 2: a record of kind 'X'"),
        ("yandex-2011", ["1 0 Q q1 r0 u1", "1 5 C"], "line 2: too few fields for a click"),
        ("yandex-2011", ["1 0 Q q1 r0 u1", "1 5"], "line 2: too few fields for a record"),
        ("yandex-2011", ["1 soon Q q1 r0 u1"], "line 1: the time is 'soon'"),
        ("yandex-2011", ["1 5 C u2"], "no pages in it"),
        ("yandex-2011", ["", ""], "no lines in it"),
        ("yandex-2013", ["1 0 Q 0 q1 t1 u1,d1", "1 M 1 u"], "line 1: a page before its session"),
        ("yandex-2013", ["1 M 12 u", "1 0 Q 0 q1 t1"], "line 2: too few fields for a page"),
        ("pyclick", ["q a,b"], "line 1: a page is not query<TAB>documents : clicks"),
        ("sessions", ["s q [a,b] [0,0] 0,1"], "line 1: the clicks are no list in brackets"),
        ("sessions", ["s q [a,b] [0,0] [0,1]", "s q [a] [0] [0,1]"], "line 2: 1 documents, but 2"),
    ],
)
def test_errors_of_a_format_name_the_line(format, lines, error, tmp_path):
    path = write_lines(tmp_path / "log.txt", lines)
    with pytest.raises(BadLog, match=rf"log\.txt[,:] {error}"):
        read_log(path, format=format)


def test_pyclick_is_what_its_own_reader_gives(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("q1\ta,b,c : b , c;q1\tb,d : \nq2\ta,b : a;\n")
    world, log = read_pyclick(path)
    again = read_log(path, format="pyclick")
    assert again[0].fingerprint == world.fingerprint
    assert again[1].clicks.tolist() == log.clicks.tolist()


def test_sessions_are_what_their_own_reader_gives(tmp_path):
    path, labels = tmp_path / "log.txt", tmp_path / "labels.txt"
    path.write_text("s1\tq1\t[a, b]\t[1, 1]\t[0, 1]\ns2\tq2\t[b]\t[1]\t[0]\n")
    labels.write_text("s1\tq1\t[a, b]\t[1, 1]\t[0, 1]\t[-2, 4]\ns2\tq2\t[b]\t[1]\t[0]\t[-1]\n")
    world, _ = read_sessions(path, labels)
    again = read_log(path, format="sessions", labels=labels)
    assert again[0].fingerprint == world.fingerprint
    assert again[1].extra["session"].tolist() == ["s1", "s2"]
    assert read_log(labels, format="sessions")[0].fingerprint == world.fingerprint


PAGES = {"query_doc_ids": [[5, 3], [9, 8], [3, 4]], "clicks": [[0, 1], [0, 0], [1, 0]]}


def test_clax_finds_queries_by_documents_that_stand_together(tmp_path):
    pq.write_table(pa.table(PAGES), tmp_path / "log.parquet")
    world, log = read_log(tmp_path / "log.parquet", format="clax")
    assert log.query.tolist() == [0, 1, 0]
    assert world.doc_ids.tolist() == [["5", "3", "4"], ["9", "8", ""]]
    assert log.clicks.tolist() == PAGES["clicks"]


def test_clax_with_queries_of_its_own(tmp_path):
    table = pa.table(PAGES | {"query_id": [7, 8, 9], "positions": [[2, 1], [1, 2], [1, 2]]})
    pq.write_table(table, tmp_path / "log.parquet")
    world, log = read_log(tmp_path / "log.parquet", format="clax")
    assert world.query_ids.tolist() == ["7", "8", "9"]
    assert world.doc_ids[0].tolist() == ["3", "5"]
    assert log.clicks.tolist() == [[1, 0], [0, 0], [1, 0]]


def test_baidu_ultr_notices_query_ids_that_collide(tmp_path):
    table = pa.table(
        {
            "query_id": [1, 1, 1, 2],
            "query_md5": ["x", "x", "y", "z"],
            "text_md5": ["a", "b", "a", "a"],
            "position": [1, 2, 1, 1],
            "click": [0, 1, 0, 1],
            "embedding": [np.full(4, n, dtype=np.float16) for n in range(4)],
            "media_type": [3, 4, 3, 3],
        }
    )
    pyarrow.feather.write_feather(table, tmp_path / "part.feather")
    with pytest.warns(UserWarning, match="1 query ids that stand for several queries"):
        world, log = read_log(tmp_path / "part.feather", format="baidu-ultr", features="embedding")
    assert world.query_ids.tolist() == ["x", "y", "z"]
    assert world.features[0].tolist() == [[0] * 4, [1] * 4]
    assert log.clicks.tolist() == [[0, 1], [0, 0], [1, 0]]


def test_open_bandit_rows_are_pages_of_one_slot(tmp_path):
    path = tmp_path / "all.csv"
    path.write_text(
        ",timestamp,item_id,position,click,propensity_score,user_feature_0\n"
        "0,2019-11-24 00:00:01.5+00:00,79,1,0,0.5,ab\n"
        "1,2019-11-24 00:00:02+00:00,7,3,1,0.25,cd\n"
        "2,2019-11-24 00:00:02+00:00,79,3,0,0.125,ab\n"
    )
    world, log = read_log(path, format="open-bandit", extra="user_feature_0")
    assert world.query_ids.tolist() == ["1", "3"]
    assert world.candidates.all()
    assert world.doc_ids.tolist() == [["79", "7"]] * 2
    assert log.ranking.tolist() == [[0], [1], [0]]
    assert log.clicks.tolist() == [[0], [1], [0]]
    np.testing.assert_allclose(np.exp(log.log_propensity), [0.5, 0.25, 0.125])
    assert log.extra["time"][0] == np.datetime64("2019-11-24T00:00:01.5")
    assert log.extra["user_feature_0"].tolist() == ["ab", "cd", "ab"]


@loop_over("format", ["clax", "baidu-ultr", "open-bandit"])
def test_a_column_that_a_format_must_have_is_named(format):
    with pytest.raises(BadLog, match=r"no column '.*which this format has"):
        read_log({"something": [1]}, format=format)


BROKEN = [
    (
        "baidu-ultr", "row 1: the query_md5 is missing",
        {"query_id": [1, 1], "query_md5": ["a", None], "text_md5": ["u", "v"], "position": [1, 2],
         "click": [0, 1]},
    ),
    ("clax", "no page shows a document", {"query_doc_ids": [[], []], "clicks": [[], []]}),
    (
        "clax", "row 1: the document is missing",
        {"query_doc_ids": [[1, 2, 3], [4, None]], "clicks": [[0, 1, 0], [0, 1]]},
    ),
]  # fmt: skip


@loop_over(("format", "said", "table"), BROKEN)
def test_a_broken_table_of_a_format_is_our_own_error(format, said, table):
    with pytest.raises(BadLog, match=f"the table.*{said}"):
        read_log(table, format=format)


def test_a_line_without_grades_loses_those_of_no_other(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("s1\tq1\t[a, b]\t[1, 1]\t[0, 1]\t[2, 4]\ns2\tq1\t[b, c]\t[1, 1]\t[0, 0]\n")
    with pytest.warns(UserWarning, match="1 lines without grades, though others have them"):
        world, _ = read_log(path, format="sessions")
    assert world.relevance.tolist() == [[2, 4, -1]]
