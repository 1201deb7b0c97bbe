"""Columns of tables that say which vertical block a page shows, and where."""

from __future__ import annotations

import pytest

from clickgym.data import read_log
from clickgym.data.readers.tables.sources import BadLog

LONG = {
    "query": ["a", "a", "a", "b", "b", "b", "c", "c"],
    "doc": ["x", "y", "z", "x", "y", "z", "x", "y"],
    "rank": [1, 2, 3, 1, 2, 3, 1, 2],
    "click": [1, 0, 0, 0, 0, 1, 0, 1],
}


def read(**columns):
    return read_log(LONG | columns)


def test_types_and_places_are_found_by_their_names():
    types, places = [1] * 3 + [0] * 3 + [-1] * 2, [2] * 3 + [0] * 3 + [-1] * 2
    found = read(vertical=types, vertical_position=places)
    assert found[1].vertical.tolist() == [1, 0, -1]
    assert found[1].vertical_position.tolist() == [2, 0, -1]
    assert found[0].vertical.tolist() == [1, 0, -1]


def test_types_of_text_are_numbered_in_alphabetical_order():
    found = read(vertical=["news"] * 3 + ["images"] * 3 + [None] * 2, vertical_position=["1"] * 8)
    assert found[1].vertical.tolist() == [1, 0, -1]
    assert found[1].vertical_position.tolist() == [1, 1, -1]
    assert "Types of verticals: 0 = images, 1 = news" in found.report.notes


def test_a_block_below_the_cut_stands_right_below_it():
    table = LONG | {"vertical": [0] * 8, "vertical_position": [3] * 3 + [1] * 3 + [2] * 2}
    with pytest.warns(UserWarning, match="1 verticals below the last slot"):
        found = read_log(table, slots=2)
    assert found[1].vertical_position.tolist() == [2, 1, 2]


def test_the_type_of_a_query_is_what_most_of_its_pages_show():
    table = {"query": ["a"] * 4, "docs": [["x"]] * 4, "clicks": [[1], [0], [0], [1]]}
    places = {"vertical_position": [0] * 4}
    found = read_log(table | {"vertical": [2, 1, 1, -1]} | places)
    assert found[0].vertical.tolist() == [1]


def test_a_guessed_type_without_a_place_is_left_alone():
    found = read(vertical=[1] * 8)
    assert found[1].vertical is None
    assert found[0].vertical is None
    assert "vertical" in found.report.unused


def test_a_given_type_without_a_place_is_an_error():
    with pytest.raises(BadLog, match="a vertical has a type and a place"):
        read_log(LONG | {"block": [1] * 8}, vertical="block")


def test_a_place_that_is_no_whole_number_is_named():
    with pytest.raises(BadLog, match=r"row 4: the vertical_position"):
        read(vertical=[0] * 8, vertical_position=[0, 0, 0, 0, 0.5, 0, 0, 0])
