"""CSV, TSV and JSON lines as people write them; errors name the file and the line."""

from __future__ import annotations

import gzip

import pytest
from looping import loop_over

from clickgym.data import BadLog, read_log

HEADER = "query,doc,rank,click\n"
ROWS = "a,u,1,0\na,v,2,1\nb,v,1,0\n"


def write(tmp_path, text, name="log.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@loop_over(
    "text",
    [
        HEADER + ROWS,
        "\ufeff" + HEADER + ROWS,
        (HEADER + ROWS).replace("\n", "\r\n"),
        (HEADER + ROWS).replace(",", ";"),
        (HEADER + ROWS).replace(",", "|"),
        (HEADER + ROWS).replace(",", "\t"),
        " query , doc,rank ,click\n" + ROWS,
        '"query","doc","rank","click"\n' + ROWS,
        HEADER + ROWS.replace("\n", "\n\n"),
        "\n" + HEADER + ROWS,
        HEADER + ROWS.rstrip("\n"),
        'query,doc,rank,click,"note, of; no|use"\n' + ROWS.replace("\n", ',"x, y"\n'),
        'query,doc,rank,click,"a\nname"\n' + ROWS.replace("\n", ',"x\ny"\n'),
    ],
)
def test_csv_is_read_as_it_is_written(text, tmp_path):
    world, log = read_log(write(tmp_path, text), strict=True)
    assert world.query_ids.tolist() == ["a", "b"]
    assert world.doc_ids.tolist() == [["u", "v"], ["v", ""]]
    assert log.clicks.tolist() == [[0, 1], [0, 0]]


def test_quoted_ids_keep_their_delimiters_quotes_and_line_breaks(tmp_path):
    text = HEADER + '"a, b","x ""y""",1,0\n"a, b","two\nlines",2,1\n'
    world, _ = read_log(write(tmp_path, text))
    assert world.query_ids.tolist() == ["a, b"]
    assert world.doc_ids.tolist() == [['x "y"', "two\nlines"]]


def test_a_line_break_in_quotes_at_the_end_of_a_block_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("clickgym.data.readers.tables.text._BLOCKS", (64, 1 << 20))
    rows = "".join(f'"a\nb",d{n},{n},{n % 2}\n' for n in range(50))
    world, log = read_log(write(tmp_path, HEADER + rows))
    assert log.slots == 50
    assert world.query_ids.tolist() == ["a\nb"]


@loop_over("name", ["NA", "null", "nan", "None", "-", "true", "1e5", "0x10", "2020-01-01"])
def test_ids_that_look_like_something_else_stay(name, tmp_path):
    for file in ("log.csv", "log.jsonl"):
        text = HEADER + f"{name},{name},1,0\n"
        if file == "log.jsonl":
            text = f'{{"query": "{name}", "doc": "{name}", "rank": 1, "click": 0}}\n'
        world, _ = read_log(write(tmp_path, text, file))
        assert world.query_ids.tolist() == [name]
        assert world.doc_ids.tolist() == [[name]]


@loop_over(
    ("rows", "line", "what"),
    [
        (ROWS + "c,,1,0\n", 5, "the document is empty"),
        (ROWS + "c,u,1\n", 5, "3 fields, but the header names 4"),
        (ROWS + "c,u,first,1\n", 5, "the rank is 'first', not a number"),
        (ROWS + "c,u,-4,1\n", 5, "the rank is -4"),
        ("\n\n" + ROWS + "c,u,-4,1\n", 7, "the rank is -4"),
        ('a,"x\n\ny",1,0\n' + "c,u,-4,1\n", 5, "the rank is -4"),
        ('a,"x\n\ny",1,0\n' + "c,u\n", 5, "2 fields"),
        (b"a,u\xff\xfe,1,0\n", 2, "not UTF-8"),
        (b"a,u,1,0\nb\xe9,u,1,0\n", 3, "not UTF-8"),
    ],
)
def test_errors_name_the_line_of_a_csv_file(rows, line, what, tmp_path):
    text = HEADER.encode() + (rows if isinstance(rows, bytes) else rows.encode())
    with pytest.raises(BadLog, match=rf"log\.csv, line {line}: {what}"):
        read_log(write(tmp_path, text))


