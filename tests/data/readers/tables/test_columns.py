"""Which column means what: guessed from the names people use, or given."""

from __future__ import annotations

import pytest
from looping import loop_over

from clickgym.data import BadLog, read_log

PLAIN = {"query": "abba", "doc": "uvvu", "rank": [1, 2, 1, 2], "click": [0, 1, 0, 0]}
PLAIN = {name: list(values) for name, values in PLAIN.items()}
PLAIN["query"] = ["a", "a", "b", "b"]


def renamed(**names):
    return {names.get(name, name): values for name, values in PLAIN.items()}


@loop_over("name", ["query", "query_id", "qid", "Query ID", "user_id", "search_term", "keyword"])
def test_queries_are_found(name):
    world, _ = read_log(renamed(query=name))
    assert world.query_ids.tolist() == ["a", "b"]


@loop_over("name", ["doc", "document", "docId", "url", "item_id", "query_doc_ids", "product-id"])
def test_documents_are_found(name):
    world, _ = read_log(renamed(doc=name))
    assert world.doc_ids.tolist() == [["u", "v"], ["v", "u"]]


@loop_over("name", ["rank", "position", "pos", "Slot"])
def test_ranks_are_found(name):
    assert len(read_log(renamed(rank=name))[1]) == 2


@loop_over("name", ["click", "clicked", "clicks", "is_click", "n_clicks"])
def test_clicks_are_found(name):
    assert read_log(renamed(click=name))[1].clicks.tolist() == [[0, 1], [0, 0]]


USERS = ["user_id", "visitor", "visitorId", "client_id", "customer_id", "member_id", "cookie",
         "user_pseudo_id", "fullVisitorId"]  # fmt: skip


@loop_over("name", USERS)
def test_a_user_beside_a_query_is_the_user(name):
    _, log = read_log(PLAIN | {name: [1, 1, 2, 2]})
    assert log.extra["user"].tolist() == ["1", "2"]


@loop_over("name", USERS)
def test_without_a_query_the_user_is_the_query(name):
    world, log = read_log(renamed(query=name))
    assert world.query_ids.tolist() == ["a", "b"]
    assert "user" not in log.extra


def test_a_user_id_goes_before_the_device_that_it_used():
    _, log = read_log(PLAIN | {"user_id": [1, 1, 2, 2], "device_id": [3, 3, 4, 4]})
    assert log.extra["user"].tolist() == ["1", "2"]


def test_a_guess_that_is_not_unique_lists_the_candidates():
    with pytest.raises(BadLog, match=r"document could be any of .* 'doc', 'url'; .*document="):
        read_log(PLAIN | {"url": ["x", "y", "z", "w"]})


def test_a_given_column_settles_what_is_not_unique():
    world, _ = read_log(PLAIN | {"url": ["x", "y", "z", "w"]}, document="url")
    assert world.doc_ids.tolist() == [["x", "y"], ["z", "w"]]


def test_a_column_that_is_not_there_is_an_error_that_lists_the_others():
    with pytest.raises(BadLog, match=r"'term' for query.*'query', 'doc', 'rank', 'click'"):
        read_log(PLAIN, query="term")


@loop_over("role", ["query", "doc", "click"])
def test_a_column_that_no_log_is_without_is_asked_for(role):
    name = {"doc": "document"}.get(role, role)
    with pytest.raises(BadLog, match=rf"no column looks like the {name}.*{name}="):
        read_log(renamed(**{role: "something"}))


def test_an_empty_name_says_that_there_is_no_such_column():
    grades = {"label": [9, 9, 9, 9]}
    with pytest.raises(BadLog, match=r"grade of 9.*guessed.*grade='label'.*\"\" for none"):
        read_log(PLAIN | grades)
    assert not read_log(PLAIN | grades, grade="")[0].has_grades


def test_the_report_shows_what_was_guessed():
    report = read_log(PLAIN, query="query").report
    assert "query=query, document=doc (guessed), rank=rank (guessed)" in str(report)


def test_features_and_extra_columns_are_not_guessed_to_be_something_else():
    world, log = read_log(PLAIN | {"relevance": [0.5, 1, 2, 3]}, features="relevance")
    assert world.features[0, :, 0].tolist() == [0.5, 1.0]
    assert not world.has_grades
    assert log.extra == {}


def test_a_missing_feature_or_extra_column_is_an_error():
    for given in ({"features": ["length"]}, {"extra": ["length"]}):
        with pytest.raises(BadLog, match="no column 'length' for features or extra"):
            read_log(PLAIN, **given)


def test_a_guessed_page_that_several_queries_have_is_no_page():
    with pytest.raises(BadLog, match="most ids of the column 'page' stand for several queries"):
        read_log(PLAIN | {"page": [1, 1, 1, 1]})
    assert len(read_log(PLAIN | {"page": [1, 1, 1, 1]}, page="")[1]) == 2


@pytest.mark.filterwarnings("error")
def test_impressions_are_the_weight_of_whole_pages_only():
    pages = {"query": ["a", "b"], "docs": [["u", "v"], ["u"]], "clicks": [[0, 1], [0]]}
    assert read_log(pages | {"impressions": [5, 2]})[1].weight.tolist() == [5, 2]
    found = read_log(PLAIN | {"impressions": [1, 1, 1, 1]})
    assert found[1].weight is None
    assert found.report.unused == ("impressions",)
    assert "weight" not in found.report.columns


def test_a_rating_is_no_grade_but_in_a_table_of_labels():
    stars = PLAIN | {"rating": [5, 4.5, 3, 1]}
    assert not read_log(stars)[0].has_grades
    labels = {"query": ["a"], "doc": ["v"], "rating": [3]}
    assert read_log(stars, labels=labels)[0].relevance[0].tolist() == [-1, 3]


def test_two_columns_of_one_name_are_an_error(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("query,doc, doc,rank,click\na,b,c,1,0\n")
    with pytest.raises(BadLog, match=r"log\.csv: two columns are called 'doc'"):
        read_log(path)
