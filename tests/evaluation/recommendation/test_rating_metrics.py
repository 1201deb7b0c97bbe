"""Precision, nDCG and the share of unrated items on lists with known answers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import ndcg_score
from small_ratings import small_parts

from clickgym import data, evaluation, policies
from clickgym.evaluation.recommendation.rating_metrics import (
    list_ndcg,
    list_precision,
    share_unrated,
)

RATINGS = [
    [5, 4, 3, -1, -1, 2],  # two relevant
    [4, 4, 5, 4, 1, -1],  # four relevant
    [3, 2, 1, -1, -1, -1],  # none
]


def known_world(**changes) -> data.World:
    return data.World(RATINGS, candidates=np.ones((3, 6), dtype=bool), max_grade=5, **changes)


def known_policy() -> policies.Ranker:
    pages = [[3, 1, 0], [4, 2, -1], [0, 1, 3]]
    return policies.Ranker.from_rankings(pages, world=known_world())


LOG = 1 / np.log2([2, 3, 4])


def test_precision_divides_by_the_places():
    np.testing.assert_allclose(list_precision(known_policy(), known_world()), [2 / 3, 1 / 3, 0])


def test_precision_of_another_threshold():
    found = list_precision(known_policy(), known_world(), relevant=2)
    np.testing.assert_allclose(found, [2 / 3, 1 / 3, 2 / 3])


def test_ndcg_of_binary_gains():
    found = list_ndcg(known_policy(), known_world())
    expected = [(LOG[1] + LOG[2]) / (LOG[0] + LOG[1]), LOG[1] / LOG.sum(), 0.0]
    np.testing.assert_allclose(found, expected)


def test_forms_of_ndcg():
    policy, world = known_policy(), known_world()
    late = np.array([1.0, 1.0, 1 / np.log2(3)])
    forms = {
        "rating": ({"gain": "rating"}, (4 * LOG[1] + 5 * LOG[2]) / (5 * LOG[0] + 4 * LOG[1])),
        "exponential": (
            {"gain": "exponential"}, (15 * LOG[1] + 31 * LOG[2]) / (31 * LOG[0] + 15 * LOG[1]),
        ),
        "late": ({"discount": "late"}, (late[1] + late[2]) / 2),
        "full": ({"ideal": "full"}, (LOG[1] + LOG[2]) / LOG.sum()),
        "full, rating": (
            {"ideal": "full", "gain": "rating"}, (4 * LOG[1] + 5 * LOG[2]) / (5 * LOG.sum()),
        ),
    }  # fmt: skip
    for name, (form, expected) in forms.items():
        assert list_ndcg(policy, world, **form)[0] == pytest.approx(expected), name


def test_users_without_relevant_items_are_left_out_by_choice():
    found = list_ndcg(known_policy(), known_world(), without="nan")
    np.testing.assert_array_equal(np.isnan(found), [False, False, True])


def test_ndcg_of_exponential_gains_is_that_of_scikit_learn():
    train, world = small_parts()
    ranker = policies.recommender("popularity", train, world, slots=5)
    found = list_ndcg(ranker, world, relevant=1, gain="exponential")
    gains = np.where(world.relevance > 0, 2.0**world.relevance - 1, 0.0)
    scores = np.zeros(gains.shape)
    np.put_along_axis(scores, ranker.rankings, np.arange(5, 0, -1.0)[None], axis=1)
    for query, expected in enumerate(found):
        theirs = ndcg_score(gains[query : query + 1], scores[query : query + 1], k=5)
        assert expected == pytest.approx(theirs)


def test_share_unrated_counts_shown_items():
    assert share_unrated(known_policy(), known_world()) == pytest.approx(2 / 8)
    empty = policies.Ranker.from_rankings(np.full((3, 2), -1), 6)
    assert np.isnan(share_unrated(empty, known_world()))


def test_users_who_are_never_asked_are_left_out():
    world = known_world(query_probs=[0.5, 0.5, 0.0])
    assert len(list_precision(known_policy(), world)) == 2
    assert len(list_ndcg(known_policy(), world)) == 2
    assert share_unrated(known_policy(), world) == pytest.approx(1 / 5)


def test_bad_arguments_are_named():
    policy, world = known_policy(), known_world()
    for name in ("gain", "discount", "ideal", "without"):
        with pytest.raises(ValueError, match=f"{name} must be one of"):
            list_ndcg(policy, world, **{name: "no such"})
    with pytest.raises(ValueError, match="relevant is 6, but the highest grade is 5"):
        list_precision(policy, world, relevant=6)
    with pytest.raises(ValueError, match="shows other lists every time"):
        list_precision(policies.Uniform(world, 3), world)


def test_it_is_exported():
    assert evaluation.list_precision is list_precision
    assert evaluation.list_ndcg is list_ndcg
