"""Documents of a page in one text: lists in brackets, or split as ``x|y|z`` is."""

from __future__ import annotations

import pytest
from looping import loop_over

from clickgym.data import BadLog, read_log

FLAGS = {"query": ["a", "b", "a"], "docs": ["x|y|z", "x|w", "v"], "clicks": ["0|1|0", "0|0", "1"]}
IDS = {"query": ["a", "b", "a"], "docs": ["x|y|z", "x|w", "v"], "clicks": ["y", None, "v"]}
EXPECTED = [["x", "y", "z"], ["x", "w"], ["v"]]


def pages_of(table, **options):
    """Return for each page its documents and which of them are clicked."""
    world, log = read_log(table, **options)
    shown = log.ranking >= 0
    names = [
        world.doc_ids[query, ranking[there]].tolist()
        for query, ranking, there in zip(log.query, log.ranking, shown, strict=True)
    ]
    return names, [row[there].tolist() for row, there in zip(log.clicks, shown, strict=True)]


@pytest.mark.filterwarnings("error")
@loop_over("separator", ["|", ";", ",", " "])
@loop_over("table", [FLAGS, IDS, IDS | {"clicks": ["y", "", "v"]}])
def test_texts_that_documents_and_clicks_share_a_separator_in_are_lists(separator, table):
    split = {
        name: [value and value.replace("|", separator) for value in values]
        for name, values in table.items()
    }
    assert pages_of(split) == (EXPECTED, [[False, True, False], [False, False], [True]])


def test_the_report_says_which_column_holds_lists():
    assert "The column 'docs' holds lists that '|' splits" in str(read_log(FLAGS).report)


def test_ranks_grades_and_features_are_split_too():
    more = {"rank": ["3|2|1", "1|2", "1"], "grade": ["0|1|2", "0|3", "4"]}
    more["age"] = ["1|2|3", "1|4", "5"]
    world, log = read_log(FLAGS | more, features="age")
    assert world.doc_ids[0, log.ranking[0]].tolist() == ["z", "y", "x"]
    assert world.relevance[0, log.ranking[0]].tolist() == [2, 1, 0]
    assert world.features[0, log.ranking[0], 0].tolist() == [3, 2, 1]


@pytest.mark.filterwarnings("error")
def test_names_with_spaces_are_no_lists():
    table = {"query": ["a", "a"], "doc": ["green tea", "tea 1"], "rank": [1, 2]}
    for clicks in ([1, 0], ["tea 1", "tea 1"], ["green tea", ""], ["yes", "no"]):
        assert pages_of(table | {"click": clicks})[0] == [["green tea", "tea 1"]]


def test_an_empty_separator_takes_each_text_for_one_document():
    table = FLAGS | {"clicks": [1, 0, 1], "rank": [1, 1, 1]}
    assert pages_of(table, list_separator="")[0] == [["x|y|z"], ["x|w"], ["v"]]


def test_a_separator_may_be_given():
    table = IDS | {"docs": ["x::y::z", "x::w", "v"]}
    assert pages_of(table, list_separator="::")[0] == EXPECTED


def test_texts_that_look_like_lists_but_have_one_click_are_refused_or_counted():
    table = {"query": ["a", "b"], "docs": ["x|y|z", "u|v|w"], "clicks": [1, 0]}
    with pytest.raises(BadLog, match=r"the column 'docs' seems .* 'x\|y\|z'.*list_separator='\|'"):
        read_log(table)
    with pytest.warns(UserWarning, match="2 rows whose document looks like a list"):
        read_log(table | {"rank": [1, 1]})


def test_a_separator_is_for_texts():
    with pytest.raises(BadLog, match="list_separator= splits texts, but the column 'docs' has"):
        read_log({"query": ["a"], "docs": [["x", "y"]], "clicks": [[0, 1]]}, list_separator="|")


@pytest.mark.filterwarnings("error")
@loop_over(
    ("docs", "clicks"),
    [
        (['["x","y"]', '["z"]'], ["[0,1]", "[1]"]),
        (["['x', 'y']", "['z']"], ["[False, True]", "[True]"]),
        (["['x' 'y']", "['z']"], ["[0. 1.]", "[1.]"]),
        (["('x', 'y')", "('z',)"], ["(0, 1)", "(1,)"]),
        (["{x,y}", "{z}"], ["{f,t}", "{t}"]),
        (["[x, y]", "[z]"], ["[0.0, 1.0]", "[1.0]"]),
        (["[x, y]", "[z]"], ["y", "z"]),
    ],
)
def test_lists_in_brackets_are_read_as_people_write_them(docs, clicks):
    table = {"query": ["a", "b"], "docs": docs, "clicks": clicks}
    assert pages_of(table) == ([["x", "y"], ["z"]], [[False, True], [True]])


