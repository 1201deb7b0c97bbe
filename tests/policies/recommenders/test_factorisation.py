"""Matrix factorisation against its definition, written with plain loops, and an outside library."""

from __future__ import annotations

import numpy as np
import pytest
from small_ratings import dense, small_ratings, surprise_set

from clickgym.policies.recommenders.factorisation import factorise, learn_factors
from clickgym.policies.recommenders.rating_matrix import RatingMatrix

pytest.importorskip("numba", reason="factorisation needs numba: pip install 'clickgym[recsys]'")


def plain_factors(ratings, rng, features, iterations, rate, penalty, noise):
    """Mahout's way by definition: the whole product at every step."""
    n_users, n_items = ratings.n_users, ratings.n_items
    start = np.sqrt((ratings.rating.mean() - 1) / features)
    p = start + (rng.random((features, n_users)) - 0.5) * noise
    q = start + (rng.random((features, n_items)) - 0.5) * noise
    rows = np.arange(len(ratings.rating))
    for _ in range(iterations):
        rows = rows[rng.permutation(len(rows))]
        for feature in range(features):
            for user, item, rating in zip(
                ratings.user[rows], ratings.item[rows], ratings.rating[rows], strict=True
            ):
                error = rating - (1 + p[:, user] @ q[:, item])
                mine, its = p[feature, user], q[feature, item]
                p[feature, user] = mine + rate * (error * its - penalty * mine)
                q[feature, item] = its + rate * (error * p[feature, user] - penalty * its)
    return p.T, q.T


def test_factors_are_their_definition():
    matrix = RatingMatrix.of(small_ratings(12, 9))
    settings = {"features": 3, "iterations": 4, "rate": 0.03, "penalty": 0.1, "noise": 0.2}
    expected = plain_factors(matrix, np.random.default_rng(5), **settings)
    found = factorise(matrix, np.random.default_rng(5), **settings)
    np.testing.assert_allclose(found.of_user, expected[0], rtol=1e-11)
    np.testing.assert_allclose(found.of_item, expected[1], rtol=1e-11)


def test_factors_without_iterations_are_the_start():
    matrix = RatingMatrix.of(small_ratings())
    found = factorise(matrix, np.random.default_rng(0), features=7, iterations=0, noise=0.01)
    start = np.sqrt((matrix.rating.mean() - 1) / 7)
    assert np.abs(found.of_user - start).max() <= 0.005
    assert np.ptp(found.of_item) > 0.005


def test_many_iterations_fit_the_training_ratings():
    ratings = small_ratings()
    matrix = RatingMatrix.of(ratings)
    found = factorise(matrix, np.random.default_rng(0), features=10, iterations=600, penalty=0.0)
    error = (found.estimate(np.arange(30)) - dense(ratings))[ratings.user, ratings.item]
    assert np.sqrt((error**2).mean()) < 0.2 < matrix.rating.std()


def test_estimates_are_capped_by_choice():
    matrix = RatingMatrix.of(small_ratings())
    settings = {"features": 10, "iterations": 200}
    for capped in (True, False):
        learned = learn_factors(matrix, np.random.default_rng(0), capped=capped, **settings)
        estimates = learned.of_users(np.arange(30))
        assert (estimates.max() <= 5 and estimates.min() >= 1) == capped


def test_all_features_at_once_are_those_of_scikit_surprise():
    ratings = small_ratings()
    order = np.lexsort((np.arange(len(ratings)), ratings.user))  # it goes user by user
    ratings = ratings[order]
    surprise, trained = surprise_set(ratings, less=1.0)
    matrix = RatingMatrix.of(ratings)
    start = float(np.sqrt((matrix.rating.mean() - 1) / 4))
    theirs = surprise.SVD(
        n_factors=4, n_epochs=30, biased=False, init_mean=start, init_std_dev=0.0, lr_all=0.01,
        reg_all=0.05,
    )  # fmt: skip
    theirs.fit(trained)
    found = factorise(
        matrix, np.random.default_rng(0), features=4, iterations=30, rate=0.01, penalty=0.05,
        noise=0.0, sweep="ratings", shuffled=False,
    )  # fmt: skip
    for user in range(30):
        np.testing.assert_allclose(
            found.of_user[user], theirs.pu[trained.to_inner_uid(str(user))], rtol=1e-9
        )
    for item in range(20):
        np.testing.assert_allclose(
            found.of_item[item], theirs.qi[trained.to_inner_iid(str(item))], rtol=1e-9
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"offset": 4.5}, "offset must be at most the mean rating"),
        ({"features": 0}, "features must be at least 1"),
        ({"penalty": -0.1}, "penalty must be at least 0"),
        ({"sweep": "users"}, "sweep must be one of features, ratings"),
        ({"rate": 50.0}, "rate 50.0 is too large"),
    ],
)
def test_settings_are_checked(settings, message):
    matrix = RatingMatrix.of(small_ratings())
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        factorise(matrix, np.random.default_rng(0), **settings)
