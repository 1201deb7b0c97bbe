"""Labels for recommenders: what logged clicks say about pairs of user and item."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import clickmodels, data, envs, policies
from clickgym.studies.recommendation.click_labels import (
    LOWEST_PROPENSITY,
    ShownPairs,
    fitted_propensities,
    slot_propensities,
)
from clickgym.studies.recommendation.click_training import worlds_of
from clickgym.studies.recommendation.rating_parts import join, three_parts
from clickgym.studies.recommendation.system_lists import RatingsSetting

SOURCE = RatingsSetting("", 40, 30)


def small_pairs():
    """Two pages of one user and one of another, with an empty slot."""
    ratings = data.Ratings([0, 1, 1], [0, 1, 2], [1, 3, 5], ["u", "v"], ["a", "b", "c"])
    world = data.World(
        [[1, 3, 5], [2, 4, -1]], candidates=np.ones((2, 3), dtype=bool), query_ids=["v", "u"],
        doc_ids=[["c", "a", "b"]] * 2, max_grade=5,
    )  # fmt: skip
    clicks = [[True, False], [False, True], [True, False]]
    log = data.ClickLog([0, 0, 1], [[0, 1], [1, 0], [2, -1]], clicks)
    return ShownPairs.of(log, world, ratings)


def test_every_shown_pair_is_there_once_by_its_ids():
    ratings = small_pairs().ratings
    pairs = {(ratings.user_ids[u], ratings.item_ids[i])
             for u, i in zip(ratings.user, ratings.item, strict=True)}  # fmt: skip
    assert pairs == {("v", "c"), ("v", "a"), ("u", "b")}
    assert len(ratings) == 3


def test_rates_are_clicks_over_examined_impressions_and_at_most_one():
    pairs = small_pairs()
    np.testing.assert_allclose(pairs.rates(np.ones(2)), [1.0, 0.0, 1.0])
    log_free = ShownPairs(
        pairs.query, pairs.document, pairs.ratings, pairs.row, np.array([[1, 0], [0, 0], [1, 0]])
    )
    np.testing.assert_allclose(log_free.rates(np.ones(2)), [0.5, 0.0, 1.0])
    np.testing.assert_allclose(log_free.rates(np.array([1.0, 0.25])), [0.8, 0.0, 1.0])


def test_weighted_rates_of_many_impressions_are_the_attractiveness():
    """With the true propensities of a user who reads by position, and naive rates are too low."""
    world, _ = worlds_of(SOURCE, 0, 6)
    user = clickmodels.true_user("examination-log", world, slots=3)
    log = envs.collect(world, user, policies.Uniform(world, 3), 200_000, seed=0)
    pairs = ShownPairs.of(log, world, three_parts(SOURCE, 0).train)
    truth = pairs.of_model(user)
    clicked = truth > 0
    weighted = pairs.rates(1.0 / np.log2(np.arange(2, 5)))
    np.testing.assert_allclose(weighted[clicked], truth[clicked], atol=0.06)
    assert (pairs.rates(np.ones(3))[clicked] < 0.95 * truth[clicked]).all()
    assert not weighted[~clicked].any()


def test_propensities_of_users_who_read_by_position_are_their_decays():
    world, _ = worlds_of(SOURCE, 0, 20)
    decays = {"no-bias": np.ones(4), "examination-log": 1.0 / np.log2(np.arange(2, 6)),
              "examination-quad": 0.5 ** np.arange(4)}  # fmt: skip
    for name, wanted in decays.items():
        user = clickmodels.true_user(name, world, slots=4)
        np.testing.assert_allclose(slot_propensities(user, world, 4, 0), wanted, rtol=0.06)


def test_propensities_of_a_fitted_model_are_near_those_of_the_user():
    world, _ = worlds_of(SOURCE, 0, 8)
    user = clickmodels.true_user("examination-log", world, slots=4)
    log = envs.collect(world, user, policies.Uniform(world, 4), 100_000, seed=0)
    found = fitted_propensities(clickmodels.fit("PBM", log, world))
    assert found.max() == 1.0
    np.testing.assert_allclose(found, 1.0 / np.log2(np.arange(2, 6)), rtol=0.05)


def test_propensities_of_a_fitted_model_are_shares_with_a_least():
    model = clickmodels.PBM(np.full((1, 3), 0.5), [0.5, 0.25, 0.0])
    np.testing.assert_array_equal(fitted_propensities(model), [1.0, 0.5, LOWEST_PROPENSITY])


def test_propensities_have_a_least():
    world, _ = worlds_of(SOURCE, 0, 20)
    user = clickmodels.true_user("examination-quad", world, slots=10)
    assert slot_propensities(user, world, 10, 0)[-1] == LOWEST_PROPENSITY


def test_propensities_need_somebody_who_clicks():
    world = data.World([[1, 1], [1, 1]], max_grade=5)
    user = clickmodels.true_user("no-bias", world, slots=2)
    with pytest.raises(ValueError, match="nobody clicks"):
        slot_propensities(user, world, 2, 0)


def test_parts_are_apart_and_whole():
    parts = three_parts(SOURCE, 0)
    every = [part.pair_keys() for part in (parts.history, parts.feedback, parts.test)]
    assert len(np.unique(np.concatenate(every))) == sum(map(len, every))
    whole = data.synthetic_ratings(40, 30, seed=0)
    np.testing.assert_array_equal(np.sort(np.concatenate(every)), np.sort(whole.pair_keys()))
    np.testing.assert_array_equal(
        np.sort(join(parts.history, parts.feedback).pair_keys()), np.sort(parts.train.pair_keys())
    )


def test_a_pair_that_was_never_logged_is_rated_no_more_often_than_others():
    parts = three_parts(RatingsSetting("", 400, 100), 0)
    shares = []
    for part, side in ((parts.feedback, parts.logged), (parts.test, ~parts.logged)):
        free = side.copy()
        free[parts.history.user, parts.history.item] = False
        shares.append(len(part) / free.sum())
        assert side[part.user, part.item].all()
    assert shares[0] == pytest.approx(shares[1], rel=0.1)


def test_a_log_shows_no_pair_that_is_a_candidate_where_lists_are_deployed():
    logged, deployed = worlds_of(SOURCE, 0, 20)

    def pairs(world, mask):
        query, document = np.nonzero(mask)
        return set(zip(world.query_ids[query], world.doc_ids[query, document], strict=True))

    later = pairs(deployed, deployed.candidates)
    assert len(later) > 100
    assert not pairs(logged, logged.candidates) & later
