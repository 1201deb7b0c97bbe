"""Recommenders by name: what they show, what they refuse, and their numbers on MovieLens."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from small_ratings import dense, small_parts, small_ratings

from clickgym import data, policies
from clickgym.policies.recommenders import compiled

NAMES = policies.recommender_names()
COMPILED = ("item-based", "user-based", "mf")
QUICK = {"mf": {"iterations": 5, "features": 4}}


def recommend(name, train, world, slots=10, **settings):
    if name in COMPILED:
        pytest.importorskip("numba", reason="needs numba: pip install 'clickgym[recsys]'")
    return policies.recommender(name, train, world, slots, **{**QUICK.get(name, {}), **settings})


def test_names_are_those_of_the_paper():
    assert NAMES == ("random", "popularity", "item-based", "user-based", "mf")


@pytest.mark.parametrize("name", NAMES)
def test_lists_show_candidates_once(name):
    train, world = small_parts()
    ranker = recommend(name, train, world, slots=6, fill=True)
    assert isinstance(ranker, policies.Ranker)
    ranker.check_world(world)
    assert ranker.rankings.shape == (world.n_queries, 6)
    for query, page in enumerate(ranker.rankings):
        assert len(set(page)) == 6
        assert world.candidates[query, page].all()


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_decides_the_lists(name):
    train, world = small_parts()
    settings = {"fill": True} | ({"noise": 1.0} if name == "mf" else {})
    one, again, other = (
        recommend(name, train, world, seed=seed, **settings).rankings for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


@pytest.mark.parametrize("name", NAMES)
def test_a_world_with_an_own_choice_of_items_for_each_user_gets_the_same_lists(name):
    train, world = small_parts()
    settings = {"ties": "index", "slots": 5} | ({"neighbours": 100} if name == "user-based" else {})
    whole = recommend(name, train, world, **settings).rankings
    kept = np.argsort(~world.candidates, axis=1, kind="stable")  # candidates move to the front
    rows = np.arange(world.n_queries)[:, None]
    own = data.World(
        world.relevance[rows, kept], candidates=world.candidates[rows, kept],
        query_ids=world.query_ids, doc_ids=world.doc_ids[rows, kept], max_grade=5,
    )  # fmt: skip
    found = recommend(name, train, own, **settings).rankings
    items = np.where(found >= 0, np.take_along_axis(kept, np.maximum(found, 0), axis=1), -1)
    np.testing.assert_array_equal(items, whole)


def test_popularity_counts_training_ratings():
    train, world = small_parts()
    ranker = recommend("popularity", train, world, slots=20)
    counts = (~np.isnan(dense(train))).sum(axis=0)
    for page in ranker.rankings:
        assert (np.diff(counts[page[page >= 0]]) <= 0).all()


def test_popularity_by_sum_and_mean():
    train, world = small_parts()
    for by, values in (("sum", np.nansum(dense(train), 0)), ("mean", np.nanmean(dense(train), 0))):
        page = recommend("popularity", train, world, by=by).rankings[0]
        assert (np.diff(values[page]) <= 0).all()


def test_training_items_are_shown_where_the_world_has_them():
    train, test = small_ratings().split(0.8)
    world = test.world(train, training_items=True)
    rated = ~np.isnan(dense(train))
    user = [list(train.user_ids).index(name) for name in world.query_ids]
    ranker = recommend("popularity", train, world)
    assert rated[np.array(user)[:, None], ranker.rankings].any()


def test_random_shows_every_candidate_equally_often():
    train, world = small_parts()
    shown = np.zeros(world.n_docs)
    for seed in range(300):
        page = recommend("random", train, world, slots=3, seed=seed).rankings[0]
        shown[page] += 1
    candidates = world.candidates[0]
    assert not shown[~candidates].any()
    share = 3 / candidates.sum()
    assert (np.abs(shown[candidates] / 300 - share) < 4.5 * np.sqrt(share / 300)).all()


def test_items_without_an_estimate_are_left_out_or_come_last():
    train, world = small_parts(share=0.15)
    short = recommend("user-based", train, world).rankings
    full = recommend("user-based", train, world, fill=True).rankings
    assert (short < 0).any()
    assert (full >= 0).all()
    np.testing.assert_array_equal(full[short >= 0], short[short >= 0])


def test_equal_estimates_are_ordered_by_index_if_asked():
    train, world = small_parts()
    page = recommend("random", train, world, ties="index", slots=4).rankings[0]
    np.testing.assert_array_equal(page, np.flatnonzero(world.candidates[0])[:4])


def test_rounding_makes_ties():
    train, world = small_parts()
    labels = 1.0 + 1e-9 * np.argsort(np.argsort(train.item))  # of later items more, by a hair
    finer = {
        seed: recommend(
            "popularity", train, world, 3, by="mean", labels=labels, rounding="none", seed=seed
        ).rankings
        for seed in (0, 1)
    }
    np.testing.assert_array_equal(finer[0], finer[1])
    assert (np.diff(finer[0], axis=1) < 0).all()
    coarse = recommend("popularity", train, world, 3, by="mean", labels=labels).rankings
    assert (coarse != finer[0]).any()


def test_labels_take_the_place_of_ratings():
    train, world = small_parts()
    labels = (train.item == 7).astype(float)
    pages = recommend("popularity", train, world, by="sum", labels=labels).rankings
    first = np.where(world.candidates[:, 7], 7, pages[:, 0])
    np.testing.assert_array_equal(pages[:, 0], first)
    with pytest.raises(ValueError, match="labels has shape"):
        recommend("popularity", train, world, labels=labels[1:])


def test_a_user_without_training_ratings_gets_a_page_or_an_empty_one():
    ratings = small_ratings()
    train, test = ratings[ratings.user > 0], ratings[ratings.user == 0]
    world = test.world(train)
    for name in NAMES:
        page = recommend(name, train, world).rankings[0]
        assert (page < 0).all() == (name in ("item-based", "user-based"))


def test_unknown_choices_are_named():
    train, world = small_parts()
    with pytest.raises(TypeError, match="user-based has no choice neighbors; it has: neighbours"):
        recommend("user-based", train, world, neighbors=3)
    with pytest.raises(TypeError, match="random has no choice by; it has none"):
        recommend("random", train, world, by="sum")
    with pytest.raises(ValueError, match="name must be one of random, popularity"):
        recommend("best", train, world)
    for setting in ("ties", "rounding", "by"):
        with pytest.raises(ValueError, match=f"{setting} must be one of"):
            recommend("popularity", train, world, **{setting: "no such"})


def test_choices_and_defaults_are_listed():
    assert policies.recommender_choices("user-based") == {
        "neighbours": 50, "minimum": 2, "common": 2, "signed": True, "capped": True,
    }  # fmt: skip


def test_other_worlds_are_refused():
    train, world = small_parts()
    with pytest.raises(ValueError, match="no query_ids and doc_ids"):
        recommend("random", train, data.World(world.relevance, max_grade=5))
    stranger = data.World([[3]], query_ids=["user 1"], doc_ids=[["item 99"]], max_grade=5)
    with pytest.raises(ValueError, match="the world's item item 99 is not among the ratings"):
        recommend("random", train, stranger)
    with pytest.raises(ValueError, match=r"train must be data\.Ratings, not World"):
        recommend("random", world, world)


def test_without_numba_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ImportError, match=r"needs numba: pip install 'clickgym\[recsys\]'"):
        compiled.compiled.__wrapped__(compiled.correlate)  # not what was compiled before


@pytest.fixture(scope="module")
def movielens():
    folder = os.environ.get("CLICKGYM_DATA")
    if not folder:
        pytest.skip("CLICKGYM_DATA is not set")
    train, test = data.load_movielens(Path(folder) / "movielens").split(0.8, seed=0)
    return train, test.world(train)


def random_precision(world) -> tuple[float, float]:
    """The expected P@10 of random lists, and the standard error of one draw of them."""
    relevant = (world.relevance >= 4) & world.candidates
    mean = float((relevant.sum(axis=1) / world.n_candidates).mean())
    return mean, float(np.sqrt(mean / (10 * world.n_queries)))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("popularity", 0.115, 0.125), ("user-based", 0.017, 0.026), ("mf", 0.01, 0.02)],
)
def test_precision_on_movielens(movielens, name, low, high):
    pytest.importorskip("numba", reason="needs numba: pip install 'clickgym[recsys]'")
    train, world = movielens
    assert low < precision(policies.recommender(name, train, world), world) < high


@pytest.mark.parametrize("name", ["random", "item-based"])
def test_item_based_is_no_better_than_random_on_movielens(movielens, name):
    pytest.importorskip("numba", reason="needs numba: pip install 'clickgym[recsys]'")
    train, world = movielens
    expected, noise = random_precision(world)
    found = precision(policies.recommender(name, train, world), world)
    assert 0.002 < expected < 0.003
    assert abs(found - expected) < 3 * noise


def precision(ranker, world) -> float:
    grades = np.take_along_axis(world.relevance, ranker.rankings, axis=1)
    return float((grades >= 4).mean())
