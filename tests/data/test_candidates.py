"""Query frequencies and the stratified draw."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over

from clickgym.data import load_letor, synthetic_world
from clickgym.data.candidates import (
    draw_candidates,
    draw_relevant,
    draw_stratified,
    power_law,
)


def grades_and_candidates(n_queries: int = 200, n_docs: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Lists of 20 to 40 documents with mostly low grades; each list has a 0 and a 1."""
    rng = np.random.default_rng(3)
    shares = [0.56, 0.29, 0.12, 0.02, 0.01]
    relevance = rng.choice(5, size=(n_queries, n_docs), p=shares).astype(np.int8)
    relevance[:, :2] = (0, 1)
    candidates = np.arange(n_docs) < rng.integers(20, n_docs + 1, size=(n_queries, 1))
    return np.where(candidates, relevance, -1), candidates


def drawn_grades(relevance: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    return np.where(drawn < 0, -1, np.take_along_axis(relevance, np.maximum(drawn, 0), axis=1))


def counts_by_grade(grades: np.ndarray) -> np.ndarray:
    return (grades[:, :, None] == np.arange(5)).sum(axis=1)


def test_power_law_has_the_papers_exponent():
    probs = np.sort(power_law(50, np.random.default_rng(0)))[::-1]
    assert probs[9] / probs[0] == pytest.approx(10**-1.12)


def test_power_law_sums_to_one():
    assert power_law(1000, np.random.default_rng(0)).sum() == pytest.approx(1.0)


def test_power_law_is_in_random_order():
    most_frequent = {int(power_law(50, np.random.default_rng(s)).argmax()) for s in range(10)}
    assert len(most_frequent) > 5


def test_power_law_needs_a_query():
    with pytest.raises(ValueError, match="n_queries"):
        power_law(0, np.random.default_rng(0))


@loop_over("n_docs", [2, 3, 10, 20])
def test_draw_gives_distinct_candidates(n_docs):
    relevance, candidates = grades_and_candidates()
    drawn = draw_stratified(relevance, candidates, n_docs, np.random.default_rng(0))
    assert drawn.shape == (200, n_docs)
    assert np.take_along_axis(candidates, drawn, axis=1).all()
    assert (np.diff(np.sort(drawn, axis=1), axis=1) > 0).all()


@loop_over("n_docs", [2, 3, 4, 10, 20])
def test_drawn_grades_differ_where_the_querys_do(n_docs):
    relevance, candidates = grades_and_candidates()
    relevance[:, 2:] = np.where(candidates[:, 2:], 0, -1)  # a single document is not grade 0
    drawn = draw_stratified(relevance, candidates, n_docs, np.random.default_rng(0))
    grades = drawn_grades(relevance, drawn)
    assert (grades.min(axis=1) < grades.max(axis=1)).all()


def test_at_most_three_of_ten_have_a_grade_that_is_not_filled_up():
    relevance, candidates = grades_and_candidates()
    drawn = draw_stratified(relevance, candidates, 10, np.random.default_rng(0))
    counts = counts_by_grade(drawn_grades(relevance, drawn))
    available = counts_by_grade(relevance)
    lower_left = np.cumsum(available - counts, axis=1)[:, :-1]  # not drawn, of grades below
    assert not ((counts[:, 1:] > 3) & (lower_left > 0)).any()


def test_high_grades_come_first_up_to_the_limit():
    relevance, candidates = grades_and_candidates()
    drawn = draw_stratified(relevance, candidates, 10, np.random.default_rng(0))
    counts = counts_by_grade(drawn_grades(relevance, drawn))
    available = np.minimum(counts_by_grade(relevance), 3)
    assert (counts[:, 2:] >= available[:, 2:]).all()


def test_one_query_is_drawn_as_the_rule_says():
    relevance = np.array([[0] * 9 + [1] * 5 + [2] * 4 + [3] * 1])
    drawn = draw_stratified(relevance, relevance >= 0, 10, np.random.default_rng(0))
    assert counts_by_grade(drawn_grades(relevance, drawn))[0].tolist() == [3, 3, 3, 1, 0]


def test_places_left_are_filled_from_the_lowest_grade_up():
    relevance = np.array([[0] * 4 + [1] * 9])
    drawn = draw_stratified(relevance, relevance >= 0, 10, np.random.default_rng(0))
    assert counts_by_grade(drawn_grades(relevance, drawn))[0].tolist() == [4, 6, 0, 0, 0]


def test_short_lists_are_padded_at_the_end():
    relevance = np.array([[0, 1, 2, -1], [0, 1, -1, -1]])
    drawn = draw_stratified(relevance, relevance >= 0, 6, np.random.default_rng(0))
    assert np.sort(drawn[0, :3]).tolist() == [0, 1, 2]
    assert (drawn[0, 3:] == -1).all()
    assert (drawn[1, 2:] == -1).all()


def test_the_place_of_a_document_does_not_tell_its_grade():
    relevance = np.tile(np.repeat([0, 1], 5), (4000, 1))
    drawn = draw_stratified(relevance, relevance >= 0, 10, np.random.default_rng(0))
    share = drawn_grades(relevance, drawn).mean(axis=0)
    assert np.abs(share - 0.5).max() < 0.05  # six standard errors


def test_documents_of_a_grade_are_drawn_equally_often():
    relevance = np.tile(np.repeat([0, 1], [8, 2]), (4000, 1))
    drawn = draw_stratified(relevance, relevance >= 0, 2, np.random.default_rng(0))
    share = np.bincount(drawn.ravel(), minlength=10) / 4000
    assert share[:8] == pytest.approx(np.full(8, 1 / 8), abs=0.03)


def test_one_document_cannot_be_mixed():
    with pytest.raises(ValueError, match="n_docs"):
        draw_stratified(np.array([[0, 1]]), np.ones((1, 2), bool), 1, np.random.default_rng(0))


def relevant_grades():
    """What the released code's sampler draws: the grades of all documents, and of the drawn."""
    relevance, candidates = grades_and_candidates()
    drawn = draw_relevant(relevance, candidates, 10, np.random.default_rng(0))
    return relevance, drawn_grades(relevance, drawn), drawn


def test_relevant_documents_fill_up_with_grade_1_and_then_with_grade_0():
    relevance, grades, _ = relevant_grades()
    available, counts = counts_by_grade(relevance), counts_by_grade(grades)
    high = np.minimum(available[:, 2:], 3).sum(axis=1)
    ones = np.minimum(available[:, 1], 10 - high)
    assert np.array_equal(counts[:, 2:], np.minimum(available[:, 2:], 3))
    assert np.array_equal(counts[:, 1], ones)
    assert np.array_equal(counts[:, 0], 10 - high - ones)


def test_relevant_documents_of_a_grade_are_the_first_of_the_list():
    relevance, _, drawn = relevant_grades()
    chosen = np.zeros(relevance.shape, dtype=bool)
    np.put_along_axis(chosen, drawn, True, axis=1)
    for grade in range(5):
        left_out = np.where((relevance == grade) & ~chosen, np.arange(40), 40).min(axis=1)
        taken = np.where((relevance == grade) & chosen, np.arange(40), -1).max(axis=1)
        assert (taken < left_out).all()


def test_more_relevant_grades_than_places_leave_out_the_lowest():
    relevance = np.repeat([4, 3, 2, 1], 3)[None]
    drawn = draw_relevant(relevance, relevance > 0, 10, np.random.default_rng(0))
    assert sorted(relevance[0, drawn[0]]) == [1, *[2] * 3, *[3] * 3, *[4] * 3]


def test_an_unknown_sampler_is_refused():
    with pytest.raises(ValueError, match="sampler must be one of stratified, relevant"):
        draw_candidates("best", *grades_and_candidates(), 10, np.random.default_rng(0))


def test_worlds_take_the_sampler(tmp_path):
    """Of 3 documents of grade 0 and 3 of grade 1 four are drawn, at most 2 of a grade at first."""
    grades = [0, 1, 0, 1, 1, 0]
    path = tmp_path / "letor.txt"
    path.write_text("".join(f"{grade} qid:1 1:{place}\n" for place, grade in enumerate(grades)))
    drawn = {
        sampler: sorted(load_letor(str(path), n_docs=4, sampler=sampler).relevance[0].tolist())
        for sampler in ("stratified", "relevant")
    }
    assert drawn == {"stratified": [0, 0, 1, 1], "relevant": [0, 1, 1, 1]}
    worlds = [synthetic_world(20, 10, 1, sampler=sampler) for sampler in ("stratified", "relevant")]
    assert (worlds[0].relevance == 0).mean() > 10 * (worlds[1].relevance == 0).mean()
    assert worlds[0].fingerprint != worlds[1].fingerprint


def test_padded_and_short_lists_are_drawn_whole():
    relevance = np.array([[2, 0, 1, -1], [0, -1, -1, -1]], dtype=np.int8)
    drawn = draw_relevant(relevance, relevance >= 0, 3, np.random.default_rng(0))
    assert [sorted(row) for row in drawn.tolist()] == [[0, 1, 2], [-1, -1, 0]]
    assert drawn[1].tolist() == [0, -1, -1]
