"""Neighbours against their definition, written with plain loops, and against scikit-surprise."""

from __future__ import annotations

import numpy as np
import pytest
from small_ratings import dense, small_ratings, surprise_set

from clickgym import data
from clickgym.policies.recommenders.neighbours import learn_item_neighbours, learn_user_neighbours
from clickgym.policies.recommenders.rating_matrix import RatingMatrix

pytest.importorskip("numba", reason="neighbours need numba: pip install 'clickgym[recsys]'")


def correlation(one: np.ndarray, other: np.ndarray, common: int) -> float:
    both = ~np.isnan(one) & ~np.isnan(other)
    if both.sum() < common or np.ptp(one[both]) == 0 or np.ptp(other[both]) == 0:
        return np.nan
    return float(np.corrcoef(one[both], other[both])[0, 1])


def correlations(rows: np.ndarray, common: int = 2) -> np.ndarray:
    """Pearson's correlation of all rows with NaN in them; NaN with themselves."""
    number = len(rows)
    result = np.full((number, number), np.nan)
    for one in range(number):
        for other in range(number):
            if one != other:
                result[one, other] = correlation(rows[one], rows[other], common)
    return result


def weighted_mean(weights, ratings, minimum: int, signed: bool) -> float:
    """The estimate from neighbours who rated; 9 where rounding decides it."""
    there = ~np.isnan(weights) & ~np.isnan(ratings)
    if there.sum() < minimum:
        return np.nan
    weights, ratings = weights[there], ratings[there]
    total = weights.sum() if signed else np.abs(weights).sum()
    return float(weights @ ratings / total) if abs(total) > 1e-9 else 9.0


def agree(estimates: np.ndarray, expected: np.ndarray) -> None:
    sure = expected != 9.0
    assert sure.mean() > 0.95
    assert np.isfinite(expected).mean() > 0.5
    np.testing.assert_allclose(estimates[sure], np.clip(expected, 1, 5)[sure], atol=1e-9)


def choices_with(common: int) -> tuple[dict, ...]:
    """Choices to try; the last leaves out rows with fewer than ``common`` ratings in common."""
    return (
        {"minimum": 2, "common": 2, "signed": True},
        {"minimum": 1, "common": 2, "signed": False},
        {"minimum": 3, "common": common, "signed": True},
    )


def test_item_based_estimates_are_their_definition():
    ratings = small_ratings()
    matrix = dense(ratings)
    for choices in choices_with(common=8):
        similarity = correlations(matrix.T, choices["common"])
        expected = np.array([
            [weighted_mean(near, own, choices["minimum"], choices["signed"]) for near in similarity]
            for own in matrix
        ])  # fmt: skip
        learned = learn_item_neighbours(
            RatingMatrix.of(ratings), np.random.default_rng(0), **choices
        )
        agree(learned.of_users(np.arange(30)), expected)


def test_user_based_estimates_are_their_definition():
    ratings = small_ratings(n_items=40, share=0.6, seed=1)  # long rows, so no equal similarities
    matrix = dense(ratings)
    for choices in choices_with(common=14):
        similarity = correlations(matrix, choices["common"])
        expected = np.empty(matrix.shape)
        for user, row in enumerate(similarity):
            near = np.argsort(np.where(np.isnan(row), np.inf, -row))[:12]
            for item in range(matrix.shape[1]):
                expected[user, item] = weighted_mean(
                    row[near], matrix[near, item], choices["minimum"], choices["signed"]
                )
        learned = learn_user_neighbours(
            RatingMatrix.of(ratings), np.random.default_rng(0), neighbours=12, **choices
        )
        agree(learned.of_users(np.arange(30)), expected)


def test_blocks_of_users_do_not_change_estimates():
    matrix = RatingMatrix.of(small_ratings())
    whole = learn_item_neighbours(matrix, np.random.default_rng(0)).of_users(np.arange(30))
    part = learn_item_neighbours(matrix, np.random.default_rng(0)).of_users(np.arange(7, 12))
    np.testing.assert_array_equal(whole[7:12], part)


def ratings_of(rows: list[list[int]]) -> data.Ratings:
    """Ratings of a full matrix; 0 is no rating."""
    matrix = np.array(rows)
    user, item = np.nonzero(matrix)
    return data.Ratings(
        user, item, matrix[user, item], np.arange(len(matrix)), np.arange(matrix.shape[1])
    )


