"""Columns of tables that say which vertical block a page shows, and where."""

from __future__ import annotations

import pytest
from looping import loop_over

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


def test_types_with_the_names_of_true_users_have_their_numbers():
    found = read(vertical=["News"] * 3 + ["images"] * 3 + [None] * 2, vertical_position=["1"] * 8)
    assert found[1].vertical.tolist() == [0, 1, -1]
    assert found[1].vertical_position.tolist() == [1, 1, -1]
    assert "Types of verticals: 0 = news, 1 = images" in found.report.notes


def test_other_types_of_text_follow_in_alphabetical_order():
    found = read(
        vertical=["shop"] * 3 + [" map "] * 3 + ["video"] * 2, vertical_position=["1"] * 8
    )
    assert found[1].vertical.tolist() == [5, 4, 2]
    assert "Types of verticals: 2 = video, 4 = map, 5 = shop" in found.report.notes


def test_the_first_row_of_a_page_that_has_a_type_counts():
    types, places = [None, "1", "1", *[None] * 5], [None, "2", "2", *[None] * 5]
    found = read(vertical=types, vertical_position=places)
    assert found[1].vertical.tolist() == [1, -1, -1]
    assert found[1].vertical_position.tolist() == [2, -1, -1]
    assert found.report.oddities == {}


@loop_over(
    "columns",
    [
        {"vertical": [0, 0, 1] + [1] * 5, "vertical_position": [1] * 8},
        {"vertical": [0] * 8, "vertical_position": [1, 2, 1] + [1] * 5},
    ],
)
def test_a_page_with_different_blocks_is_odd(columns):
    with pytest.warns(UserWarning, match="1 pages whose rows have different verticals"):
        found = read(**columns)
    assert found[1].vertical[0] == 0
    assert found[1].vertical_position[0] == 1


def test_a_type_without_a_place_is_that_of_a_block_that_is_not_shown():
    found = read(vertical=[2] * 8, vertical_position=[0] * 3 + [None] * 5)
    assert found[1].vertical.tolist() == [2, -1, -1]
    assert found[0].vertical.tolist() == [2, 2, 2]


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
    assert "1 queries have verticals of several types" in found.report.notes[0]


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


@loop_over(
    ("columns", "message"),
    [
        ({"vertical": [-2], "vertical_position": [0]}, "row 1: the vertical is -2"),
        ({"vertical": [0], "vertical_position": [-3]}, "row 1: the vertical_position is -3"),
        ({"vertical": [2**31], "vertical_position": [0]}, "row 1: the vertical is 2147483648"),
    ],
)
def test_a_number_that_is_no_type_or_place_is_named(columns, message):
    with pytest.raises(BadLog, match=message):
        read(**{name: [0, *values, *[0] * 6] for name, values in columns.items()})
