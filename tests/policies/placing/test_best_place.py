"""Max-Reward over places."""

from __future__ import annotations

import numpy as np
import pytest

from clickgym import envs, evaluation, policies
from clickgym.clickmodels import UBM, NotCapable, true_user
from clickgym.data import World
from clickgym.policies import Placed, Ranker, Uniform, best_place, usual_places

K, N = 4, 5
RELEVANCE = np.random.default_rng(0).integers(0, 5, (12, N))
CANDIDATES = np.ones(RELEVANCE.shape, dtype=bool)
CANDIDATES[3, 2:] = False  # a page of two results
TYPES = np.arange(12) % 5 - 1
WORLD = World(RELEVANCE, candidates=CANDIDATES, vertical=TYPES)
RANKER = Ranker(np.random.default_rng(1).normal(size=RELEVANCE.shape), K, world=WORLD)


def by_hand(user, reward):
    """The value of each query's page at each place, (Q, K + 2)."""
    values = np.full((12, K + 2), -np.inf)
    method = user.expected_clicks if reward == "clicks" else user.satisfied_probs
    for query in range(12):
        page = RANKER.rankings[[query]]
        places = range(-1, int((page >= 0).sum()) + 1) if TYPES[query] >= 0 else [-1]
        for place in places:
            block = {"vertical": [TYPES[query]], "vertical_position": [place]}
            values[query, place + 1] = method([query], page, **block)[0]
    return values


@pytest.mark.parametrize("name", ["FCM", "VCM"])
@pytest.mark.parametrize("reward", ["clicks", "satisfied"])
def test_the_block_stands_where_the_model_expects_most(name, reward):
    user = true_user(name, WORLD, slots=K)
    placed = best_place(user, WORLD, RANKER, reward)
    values = by_hand(user, reward)
    chosen = placed.places.argmax(axis=1)
    assert placed.places.max(axis=1).tolist() == [1.0] * 12
    np.testing.assert_allclose(values[np.arange(12), chosen], values.max(axis=1), atol=1e-9)
    expected = WORLD.query_probs @ values.max(axis=1)
    found = evaluation.value(placed, user, WORLD, reward=reward)
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert len(np.unique(chosen)) > 1


def test_a_model_without_verticals_is_indifferent():
    model = UBM(np.full(RELEVANCE.shape, 0.5), np.full((K, K), 0.5))
    assert not best_place(model, WORLD, RANKER).places_blocks
    usual = np.arange(12) % (K + 1)
    placed = best_place(model, WORLD, RANKER, usual=usual).places.argmax(axis=1) - 1
    there = (TYPES >= 0) & (usual <= (RANKER.rankings >= 0).sum(axis=1))
    assert placed.tolist() == np.where(there, usual, -1).tolist()
    assert best_place(model, WORLD, RANKER, usual=2).places[1, 3] == 1.0


def test_a_usual_place_wins_nothing_but_ties():
    user = true_user("FCM", WORLD, slots=K)
    best = best_place(user, WORLD, RANKER).places
    worst = np.argmin(np.where(np.isfinite(by_hand(user, "clicks")), by_hand(user, "clicks"), 9), 1)
    np.testing.assert_array_equal(best_place(user, WORLD, RANKER, usual=worst - 1).places, best)


def test_rankings_that_are_drawn_are_refused():
    with pytest.raises(ValueError, match="best_place needs one ranking per query"):
        best_place(true_user("FCM", WORLD, slots=K), WORLD, Uniform(WORLD, K))


def test_an_array_of_rankings_is_refused():
    with pytest.raises(ValueError, match=r"^ranker must be a Policy, not ndarray"):
        best_place(true_user("FCM", WORLD, slots=K), WORLD, np.zeros((12, K), dtype=int))


def test_best_pages_are_of_models_that_know_verticals():
    model = UBM(np.full(RELEVANCE.shape, 0.5), np.full((K, K), 0.5))
    with pytest.raises(NotCapable, match="knows no verticals"):
        policies.best_pages(model, WORLD, K)


def test_the_usual_place_is_the_most_frequent_one_of_the_query_else_of_its_type():
    user = true_user("FCM", WORLD, slots=K)
    table = np.tile([0.5, 0.0, 0.4, 0.1, 0.0, 0.0], (12, 1))
    table[1] = [0.1, 0, 0, 0.2, 0.7, 0]
    log = envs.collect(WORLD, user, Placed(RANKER, table, WORLD), 6000, seed=0)
    assert usual_places(log, WORLD).tolist() == np.where(
        TYPES < 0, -1, np.where(np.arange(12) == 1, 3, 1)
    ).tolist()
    some = log[log.query != 6]  # never asked: it has the place of query 1's type, shared with 11
    own = some[some.query != 1]
    assert usual_places(own, WORLD)[[1, 6]].tolist() == [1, 1]
    assert (usual_places(log[log.vertical < 0], WORLD) == -1).all()