@loop_over(
    ("line", "what"),
    [
        ("{broken", "not JSON"),
        ("[1, 2]", "not a JSON object"),
        ('{"query": "a", "doc": "b", "rank": -1, "click": 0}', "the rank is -1"),
        ('{"query": null, "doc": "b", "rank": 1, "click": 0}', "the query is missing"),
    ],
)
def test_errors_name_the_line_of_json_lines(line, what, tmp_path):
    good = '{"query": "a", "doc": "b", "rank": 1, "click": 0}\n'
    with pytest.raises(BadLog, match=rf"log\.jsonl, line 4: {what}"):
        read_log(write(tmp_path, f"{good}\n{good}{line}\n", "log.jsonl"))


def test_a_json_array_is_an_error_that_says_what_to_write(tmp_path):
    with pytest.raises(BadLog, match="a JSON array; write one object per line"):
        read_log(write(tmp_path, '[{"query": 1}]', "log.json"))


@loop_over(
    ("name", "text", "what"),
    [
        ("log.csv", "", "the file is empty"),
        ("log.csv", HEADER, "no rows in it, only a header"),
        ("log.csv", "\n\n", "no header"),
        ("log.csv", "a,u,1,0\nb,v,1,1\n", "no column looks like the query"),
        ("log.csv", (HEADER + ROWS).encode("utf-16"), "not UTF-8"),
        ("log.csv.gz", gzip.compress((HEADER + ROWS * 1000).encode())[:-30], "cannot be read"),
        ("log.csv.gz", HEADER + ROWS, "cannot be read"),
        ("log.parquet", b"PAR1" + b"\0" * 100, "cannot be read"),
        ("log.parquet.gz", b"PAR1", "have a compression of their own"),
        ("log.feather", b"ARROW1" + b"\0" * 100, "cannot be read"),
        ("log.dat", HEADER + ROWS, "its name does not say what it is"),
        ("log", HEADER + ROWS, "its name does not say what it is"),
        ("log.gz", HEADER + ROWS, "its name does not say what it is"),
    ],
)
def test_a_file_that_is_no_table_is_an_error_that_names_it(name, text, what, tmp_path):
    path = write(tmp_path, text, name)
    with pytest.raises(BadLog, match=what) as error:
        read_log(path)
    assert str(error.value).startswith(str(path))


def test_a_missing_file_and_a_folder_are_errors_that_name_them(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv: no such file"):
        read_log(tmp_path / "nowhere.csv")
    with pytest.raises(BadLog, match="a folder, not a file"):
        read_log(tmp_path)


@loop_over(
    ("line", "message"),
    [
        ('"query": "a", "rank": 2, "click": "no"', "column 'click' is a text, .*line 2.* a number"),
        ('"query": ["a"], "rank": 2, "click": 1', "column 'query' is a list, .* a text"),
        ('"query": 7, "rank": 2, "click": 1', "column 'query' is a number, .* a text"),
        ('"query": "a", "rank": 2.5, "click": 1', "the rank is 2.5"),
    ],
)
def test_a_wrong_type_in_json_lines_is_an_error_with_its_line(tmp_path, line, message):
    path = tmp_path / "log.jsonl"
    first = '{"query": "a", "doc": "u", "rank": 1, "click": 0}'
    path.write_text(f'\n{first}\n\n{{"doc": "v", {line}}}\n')
    with pytest.raises(BadLog, match=rf"log\.jsonl, line 4: {message}"):
        read_log(path)


def test_a_wrong_type_far_down_in_json_lines_is_an_error_with_its_line(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = ['{"query": "a", "doc": "%s", "rank": 1, "click": 0}' % ("u" * 100)] * 50_000
    path.write_text("\n".join([*rows, '{"query": "a", "doc": "u", "rank": 1, "click": [0]}']))
    with pytest.raises(BadLog, match="line 50001: column 'click' is a list"):
        read_log(path)
