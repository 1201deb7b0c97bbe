"""Rows become pages: long rows and lists; ranks; clicks as flags, counts and ids."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from looping import loop_over

from clickgym.data import BadLog, read_log

LONG = {
    "query": ["a", "a", "a", "b", "b"],
    "doc": ["u", "v", "w", "v", "x"],
    "rank": [1, 2, 3, 1, 2],
    "click": [0, 1, 0, 1, 1],
}
LISTS = {"query": ["a", "b"], "docs": [["u", "v", "w"], ["v", "x"]], "clicks": [[0, 1, 0], [1, 1]]}
RANKING = [[0, 1, 2], [0, 1, -1]]
CLICKS = [[0, 1, 0], [1, 1, 0]]


def assert_is_the_log(pair):
    world, log = pair
    assert world.query_ids.tolist() == ["a", "b"]
    assert world.doc_ids.tolist() == [["u", "v", "w"], ["v", "x", ""]]
    assert log.ranking.tolist() == RANKING
    assert log.clicks.tolist() == CLICKS


# Pages


REUSED = {
    "query": ["a"] * 300,
    "doc": ["u", "v", "w"] * 100,
    "rank": [1, 2, 3] * 100,
    "click": [1, 0, 0] * 50 + [0, 0, 0] * 50,
    "request_id": [row // 3 % 10 for row in range(300)],
}


@loop_over("role", ["user", "session"])
@pytest.mark.filterwarnings("ignore:.*several sessions or users")
def test_page_ids_that_users_or_sessions_reuse_are_pages_of_each(role):
    found = read_log(REUSED | {role: [f"x{row // 3}" for row in range(300)]})
    assert len(found[1]) == 100
    assert found[1].clicks.sum(axis=0).tolist() == [50, 0, 0]
    assert found.report.oddities == {"shared_pages": 10}


@loop_over("nobody", [None, "", " "])
def test_a_row_without_a_user_goes_with_the_others_of_its_page(nobody):
    users = {"user": ["x", nobody, nobody, nobody, "y"], "page": [1, 1, 1, 2, 2]}
    assert_is_the_log(read_log(LONG | users, strict=True))


def test_page_ids_alone_tell_pages_apart_where_no_session_is_wanted():
    table = LONG | {"session": list("stuvw"), "page": [1, 1, 1, 2, 2]}
    assert_is_the_log(read_log(table, session="", strict=True))


@loop_over("first", [0, 1])
def test_ranks_count_from_0_or_1(first):
    ranks = {"rank": [rank - 1 + first for rank in LONG["rank"]]}
    assert_is_the_log(read_log(LONG | ranks, strict=True))


def test_rows_out_of_order_are_sorted_by_rank():
    order = [2, 0, 1, 4, 3]
    table = pa.table(LONG | {"page": [1, 1, 1, 2, 2]}).take(pa.array(order))
    _, log = read_log(table)
    assert log.clicks.tolist() == CLICKS


def test_without_ranks_rows_of_a_page_are_in_order():
    table = {name: values for name, values in LONG.items() if name != "rank"}
    assert_is_the_log(read_log(table | {"page": [1, 1, 1, 2, 2]}))


def test_without_ranks_sessions_and_queries_end_a_page():
    table = {name: values for name, values in LONG.items() if name != "rank"}
    assert_is_the_log(read_log(table | {"session": ["s"] * 5}))


def test_without_ranks_pages_and_sessions_nothing_ends_a_page():
    table = {name: values for name, values in LONG.items() if name != "rank"}
    with pytest.raises(BadLog, match="neither page ids nor ranks nor sessions"):
        read_log(table)


def test_the_same_query_again_is_another_page_where_the_rank_does_not_rise():
    _, log = read_log(LONG | {"query": ["a"] * 5})
    assert log.query.tolist() == [0, 0]
    assert log.clicks.tolist() == CLICKS


def test_another_session_is_another_page():
    table = {**LONG, "query": ["a"] * 5, "rank": [1, 2, 3, 4, 5], "sid": list("ssstt")}
    with pytest.warns(UserWarning, match="1 pages that begin below the first rank"):
        _, log = read_log(table)
    assert log.clicks.tolist() == CLICKS


def test_a_user_who_is_not_logged_in_is_no_error():
    _, log = read_log(LONG | {"user": ["x", "x", "x", None, None]})
    assert log.extra["user"].tolist() == ["x", ""]
    assert log.clicks.tolist() == CLICKS


def test_a_negative_rank_is_an_error():
    with pytest.raises(BadLog, match="row 3: the rank is -1"):
        read_log(LONG | {"rank": [1, 2, 3, -1, 2]})


def test_pages_are_cut_to_so_many_slots():
    found = read_log(LONG, slots=2)
    assert found[1].ranking.tolist() == [[0, 1], [0, 1]]
    assert found.report.oddities == {"cut_slots": 1}


# Clicks of long rows


@loop_over(
    "click",
    [
        [False, True, False, True, True],
        [0, 3, 0, 1, 2],  # counts
        [0.0, 1.0, 0.0, 1.0, 1.0],
        ["no", "yes", "No", "YES", "yes"],
        ["0", "2", "0", "1", "1"],
        ["false", "true", "f", "t", "True"],
        ["v", "v", "v", "v|x", "v|x"],  # ids, the same in all rows of a page
        ["", "v", "", "v", "x"],  # ids, in their own rows
        [None, "v", None, "v", "x"],
        [["v"], ["v"], ["v"], ["x", "v"], ["x", "v"]],
        ["[v]", "[v]", "[v]", "[v, x]", "[v, x]"],
    ],
)
def test_clicks_of_long_rows_are_flags_counts_or_ids(click):
    assert_is_the_log(read_log(LONG | {"click": click}))


def test_numbers_that_are_the_same_in_all_rows_of_every_page_are_ids():
    table = LONG | {"doc": [11, 12, 13, 12, 14], "clicked": [12, 12, 12, 14, 14]}
    del table["click"]
    assert read_log(table)[1].clicks.tolist() == [[0, 1, 0], [0, 1, 0]]


def test_a_missing_click_is_none_and_counted():
    with pytest.warns(UserWarning, match="1 clicks that are missing"):
        found = read_log(LONG | {"click": [None, 1, 0, 1, 1]})
    assert found[1].clicks.tolist() == CLICKS


@loop_over("click", [[0, -1, 0, 1, 1], [0.0, np.inf, 0, 1, 1]])
def test_a_click_that_is_no_count_is_an_error(click):
    with pytest.raises(BadLog, match="row 1: the click is"):
        read_log(LONG | {"click": click})


# List rows


@loop_over(
    "clicks",
    [
        [[0, 1, 0], [1, 1]],
        [[False, True, False], [True, True]],
        [[0, 2, 0], [1, 1]],
        [["v"], ["x", "v"]],
        ["v", "x v"],
        ["[v]", "[x, v]"],
        ["[0, 1, 0]", "[1, 1]"],
        ["[0 1 0]", "[1 1]"],
        ["['v']", "['x', 'v']"],
    ],
)
def test_clicks_of_list_rows_are_flags_counts_or_ids(clicks):
    assert_is_the_log(read_log(LISTS | {"clicks": clicks}))


@loop_over(
    "docs",
    [
        ["[u, v, w]", "[v, x]"],
        ['["u", "v", "w"]', '["v", "x"]'],
        ["['u', 'v', 'w']", "['v', 'x']"],
        ["[u v w]", "[v x]"],
    ],
)
def test_lists_may_be_written_as_text(docs):
    assert_is_the_log(read_log(LISTS | {"docs": docs}))


def test_list_rows_may_have_ranks():
    table = {**LISTS, "docs": [["w", "v", "u"], ["v", "x"]], "ranks": [[3, 2, 1], [1, 2]]}
    world, log = read_log(table | {"clicks": [["v"], ["v", "x"]]})
    assert world.doc_ids[0].tolist() == ["u", "v", "w"]
    assert log.clicks.tolist() == CLICKS


def test_lists_of_different_lengths_are_an_error_with_the_row():
    with pytest.raises(BadLog, match="row 1: 2 documents, but 3 clicks"):
        read_log(LISTS | {"clicks": [[0, 1, 0], [1, 1, 0]]})
    with pytest.raises(BadLog, match="row 0: 3 documents, but 2 values of grade"):
        read_log(LISTS | {"grades": [[0, 1], [1, 1]]}, grade="grades")


def test_a_page_without_documents_is_dropped_and_counted():
    table = {name: [*values, values[0]] for name, values in LISTS.items()}
    table["docs"][2] = table["clicks"][2] = []
    with pytest.warns(UserWarning, match="1 pages without a document"):
        assert_is_the_log(read_log(table))


# What is missing or wrong


@loop_over("role", ["query", "doc"])
def test_a_missing_id_is_an_error_with_the_row(role):
    for missing in (None, "", "  "):
        values = [*LONG[role][:3], missing, LONG[role][4]]
        with pytest.raises(BadLog, match=r"row 3: the (query|document) is (missing|empty)"):
            read_log(LONG | {role: values})


@loop_over(
    ("name", "value"),
    [("rank", "first"), ("rank", 1.5), ("grade", "good"), ("weight", "heavy"), ("weight", -1.0)],
)
def test_a_wrong_value_is_an_error_with_the_row(name, value):
    values = ["1", "2", "3", str(value), "2"] if isinstance(value, str) else [1, 2, 3, value, 2]
    with pytest.raises(BadLog, match=rf"row 3: the {name} is"):
        read_log(LONG | {name: values})


def test_something_that_is_no_table_is_an_error():
    for source in (3, [1, 2], None):
        with pytest.raises(BadLog, match="a log is read from a path, a pandas or polars frame"):
            read_log(source)


# Propensities, weights, features


def test_one_propensity_in_all_rows_of_every_page_is_that_of_the_page():
    _, log = read_log(LONG | {"propensity": [0.5, 0.5, 0.5, 0.25, 0.25]})
    np.testing.assert_allclose(np.exp(log.log_propensity), [0.5, 0.25])


def test_propensities_that_differ_within_a_page_are_those_of_slots():
    given = LONG | {"propensity": [0.5, 0.5, 0.25, 0.5, 0.5]}
    found = read_log(given)
    np.testing.assert_allclose(np.exp(found[1].log_propensity), [1 / 16, 1 / 4])
    assert "product of its slots'" in str(found.report)
    with pytest.raises(BadLog, match="row 0: the propensity differs within the page"):
        read_log(given, propensity_of="page")


def test_propensities_of_slots_may_be_said_to_be_so():
    _, log = read_log(LONG | {"propensity": [0.5] * 5}, propensity_of="slot")
    np.testing.assert_allclose(np.exp(log.log_propensity), [1 / 8, 1 / 4])


def test_pages_that_are_cut_have_the_propensities_of_their_slots_only():
    given = LONG | {"propensity": [0.5, 0.5, 0.25, 0.5, 0.5]}
    _, log = read_log(given, slots=1)
    np.testing.assert_allclose(np.exp(log.log_propensity), [0.5, 0.5])
    with pytest.raises(BadLog, match=r"cut to fewer slots, but their propensities .* whole page"):
        read_log(LONG | {"propensity": [0.5] * 5}, slots=2)


def test_propensities_of_list_rows_are_numbers_or_lists():
    _, log = read_log(LISTS | {"propensity": [0.5, 0.25]})
    np.testing.assert_allclose(np.exp(log.log_propensity), [0.5, 0.25])
    _, log = read_log(LISTS | {"propensity": [[0.5, 0.5, 0.25], [0.5, 0.5]]})
    np.testing.assert_allclose(np.exp(log.log_propensity), [1 / 16, 1 / 4])


@loop_over("value", [1.5, -0.1])
def test_a_propensity_outside_0_to_1_is_an_error(value):
    with pytest.raises(BadLog, match="row 3: the propensity is"):
        read_log(LONG | {"propensity": [0.5, 0.5, 0.5, value, value]})


def test_weights_count_pages():
    world, log = read_log(LONG | {"weight": [3, 3, 3, 1, 1]})
    assert log.weight.tolist() == [3, 1]
    assert world.query_probs.tolist() == [0.75, 0.25]


def test_features_come_from_columns_or_lists():
    columns = {"length": [1.0, 2, 3, 4, 5], "price": [5.0, 4, 3, 2, 1]}
    pairs = {"vector": [list(pair) for pair in zip(*columns.values(), strict=True)]}
    split = {"vectors": [pairs["vector"][:3], pairs["vector"][3:]]}
    one = read_log(LONG | columns, features=["length", "price"])[0]
    other = read_log(LONG | pairs, features="vector")[0]
    listed = read_log(LISTS | split, features="vectors")[0]
    assert one.features[1].tolist() == [[4, 2], [5, 1], [0, 0]]
    assert one.fingerprint == other.fingerprint == listed.fingerprint


def test_lists_of_features_of_different_lengths_are_an_error():
    with pytest.raises(BadLog, match="row 1: 1 features, the first row has 2"):
        read_log(LONG | {"vector": [[1, 2], [1], [1, 2], [1, 2], [1, 2]]}, features="vector")