def test_one_clicked_number_per_page_is_an_id():
    table = {"query": ["a", "b"], "docs": [[11, 12], [13, 14]], "clicks": [12, None]}
    assert pages_of(table)[1] == [[False, True], [False, False]]


def test_one_flag_for_a_whole_page_of_several_documents_is_an_error():
    table = {"query": ["a", "b"], "docs": [[11, 12], [13, 14]], "clicks": [1, 0]}
    with pytest.raises(BadLog, match="must be lists, or ids of the clicked documents, not one int"):
        read_log(table)


def test_an_empty_text_among_lists_is_an_empty_page():
    table = {"query": list("abc"), "docs": ['["x"]', "", None], "clicks": ["[1]", "", None]}
    with pytest.warns(UserWarning, match="2 pages without a document"):
        assert pages_of(table) == ([["x"]], [[True]])


def test_a_list_that_is_cut_off_is_an_error_with_its_line(tmp_path):
    path = tmp_path / "cut.csv"
    row = 'a,"[x, y]","[0, 1]"\n'
    path.write_text(f"query,docs,clicks\n{row}{row}{row.replace('y]', 'z')}")
    with pytest.raises(BadLog, match=r"cut\.csv, line 4: .*'\[x, z' is no list in brackets"):
        read_log(path)


@pytest.mark.filterwarnings("ignore:.*clicks that are missing")
def test_an_empty_flag_keeps_its_place():
    table = {"query": ["a", "b"], "docs": ["1|2|3", "3|1|2"], "clicks": ["|1|", "1||0"]}
    found = read_log(table)
    assert found[1].clicks.tolist() == [[False, True, False], [True, False, False]]
    assert found.report.oddities == {"missing_clicks": 3}


@pytest.mark.filterwarnings("error")
def test_empty_pieces_beside_ids_of_clicked_documents_are_none():
    table = {"query": ["a", "b"], "docs": ["u|v|w", "w|u|v"], "clicks": ["|v|", ""]}
    assert pages_of(table, list_separator="|")[1] == [[False, True, False], [False, False, False]]


@pytest.mark.filterwarnings("error")
def test_an_empty_grade_in_a_split_text_is_not_judged():
    table = {"query": ["a"], "docs": ["x|y|z"], "clicks": ["0|1|0"], "grade": ["3||1"]}
    assert read_log(table)[0].relevance.tolist() == [[3, -1, 1]]


@pytest.mark.filterwarnings("ignore:.*clicks that are missing")
@loop_over("clicks", [[[0, 1], None], ["[0, 1]", ""], ["[0, 1]", None], ["0|1", ""]])
def test_a_page_without_flags_has_no_click(clicks):
    docs = ["x|y", "x|z"] if clicks[0] == "0|1" else [["x", "y"], ["x", "z"]]
    options = {"list_separator": "|"} if clicks[0] == "0|1" else {}
    found = read_log({"query": ["a", "b"], "docs": docs, "clicks": clicks}, **options)
    assert found[1].clicks.tolist() == [[False, True], [False, False]]
    assert found.report.oddities == {"missing_clicks": 2}


@pytest.mark.filterwarnings("error")
def test_numbers_beside_pages_without_any_are_ids():
    table = {"query": ["a", "b"], "docs": [[17], [18]], "clicks": [[17], None]}
    assert pages_of(table)[1] == [[True], [False]]


def test_null_instead_of_flags_in_json_lines_is_no_click(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = ('"docs": ["x", "y"], "clicks": [0, 1]', '"docs": ["y", "z"], "clicks": null')
    path.write_text("".join(f'{{"query": "a", {row}}}\n' for row in rows))
    with pytest.warns(UserWarning, match="2 clicks that are missing"):
        assert read_log(path)[1].clicks.tolist() == [[False, True], [False, False]]


@loop_over("clicks", ["[,1,]", "[0,,1]"])
def test_a_gap_in_a_list_in_brackets_is_an_error(clicks):
    with pytest.raises(BadLog, match="row 0: nothing stands between two commas of the click"):
        read_log({"query": ["a"], "docs": ["[1,2,3]"], "clicks": [clicks]})
