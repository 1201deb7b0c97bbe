"""Ratings: what is refused, how they are split, and the world of the test part."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from looping import loop_over

from clickgym.data import Ratings, World

USERS, ITEMS = ["ann", "bob", "cem"], ["a", "b", "c", "d"]


def some_ratings(n_users=30, n_items=20, seed=0):
    """Ratings of random pairs, in random order."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(n_users * n_items)[: n_users * n_items // 4]
    ids = [f"u{i}" for i in range(n_users)], [f"i{i}" for i in range(n_items)]
    return Ratings(pairs // n_items, pairs % n_items, rng.integers(1, 6, len(pairs)), *ids)


def triples(ratings):
    return list(zip(ratings.user.tolist(), ratings.item.tolist(), ratings.rating.tolist(),
                    strict=True))  # fmt: skip


def hand_made():
    """Ann and bob in both parts, cem only in training; item d has no training rating."""
    train = Ratings([0, 0, 1, 2], [0, 1, 1, 2], [5, 3, 4, 1], USERS, ITEMS)
    test = Ratings([0, 1, 0], [2, 0, 3], [2, 5, 4], USERS, ITEMS)
    return train, test


@loop_over(
    ("columns", "message"),
    [
        (([0, 3], [0, 1], [5, 5]), r"row 1: user 3 is outside 0\.\.2"),
        (([0, -1], [0, 1], [5, 5]), r"row 1: user -1 is outside 0\.\.2"),
        (([0, 1], [0, 4], [5, 5]), r"row 1: item 4 is outside 0\.\.3"),
        (([0, 1], [0, 1], [5, 6]), r"row 1: rating 6 is outside 1\.\.5"),
        (([0, 1], [0, 1], [0, 5]), r"row 0: rating 0 is outside 1\.\.5"),
        (([0, 1, 0], [0, 0, 0], [1, 2, 3]), "row 2: user ann rated item a already in row 0"),
        (([0, 1, 1, 0], [0, 2, 2, 0], [1] * 4), "row 2: user bob rated item c already in row 1"),
        (([0, 1], [0], [5, 5]), r"item has shape \(1,\)"),
        (([0.0], [0], [5]), "user must hold integers"),
    ],
)
def test_bad_ratings_are_named_with_their_row(columns, message):
    with pytest.raises(ValueError, match=message):
        Ratings(*columns, USERS, ITEMS)


@loop_over(
    ("users", "items", "message"),
    [
        (["ann", "bob", "ann"], ITEMS, r"user_ids\[2\] is 'ann', which is there already"),
        (USERS, ["a", "b", "b", "c"], r"item_ids\[2\] is 'b'"),
        ([], ITEMS, "user_ids must be a list of at least one id"),
    ],
)
def test_bad_ids_are_named(users, items, message):
    with pytest.raises(ValueError, match=message):
        Ratings([0], [0], [5], users, items)


def test_ratings_are_frozen_and_apart_from_what_they_were_made_of():
    given = np.array([0, 1])
    ratings = Ratings(given, [0, 1], [5, 4], USERS, ITEMS)
    given[0] = 2
    assert ratings.user[0] == 0
    for name in ("user", "item", "rating", "user_ids", "item_ids"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(ratings, name)[0] = getattr(ratings, name)[1]
    with pytest.raises(AttributeError):
        ratings.user = given


def test_ratings_stay_as_they_are_when_they_are_pickled():
    ratings = some_ratings()
    again = pickle.loads(pickle.dumps(ratings))
    assert triples(again) == triples(ratings)
    assert again.user_ids.tolist() == ratings.user_ids.tolist()
    assert not again.user.flags.writeable


def test_the_matrix_has_the_ratings_and_nothing_else():
    ratings = some_ratings()
    dense = np.zeros((30, 20))
    dense[ratings.user, ratings.item] = ratings.rating
    np.testing.assert_array_equal(ratings.matrix().toarray(), dense)
    assert ratings.matrix().nnz == len(ratings)
    assert ratings.density == len(ratings) / 600


def test_a_split_takes_the_first_of_a_permutation_of_the_rows():
    ratings = some_ratings()
    order = np.random.default_rng(3).permutation(150)
    train, test = ratings.split(0.8, seed=3)
    rows = triples(ratings)
    assert triples(train) == [rows[i] for i in order[:120]]
    assert triples(test) == [rows[i] for i in order[120:]]


def test_a_split_is_by_its_seed():
    ratings = some_ratings()
    assert triples(ratings.split(0.8)[0]) == triples(ratings.split(0.8, seed=0)[0])
    assert set(triples(ratings.split(0.8)[0])) != set(triples(ratings.split(0.8, seed=1)[0]))


def test_a_bad_fraction_is_named():
    with pytest.raises(ValueError, match="fraction"):
        some_ratings().split(80)


def test_a_split_without_a_training_part_is_refused():
    with pytest.raises(ValueError, match=r"fraction 0\.0 of 3 ratings leaves no training part"):
        some_ratings()[:3].split(0.0)
    with pytest.raises(ValueError, match=r"fraction 0\.3 of 3 ratings leaves no training part"):
        some_ratings()[:3].split(0.3)
    assert len(some_ratings()[:3].split(0.34)[0]) == 1


def test_the_world_has_the_users_with_a_test_rating():
    train, test = hand_made()
    world = test.world(train)
    assert world.query_ids.tolist() == ["ann", "bob"]
    assert world.doc_ids.tolist() == [ITEMS, ITEMS]
    assert world.max_grade == 5
    np.testing.assert_array_equal(world.query_probs, [0.5, 0.5])


def test_grades_are_test_ratings_and_candidates_the_items_of_training_but_the_users_own():
    train, test = hand_made()
    world = test.world(train)
    assert world.relevance.tolist() == [[-1, -1, 2, 4], [5, -1, -1, -1]]
    assert world.candidates.tolist() == [[False, False, True, False], [True, False, True, False]]
    with_own = test.world(train, training_items=True)
    assert with_own.relevance.tolist() == world.relevance.tolist()
    assert with_own.candidates.tolist() == [[True, True, True, False]] * 2


def test_the_world_of_a_split_agrees_with_a_loop_over_all_pairs():
    ratings = some_ratings()
    train, test = ratings.split(0.8, seed=1)
    world = test.world(train)
    asked = sorted({user for user, _, _ in triples(test)})
    assert world.query_ids.tolist() == [f"u{user}" for user in asked]
    stars = {(user, item): rating for user, item, rating in triples(test)}
    known = {(user, item) for user, item, _ in triples(train)}
    trained = {item for _, item in known}
    for row, user in enumerate(asked):
        for item in range(20):
            assert world.relevance[row, item] == stars.get((user, item), -1)
            assert world.candidates[row, item] == (item in trained and (user, item) not in known)


def test_a_user_who_rated_all_items_of_training_is_never_asked():
    train = Ratings([0, 0, 1], [0, 1, 1], [5, 3, 4], USERS, ITEMS)
    test = Ratings([0, 1], [2, 0], [2, 5], USERS, ITEMS)
    world = test.world(train)
    assert world.query_probs.tolist() == [0.0, 1.0]


def test_a_smaller_world_has_some_users_and_their_most_popular_candidates():
    train, test = some_ratings().split(0.8, seed=1)
    whole, small = test.world(train), test.world(train, n_users=7, n_docs=5)
    assert (small.n_queries, small.n_docs) == (7, 5)
    counts = np.bincount(train.item, minlength=20)
    rows = [whole.query_ids.tolist().index(user) for user in small.query_ids]
    assert rows == sorted(rows)
    for row, query in enumerate(rows):
        own = np.flatnonzero(whole.candidates[query])
        best = sorted(sorted(own, key=lambda item: (-counts[item], item))[:5])
        assert small.doc_ids[row].tolist() == [f"i{item}" for item in best]
        assert small.relevance[row].tolist() == whole.relevance[query, best].tolist()
        assert small.candidates[row].all()


def test_users_of_a_smaller_world_are_drawn_by_the_seed():
    train, test = some_ratings().split()
    drawn = [test.world(train, n_users=7, seed=seed).query_ids.tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_users_with_fewer_candidates_have_shorter_lists():
    train, test = hand_made()
    world = test.world(train, n_docs=2)
    assert world.doc_ids.tolist() == [["c", ""], ["a", "c"]]
    assert world.candidates.tolist() == [[True, False], [True, True]]
    assert world.relevance.tolist() == [[2, -1], [5, -1]]


def test_features_of_a_smaller_world_are_those_of_its_items():
    train, test = some_ratings().split()
    whole = test.world(train, factors=3)
    small = test.world(train, factors=3, n_users=7, n_docs=5)
    rows = [whole.query_ids.tolist().index(user) for user in small.query_ids]
    items = np.char.replace(np.asarray(small.doc_ids), "i", "").astype(int)
    np.testing.assert_array_equal(small.features, whole.features[np.array(rows)[:, None], items])


def test_parts_that_do_not_belong_together_are_refused():
    train, test = hand_made()
    other = Ratings([0], [0], [5], ["ann", "bob", "eve"], ITEMS)
    with pytest.raises(ValueError, match="train has other user_ids"):
        test.world(other)
    with pytest.raises(ValueError, match="the rating of item c by user ann is in the training"):
        test.world(test)
    with pytest.raises(ValueError, match=r"train must be data\.Ratings, not list"):
        test.world([train])
    with pytest.raises(ValueError, match="no test ratings"):
        test[:0].world(train)


def test_a_world_of_ratings_is_saved_with_its_ids_kept_once(tmp_path):
    train, test = some_ratings().split()
    world = test.world(train)
    world.save(tmp_path / "world.safetensors")
    again = World.load(tmp_path / "world.safetensors")
    assert again.fingerprint == world.fingerprint
    assert len(again.doc_ids.codes) == 20
    assert again.doc_ids[3, 7] == "i7"


def test_features_are_popularity_means_and_factors():
    train, test = some_ratings().split()
    world = test.world(train, factors=3)
    assert world.features.shape == (world.n_queries, 20, 2 + 3 * 3)
    counts = np.bincount(train.item, minlength=20)
    np.testing.assert_allclose(world.features[4, :, 0], np.log1p(counts), rtol=1e-6)
    sums = np.bincount(train.item, weights=train.rating, minlength=20)
    means = (sums + 5 * train.rating.mean()) / (counts + 5)
    np.testing.assert_allclose(world.features[4, :, 1], means, rtol=1e-6)
    item, user, product = (world.features[:, :, start : start + 3] for start in (2, 5, 8))
    np.testing.assert_allclose(product, item * user, rtol=1e-6)
    assert (item == item[:1]).all()
    assert (user == user[:, :1]).all()


def test_products_of_all_factors_are_the_best_approximation_of_the_ratings():
    train, test = some_ratings().split()
    world = test.world(train, factors=6)
    left, values, right = np.linalg.svd(train.matrix().toarray(), full_matrices=False)
    best = (left[:, :6] * values[:6]) @ right[:6]
    np.testing.assert_allclose(
        world.features[:, :, 14:].sum(axis=2), best[np.unique(test.user)], atol=1e-4
    )


def test_the_fingerprint_of_a_world_with_features_tells_the_training_ratings_and_factors():
    train, test = some_ratings().split()
    prints = [
        test.world(train, factors=3).fingerprint,
        test.world(train, factors=4).fingerprint,
        test.world(train).fingerprint,
        test.world(Ratings(train.user, train.item, 6 - train.rating, train.user_ids,
                           train.item_ids), factors=3).fingerprint,
    ]  # fmt: skip
    assert len(set(prints)) == 4
    shuffled = train[np.random.default_rng(0).permutation(len(train))]
    assert test.world(shuffled, factors=3).fingerprint == prints[0]


def test_too_many_factors_are_refused():
    train, test = some_ratings().split()
    with pytest.raises(ValueError, match="factors must be at most 19"):
        test.world(train, factors=20)
    for name in ("factors", "n_users", "n_docs"):
        with pytest.raises(ValueError, match=f"{name} must be at least 1"):
            test.world(train, **{name: 0})
