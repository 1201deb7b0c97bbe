"""Logs as the tools that people have export them."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from looping import loop_over

from clickgym.data import BadLog, read_log

DAY = datetime.datetime(2024, 5, 1)
PLAIN = {
    "query": ["a", "a", "b", "b"],
    "doc": ["u", "v", "u", "w"],
    "rank": [1, 2, 1, 2],
    "click": [0, 1, 0, 0],
}
NESTED = [
    {"search_term": "a", "items": [{"item_id": "v", "item_list_index": 2, "clicked": True},
                                   {"item_id": "u", "item_list_index": 1, "clicked": False}]},
    {"search_term": "b", "items": None},
    {"search_term": "b", "items": [{"item_id": "u", "item_list_index": 1, "clicked": False}]},
]  # fmt: skip


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_lists_of_records_are_read_by_their_fields(tmp_path):
    table = pa.Table.from_pylist(NESTED)
    pyarrow.parquet.write_table(table, tmp_path / "log.parquet")
    sources = [table, write_rows(tmp_path / "log.json", NESTED)]
    sources += [tmp_path / "log.parquet", pa.concat_tables([table.slice(0, 1), table.slice(1)])]
    for source in sources:
        with pytest.warns(UserWarning, match="1 pages without a document"):
            world, log = read_log(source)
        assert world.doc_ids[0, log.ranking[0]].tolist() == ["u", "v"]
        assert log.clicks.tolist() == [[False, True], [False, False]]


def test_a_record_in_a_column_is_read_by_its_fields():
    rows = [{"search": {"query": q, "rank": r}, "doc": d, "click": c}
            for q, d, r, c in zip(*PLAIN.values(), strict=True)]  # fmt: skip
    found = read_log(pa.Table.from_pylist(rows))
    assert "query=search.query (guessed)" in str(found.report)
    assert found[0].fingerprint == read_log(PLAIN)[0].fingerprint


def test_ids_that_look_like_dates_inside_records_stay_as_they_are(tmp_path):
    rows = [{"query": "a", "items": [{"doc": "2024-05-01", "click": 1}]}]
    world, _ = read_log(write_rows(tmp_path / "log.jsonl", rows))
    assert world.doc_ids.tolist() == [["2024-05-01"]]


def test_a_field_and_a_column_of_one_name_are_an_error():
    table = pa.table({"a": [{"doc": "u"}], "a.doc": ["u"], "query": ["q"], "click": [0]})
    with pytest.raises(BadLog, match=r"two columns are called 'a\.doc'"):
        read_log(table)


@pytest.mark.filterwarnings("error")
@loop_over(
    "clicks",
    [
        ["False", "True", "False", "False"],
        ["impression", "click", "impression", "impression"],
        ["0.0", "1.0", "0.0", "0"],
        ["0", "2.0", "0", "0"],
        [0.0, 12.5, 0.0, 0.0],
        [None, DAY, None, None],
        ["", "v", "", ""],
    ],
)
def test_clicks_are_read_as_tools_write_them(clicks):
    assert read_log(PLAIN | {"click": clicks})[1].clicks.tolist() == [[False, True], [False] * 2]


@loop_over(
    ("clicks", "example"),
    [
        (["0", "1,500", "0", "0"], "'1,500'"),
        (["", "2024-05-01 10:07", "", ""], "'2024-05-01 10:07'"),
        ([2, 2, 7, 7], "'2', '7'"),
    ],
)
def test_clicks_that_fit_nothing_are_an_error_with_examples(clicks, example):
    with pytest.raises(BadLog, match=rf"the clicks, such as .*{example}.*neither flags nor counts"):
        read_log(PLAIN | {"click": clicks})


def write_clicks(path, clicks, documents="uvw"):
    lines = [
        f"q,{documents[row % len(documents)]},{row % 2 + 1},{click}"
        for row, click in enumerate(clicks)
    ]
    path.write_text("\n".join(["query,doc,rank,click", *lines]) + "\n")
    return path


@loop_over("others", ["01", ["no", "yes"], "03"])
def test_a_bad_click_names_its_file_and_line_and_gives_no_advice_about_columns(others, tmp_path):
    clicks = [others[row % 2] for row in range(60)]
    clicks[48] = "maybe"
    path = write_clicks(tmp_path / "clicks.csv", clicks)
    with pytest.raises(BadLog, match=r"clicks\.csv, line 50: the clicks, such as 'maybe'") as error:
        read_log(path)
    assert "guessed" not in str(error.value)


@loop_over(
    ("clicks", "clicked"),
    [(["0", "v", "0", "0"], 1), (["0", "0", "0", "w|u"], 2), (["0", "z", "0", "u"], 1)],
)
def test_ids_among_zeros_are_clicks_on_those_documents(clicks, clicked, tmp_path):
    with pytest.warns(UserWarning, match="clicks on documents that their page does not show"):
        _, log = read_log(write_clicks(tmp_path / "clicks.csv", clicks))
    assert log.clicks.sum() == clicked


def test_a_row_for_the_click_is_joined_with_that_of_the_impression():
    events = {
        "page": [1, 1, 1, 2, 2], "query": list("aaabb"), "doc": list("uvvuw"),
        "rank": [1, 2, 2, 1, 2], "price": [1, 2, 3, 1, 4],
        "event": ["impression", "impression", "click", "impression", "impression"],
    }  # fmt: skip
    with pytest.warns(UserWarning, match="1 rows that repeat the page, rank and document"):
        world, log = read_log(events, features="price")
    assert world.doc_ids[0, log.ranking[0]].tolist() == ["u", "v"]
    assert world.features[0, :, 0].tolist() == [1, 2]
    assert log.clicks.tolist() == [[False, True], [False, False]]


@pytest.mark.filterwarnings("error")
def test_more_than_one_click_on_a_document_is_shown_but_not_odd():
    report = read_log(PLAIN | {"click": [0, 3, 0, 0]}).report
    assert report.oddities == {"multiple_clicks": 1}
    assert "documents clicked more than once" in str(report)


def test_users_without_an_id_in_a_column_of_floats_are_no_error():
    _, log = read_log(PLAIN | {"user_id": [7.0, 7.0, np.nan, np.nan]})
    assert log.extra["user"].tolist() == ["7", ""]


@loop_over(
    "texts",
    [
        ["2024-05-01 10:00:00.5 UTC"] * 2 + ["2024-05-02 10:00:00 UTC"] * 2,
        ["2024-05-01T10:00:00.5Z"] * 2 + ["2024-05-02T10:00:00Z"] * 2,
        ["2024-05-01 10:00:00.5"] * 2 + ["2024-05-02 10:00:00"] * 2,
        ["2024-05-01T12:00:00.5+02:00"] * 2 + ["2024-05-02T10:00:00+00:00"] * 2,
    ],
)
def test_dates_are_read_as_databases_write_them(texts):
    expected = np.array(["2024-05-01T10:00:00.5", "2024-05-02T10:00:00"], dtype="datetime64[us]")
    np.testing.assert_array_equal(read_log(PLAIN | {"time": texts})[1].extra["time"], expected)


def test_a_time_that_is_missing_among_texts_is_none():
    _, log = read_log(PLAIN | {"time": ["2024-05-01 10:00 UTC"] * 2 + [None] * 2})
    assert np.isnat(log.extra["time"]).tolist() == [False, True]


def test_nulls_of_databases_and_of_python_are_empty_values(tmp_path):
    path = tmp_path / "log.tsv"
    for null in (r"\N", "None", "<NA>", "NULL", ""):
        path.write_text(f"query\tdoc\trank\tclick\tgrade\na\tu\t1\t{null}\t{null}\na\tv\t2\t1\t3\n")
        with pytest.warns(UserWarning, match="1 clicks that are missing"):
            world, log = read_log(path)
        assert world.relevance.tolist() == [[-1, 3]]
        assert log.clicks.tolist() == [[False, True]]


def test_microseconds_written_as_text_are_times():
    _, log = read_log(PLAIN | {"event_timestamp": ["20", "20", "3", "3"]})
    assert log.extra["time"].tolist() == [20, 3]


def test_times_without_an_order_are_pointed_out():
    report = read_log(PLAIN | {"time": ["31.05.2024"] * 4}).report
    assert "Times are texts such as '31.05.2024', which have no order in time" in str(report)
    assert "Times" not in str(read_log(PLAIN | {"time": ["2024-05-31"] * 4}).report)


@loop_over("head", ["1,0.5,7,8\n", "# made by a tool\n", "sep=;\n"])
def test_a_file_without_a_header_is_asked_about_it(tmp_path, head):
    path = tmp_path / "log.csv"
    path.write_text(head + "a,u,1,0\n")
    with pytest.raises(BadLog, match="does its first line name the columns"):
        read_log(path)


def test_columns_that_are_not_read_are_listed():
    report = read_log(PLAIN | {"country": list("abcd"), "title": list("abcd")}).report
    assert report.unused == ("country", "title")
    assert "columns not read" in str(report)


def test_the_index_of_a_pandas_frame_is_no_column_to_speak_of():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(PLAIN | {"country": "nl"}, index=[3, 5, 8, 9])
    assert read_log(frame).report.unused == ("country",)


def test_a_frame_with_values_of_several_kinds_says_which_column():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(PLAIN | {"doc": np.array(["u", 7, "u", "w"], dtype=object)})
    with pytest.raises(BadLog, match=r"column doc .*\.astype\(str\)"):
        read_log(frame)


def test_a_lazy_frame_is_to_be_collected():
    polars = pytest.importorskip("polars")
    with pytest.raises(BadLog, match=r"not from a LazyFrame; collect\(\) makes a frame of it"):
        read_log(polars.DataFrame(PLAIN).lazy())
