"""The embedded ratings: their shape, their seed, and that taste and popularity are in them."""

from __future__ import annotations

import numpy as np
import pytest
from looping import loop_over

from clickgym.data import embedded_ratings, embedded_ratings_world, synthetic_ratings


@pytest.fixture(scope="module")
def ratings():
    return synthetic_ratings(600, 800, seed=0)


def columns(ratings):
    return np.stack([ratings.user, ratings.item, ratings.rating])


def test_equal_seeds_make_equal_ratings():
    np.testing.assert_array_equal(
        columns(synthetic_ratings(50, 60, seed=3)), columns(synthetic_ratings(50, 60, seed=3))
    )


def test_other_seeds_make_other_ratings():
    first, second = (synthetic_ratings(50, 60, seed=seed) for seed in (3, 4))
    assert set(first.pair_keys()) != set(second.pair_keys())


def test_shares_of_stars_are_those_of_movielens(ratings):
    shares = np.bincount(ratings.rating, minlength=6)[1:] / len(ratings)
    np.testing.assert_allclose(shares, [0.056, 0.108, 0.261, 0.349, 0.226], atol=2e-3)


def test_every_user_has_twenty_ratings(ratings):
    assert np.bincount(ratings.user, minlength=600).min() >= 20


def test_popularity_has_a_long_tail(ratings):
    counts = np.sort(np.bincount(ratings.item, minlength=800))[::-1]
    assert counts[:80].sum() > 0.35 * len(ratings)
    assert counts[400:].sum() < 0.15 * len(ratings)


def test_users_rate_what_they_like(ratings):
    """Missing not at random: popular items have better ratings, too."""
    counts = np.bincount(ratings.item, minlength=800)
    stars = np.bincount(ratings.item, weights=ratings.rating, minlength=800) / np.maximum(counts, 1)
    order = np.argsort(-counts)
    assert stars[order[:100]].mean() > stars[order[300:400]].mean() + 0.1


def test_taste_has_few_dimensions(ratings):
    """A decomposition finds in the training part what users like in the test part."""
    train, test = ratings.split()
    world = test.world(train, factors=8)
    popular = world.features[:, :, 0]
    personal = world.features[:, :, -8:].sum(axis=2)
    found = []
    for scores in (popular, personal):
        scores = np.where(world.candidates, scores, -np.inf)
        top = np.argsort(-scores, axis=1)[:, :10]
        found.append((np.take_along_axis(world.relevance, top, axis=1) >= 4).mean())
    assert found[1] > 1.3 * found[0] > 0.05


def test_few_items_are_enough():
    small = synthetic_ratings(2, 2, seed=0)
    assert np.bincount(small.user, minlength=2).tolist() == [1, 1]


def test_the_embedded_parts_make_the_embedded_world():
    train, test = embedded_ratings()
    world = embedded_ratings_world()
    assert world is embedded_ratings_world()
    assert (world.n_queries, world.n_docs, world.features.shape[2]) == (990, 200, 26)
    assert world.fingerprint == test.world(train, factors=8).fingerprint
    assert world.has_ratings


@loop_over(
    ("arguments", "message"),
    [((1, 10), "n_users"), ((10, 1), "n_items"), ((10, 10, -1), "seed"), ((2.5, 10), "n_users")],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        synthetic_ratings(*arguments)


@pytest.mark.slow
def test_the_default_has_the_shape_of_movielens_1m():
    ratings = synthetic_ratings()
    assert (ratings.n_users, ratings.n_items) == (6040, 3706)
    assert 0.04 < ratings.density < 0.05
    assert 90 < np.median(np.bincount(ratings.user)) < 130  # 96 there
    assert 100 < np.median(np.bincount(ratings.item)) < 150  # 123 there
