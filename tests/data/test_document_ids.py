"""Ids of documents behave as a padded array of texts, and are kept flat."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from looping import loop_over

from clickgym.data import World
from clickgym.data.document_ids import DocumentIds

TEXTS = np.array(
    [["a", "b", "c", ""], ["", "", "", ""], ["b", "", "zürich", ""], ["a", "b", "c", "d"]]
)
MASK = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]], dtype=bool)


@loop_over(
    "index",
    [
        (0, 1), (-1, -1), (2, 2), (1, 0), 0, -2, [0, 2], slice(None), slice(1, 3),
        ([0, 3], [1, 2]), (slice(None), 1), (slice(0, 2), slice(1, 3)), (2, slice(None)),
        ([[0], [3]], [0, 1, 2]), MASK, MASK[0], (MASK[0], slice(None)), (2, MASK[2]),
        ([0, 2], slice(1, 3)), np.zeros((2, 2), dtype=int), np.array([], dtype=int),
    ],
)  # fmt: skip
def test_an_index_gives_what_it_gives_of_the_array(index):
    got, expected = DocumentIds.from_array(TEXTS)[index], TEXTS[index]
    np.testing.assert_array_equal(got, expected)
    assert np.shape(got) == expected.shape


@loop_over("index", [(4, 0), (0, 4), (-5, 0), 4, (0, 0, 0), (MASK, 0)])
def test_an_index_outside_is_an_error(index):
    with pytest.raises(IndexError):
        DocumentIds.from_array(TEXTS)[index]


def test_it_becomes_the_array_again():
    ids = DocumentIds.from_array(TEXTS)
    np.testing.assert_array_equal(np.asarray(ids), TEXTS)
    assert ids.tolist() == TEXTS.tolist()
    assert [row.tolist() for row in ids] == TEXTS.tolist()
    assert (ids == TEXTS).all()
    assert (ids == DocumentIds.from_array(TEXTS)).all()


def test_blocks_are_the_array_in_pieces(monkeypatch):
    monkeypatch.setattr("clickgym.data.document_ids._BLOCK", 1)
    blocks = list(DocumentIds.from_array(TEXTS).blocks())
    assert len(blocks) == len(TEXTS)
    np.testing.assert_array_equal(np.concatenate(blocks), TEXTS)


def test_one_long_list_pads_no_other():
    lengths = np.ones(1000, dtype=int)
    lengths[7] = 1000
    query = np.repeat(np.arange(1000), lengths)
    place = np.arange(len(query)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    names = [f"document-{n}" for n in range(1000)]
    ids = DocumentIds.from_pairs(names, query, place, place, (1000, 1000))
    assert ids.codes.size == len(query)
    assert ids[7, 999] == "document-999"
    assert ids[8, 1] == ""


def test_the_callers_arrays_stay_writable():
    codes = np.zeros(1, dtype=np.int32)
    DocumentIds(["a"], codes, [0, 1], 1)
    assert codes.flags.writeable


def test_attributes_cannot_be_set():
    with pytest.raises(AttributeError, match="names"):
        DocumentIds.from_array(TEXTS).names = []


def test_a_world_takes_a_padded_array_or_flat_ids():
    relevance = np.zeros(TEXTS.shape, dtype=int)
    padded = World(relevance, doc_ids=TEXTS)
    flat = World(relevance, doc_ids=DocumentIds.from_array(TEXTS))
    assert padded.fingerprint == flat.fingerprint


def test_flat_ids_of_another_shape_are_an_error():
    with pytest.raises(ValueError, match="doc_ids has shape"):
        World(np.zeros((2, 4), dtype=int), doc_ids=DocumentIds.from_array(TEXTS))


def test_ids_that_all_queries_share_are_kept_once():
    shared = DocumentIds.repeated(["a", "b", "cc"], 4)
    padded = DocumentIds.from_array(np.array([["a", "b", "cc"]] * 4))
    assert shared.shape == padded.shape == (4, 3)
    assert len(shared.codes) == 3
    np.testing.assert_array_equal(np.asarray(shared), np.asarray(padded))
    assert shared[2, 1] == shared[-1, -2] == "b"
    assert shared[[0, 3], [2, 0]].tolist() == ["cc", "a"]
    assert pickle.loads(pickle.dumps(shared)).shape == (4, 3)


def test_a_world_has_the_same_fingerprint_whether_its_ids_are_kept_once_or_not():
    ids = np.array([["a", "b", "cc"]] * 4)
    shared = World(np.ones((4, 3), int), doc_ids=DocumentIds.repeated(ids[0], 4))
    assert shared.fingerprint == World(np.ones((4, 3), int), doc_ids=ids).fingerprint


def test_rows_that_are_neither_one_nor_one_for_each_query_are_refused():
    with pytest.raises(ValueError, match="starts has 2 queries, not 3"):
        DocumentIds(["a"], [0, 0], [0, 1, 2], 1, 3)


def test_numbers_are_places_among_the_names():
    ids = DocumentIds.from_array(np.array([["b", "a", ""], ["c", "", ""]]))
    numbers = ids.numbers()
    assert numbers.tolist()[1][1:] == [-1, -1]
    assert ids.names[numbers[numbers >= 0]].tolist() == ["b", "a", "c"]


def test_numbers_of_repeated_documents_are_one_row():
    ids = DocumentIds.repeated(["x", "y"], 5)
    assert ids.numbers().tolist() == [[0, 1]]
