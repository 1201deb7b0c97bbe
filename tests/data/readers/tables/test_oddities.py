"""What is odd is counted, reported and warned of; strict refuses it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from looping import loop_over

from clickgym.data import BadLog, read_log

PLAIN = {
    "query": ["a", "a", "b", "b"],
    "doc": ["u", "v", "u", "w"],
    "rank": [1, 2, 1, 2],
    "click": [0, 1, 0, 0],
}
CLICKED = {"query": ["a", "b"], "docs": [["u", "v"], ["u", "w"]], "clicks": [["v", "x"], ["v"]]}
MIXED = {name: [*values, values[0]] for name, values in PLAIN.items()}
MANY = {
    "query": ["a"] * 203,
    "doc": [f"d{n}" for n in range(203)],
    "rank": [1] * 200 + [1, 2, 3],
    "click": [1] + [0] * 202,
}
SESSIONS = {"query": ["a"] * 4, "doc": list("uvwx"), "click": [0, 1, 0, 0]}
EVEN = {name: values * 10 for name, values in PLAIN.items()}
SHARED = {
    "query": ["a"] * 5, "doc": list("uvuvx"), "rank": [1, 2, 1, 2, 1], "click": [0, 1, 0, 0, 0],
    "request_id": [7, 7, 7, 7, 8], "session": list("ssttt"),
}  # fmt: skip
CASES = [
    ("clicks_not_shown", 2, CLICKED),
    ("missing_clicks", 1, PLAIN | {"click": [0, 1, None, 0]}),
    ("repeated_documents", 1, PLAIN | {"doc": ["u", "v", "w", "w"]}),
    ("rank_gaps", 1, PLAIN | {"rank": [1, 2, 1, 4]}),
    ("late_pages", 1, PLAIN | {"rank": [2, 3, 1, 2]}),
    ("late_pages", 1, PLAIN | {"rank": [0, 1, 1, 2]}),
    ("late_pages", 2, PLAIN | {"rank": [2, 3, 2, 3]}),
    ("late_pages", 2, PLAIN | {"rank": [11, 12, 11, 12], "page": [1, 1, 2, 2]}),
    ("page_pieces", 2, PLAIN | {"query": list("abab"), "rank": [1, 1, 2, 2]}),
    ("page_pieces", 2, SESSIONS | {"session": list("stst"), "rank": [1, 1, 2, 2]}),
    ("page_pieces", 2, SESSIONS | {"session": list("stst")}),
    ("repeated_queries", 1, SESSIONS | {"doc": list("uvuv"), "session": list("ssss")}),
    ("rank_ties", 1, PLAIN | {"rank": [1, 1, 1, 2], "page": [1, 1, 2, 2]}),
    ("mixed_pages", 1, {**MIXED, "page": [7, 7, 7, 7, 8]}),
    ("shared_pages", 1, SHARED),
    ("similar_queries", 1, PLAIN | {"query": ["a b", "a b", "A  B", "A  B"]}),
    ("similar_documents", 2, PLAIN | {"doc": ["u", "U", "u ", "w"]}),
    ("similar_documents", 1, PLAIN | {"doc": ["green tea", "green\u00a0tea", "x", "y"]}),
    ("similar_documents", 1, PLAIN | {"doc": ["tea", "\ufefftea", "x", "y"]}),
    ("similar_documents", 1, PLAIN | {"doc": ["Straße", "STRASSE", "x", "Σ"]}),
    ("zero_propensities", 1, PLAIN | {"propensity": [0.5, 0.5, 0.0, 0.0]}),
    ("tiny_propensities", 1, PLAIN | {"propensity": [0.5, 0.5, 1e-7, 1e-7]}),
    ("long_pages", 1, MANY),
    ("repeated_rows", 1, {**MIXED, "page": [7, 7, 8, 8, 7]}),
    ("summed_clicks", 1, PLAIN | {"click": [0, 30, 0, 0]}),
    ("summed_rows", 3, PLAIN | {"impressions": [5, 1, 100, 7]}),
    ("weight_conflicts", 1, PLAIN | {"weight": [5, 100, 2, 2]}),
    ("all_clicked", 40, EVEN | {"click": [1] * 40}),
    ("none_clicked", 40, EVEN | {"click": [0] * 40}),
    ("empty_pages", 1, CLICKED | {"docs": [["u", "v"], []], "clicks": [["v"], []]}),
    ("grade_conflicts", 1, PLAIN | {"query": ["a"] * 4, "grade": [3, 1, 2, 1]}),
]


@loop_over(("name", "count", "table"), CASES)
def test_an_oddity_is_counted_and_warned_of(name, count, table):
    with pytest.warns(UserWarning, match=f"the table: {count} "):
        report = read_log(table).report
    assert report.oddities == {name: count}


@loop_over(("name", "count", "table"), CASES)
def test_strict_refuses_an_oddity(name, count, table):
    with pytest.raises(BadLog, match=rf"the table: {count} .*strict=True"):
        read_log(table, strict=True)


@pytest.mark.filterwarnings("error")
def test_nothing_is_odd_about_a_plain_log():
    assert read_log(PLAIN, strict=True).report.oddities == {}


SUMS = PLAIN | {"click": [0, 8, 3, 1], "impressions": [90, 80, 70, 60]}


def test_sums_of_clicks_beside_impressions_are_refused():
    with pytest.raises(BadLog, match=r"2 documents have two clicks or more beside .*'impressions'"):
        read_log(SUMS)


@loop_over("weight", ["", "impressions"])
def test_sums_are_counted_where_the_weight_is_given(weight):
    with pytest.warns(UserWarning, match="the table: .*2 documents with ten clicks or more .* or "):
        report = read_log(SUMS, weight=weight).report
    assert report.oddities["summed_clicks"] == 2
    assert "multiple_clicks" not in report.oddities


def test_features_that_differ_are_counted():
    table = PLAIN | {"query": ["a"] * 4, "length": [1.0, 2.0, 3.0, 4.0]}
    with pytest.warns(UserWarning, match="1 documents with different features"):
        world, _ = read_log(table, features="length")
    assert world.features[0, :, 0].tolist() == [1, 2, 4]


def test_sessions_that_stand_mixed_are_said_to_be_why_a_document_is_twice_on_a_page():
    table = PLAIN | {"query": ["a"] * 4, "doc": list("uvvu"), "rank": [1, 1, 2, 2]}
    with pytest.warns(UserWarning, match="several sessions stand mixed.*give session=…, user="):
        report = read_log(table).report
    assert report.oddities == {"late_pages": 1, "mixed_sessions": 1}


@pytest.mark.filterwarnings("error")
def test_rows_that_interleave_are_put_together_by_page_ids():
    table = {"query": list("abab"), "doc": list("uuvw"), "rank": [1, 1, 2, 2], "click": [0] * 4}
    world, _ = read_log(table | {"page": list("1212")})
    assert world.doc_ids.tolist() == [["u", "v"], ["u", "w"]]


@pytest.mark.filterwarnings("error")
def test_a_session_that_comes_back_to_a_query_is_no_piece_of_its_first_page():
    for ranks in ({}, {"rank": [1, 2, 1, 1, 2]}):
        table = {"query": list("aabaa"), "doc": list("uvwvu"), "click": [0] * 5} | ranks
        assert len(read_log(table | {"session": list("sssss")})[1]) == 3


def test_the_report_says_at_which_rank_late_pages_begin():
    with pytest.warns(UserWarning, match="2 pages that begin below the first rank"):
        report = read_log(PLAIN | {"rank": [2, 3, 2, 3]}).report
    assert "Pages that begin at rank 2 are read as if they began at the first slot." in str(report)


def test_pages_that_could_never_be_shown_are_dropped():
    with pytest.warns(UserWarning, match="propensity of 0"):
        _, log = read_log(PLAIN | {"propensity": [0.5, 0.5, 0.0, 0.0]})
    assert len(log) == 1


def test_the_most_frequent_grade_is_taken_and_the_highest_of_equals():
    table = {"query": ["a"] * 5, "doc": list("uuuvv"), "page": list("12312")}
    table |= {"grade": [1, 3, 1, 2, 4], "click": [0] * 5}
    with pytest.warns(UserWarning, match="2 documents with different grades"):
        world, _ = read_log(table)
    assert world.relevance.tolist() == [[1, 4]]


def test_the_report_is_a_short_table():
    with pytest.warns(UserWarning, match="does not show"):
        report = read_log(CLICKED).report
    lines = str(report).splitlines()
    found = {line.rsplit("  ", 1)[0].strip(): line.rsplit("  ", 1)[1] for line in lines}
    assert found["pages"] == "2"
    assert found["clicks"] == "1"
    assert found["clicks on documents that their page does not show (dropped)"] == "2"
    assert "query=query (guessed)" in str(report)
    assert len(lines) < 15


def test_oddities_of_a_frame_and_a_file_are_said_to_be_theirs(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("query,doc,rank,click\na,u,1,0\na,u,2,1\n")
    with pytest.warns(UserWarning, match=r"odd\.csv: 1 pages that show a document twice"):
        read_log(path)
    with pytest.warns(UserWarning, match=r"the table: 1 pages that show a document twice"):
        read_log(pa.table({"query": ["a"] * 2, "doc": ["u"] * 2, "rank": [1, 2], "click": [0, 1]}))