def test_equally_similar_users_are_drawn_at_random():
    # Users 1 to 6 agree with user 0 perfectly; each alone rated an item of its own and item 2.
    rows = [[1, 5, 0, 0, 0, 0, 0, 0, 0]]
    rows += [[1, 5, 3, *(4 * (np.arange(6) == number))] for number in range(6)]
    matrix = RatingMatrix.of(ratings_of(rows))
    drawn = set()
    for seed in range(20):
        learned = learn_user_neighbours(
            matrix, np.random.default_rng(seed), neighbours=1, minimum=1
        )
        drawn |= set(np.flatnonzero(~np.isnan(learned.of_users(np.array([0]))[0, 3:])).tolist())
    assert drawn == set(range(6))


def test_similarities_that_cancel_out_are_capped():
    # Item 0 goes with item 1 and against item 2, exactly; user 2 rated both.
    rows = [[1, 1, 5], [5, 5, 1], [0, 5, 2], [0, 2, 5], [0, 3, 3]]
    matrix = RatingMatrix.of(ratings_of(rows))

    def estimates(**choices):
        learned = learn_item_neighbours(matrix, np.random.default_rng(0), **choices)
        return learned.of_users(np.array([2, 3, 4]))[:, 0]

    np.testing.assert_array_equal(estimates(), [5, 1, np.nan])
    np.testing.assert_array_equal(estimates(capped=False), [np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(estimates(signed=False, capped=False), [1.5, -1.5, 0.0])


def test_ratings_without_variance_make_nobody_similar():
    rows = [[3, 3, 3, 0], [1, 5, 3, 4], [2, 4, 3, 4]]
    learned = learn_user_neighbours(RatingMatrix.of(ratings_of(rows)), np.random.default_rng(0))
    estimates = learned.of_users(np.arange(3))
    assert np.isnan(estimates[0]).all()
    assert np.isnan(estimates[1]).all()  # user 2 alone is similar: fewer than two


def test_decimals_without_variance_make_nobody_similar():
    ratings = ratings_of([[1, 1, 1], [1, 2, 3], [3, 2, 4]])
    labels = np.where(ratings.user == 0, 0.1, ratings.rating)  # 0.1 three times: rounding remains
    learned = learn_user_neighbours(
        RatingMatrix.of(ratings, labels), np.random.default_rng(0), minimum=1
    )
    assert np.isnan(learned.of_users(np.array([0]))).all()


def test_numbers_are_checked():
    matrix = RatingMatrix.of(small_ratings())
    for name, wrong in (("neighbours", 0), ("minimum", 0), ("common", 1)):
        with pytest.raises(ValueError, match=f"{name} must be at least"):
            learn_user_neighbours(matrix, np.random.default_rng(0), **{name: wrong})


def alike() -> data.Ratings:
    """Ratings in which all similarities are above 0: scikit-surprise leaves out the others."""
    rng = np.random.default_rng(3)
    level = np.linspace(1.4, 4.6, 12) + rng.normal(0, 0.5, size=(9, 12))
    matrix = np.clip(np.round(level), 1, 5).astype(int)
    matrix[rng.random(matrix.shape) < 0.25] = 0
    return ratings_of(matrix.tolist())


@pytest.mark.parametrize("user_based", [True, False])
def test_estimates_are_those_of_scikit_surprise(user_based):
    ratings = alike() if user_based else _transposed(alike())
    surprise, trained = surprise_set(ratings)
    similarity = correlations(dense(ratings) if user_based else dense(ratings).T)
    assert (similarity[~np.isnan(similarity)] > 0).all()
    options = {"name": "pearson", "user_based": user_based, "min_support": 2}
    theirs = surprise.KNNBasic(k=100, min_k=2, sim_options=options, verbose=False)
    theirs.fit(trained)
    learn = learn_user_neighbours if user_based else learn_item_neighbours
    learned = learn(RatingMatrix.of(ratings), np.random.default_rng(0))
    estimates = learned.of_users(np.arange(ratings.n_users))
    unrated = np.argwhere(np.isnan(dense(ratings)))
    assert len(unrated) > 15
    for user, item in unrated:
        guess = theirs.predict(str(user), str(item))
        assert not guess.details["was_impossible"]
        np.testing.assert_allclose(estimates[user, item], guess.est, rtol=1e-9)


def _transposed(ratings: data.Ratings) -> data.Ratings:
    return data.Ratings(
        ratings.item, ratings.user, ratings.rating, ratings.item_ids, ratings.user_ids
    )
