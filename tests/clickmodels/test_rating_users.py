"""Users of worlds with ratings: Table 1 and section 3.3 of their paper, by enumeration."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from conftest import small_ratings_world, small_world
from looping import loop_over

from clickgym import clickmodels
from clickgym.clickmodels.reading.tables import GradeTable
from clickgym.common.random import Uniforms
from clickgym.data import World, synthetic_ratings

NAMES = clickmodels.user_names("ratings")
SLOTS = 5
CLICK = {-1: 0.0, 1: 0.0, 2: 0.1, 3: 0.2, 4: 0.8, 5: 1.0}
STOP = {
    "cascade-low": {1: 0.0, 2: 0.2, 3: 0.3, 4: 0.4, 5: 0.5},
    "cascade-high": {1: 0.0, 2: 0.3, 3: 0.5, 4: 0.7, 5: 0.9},
}


def fade(name, position):
    if name.endswith("-log"):
        return 1 / np.log2(position + 1)
    return 1 / 2 ** (position - 1)


def joint(name, ratings, clicks):
    """P(clicks) on a page of these ratings, written from the paper's Table 1."""
    if name.startswith("cascade"):
        return cascade_joint(STOP[name], ratings, clicks)
    result, latest = 1.0, 0
    for position, (rating, click) in enumerate(zip(ratings, clicks, strict=True), start=1):
        if name == "no-bias":
            examined = 1.0
        elif name.startswith("examination"):
            examined = fade(name, position)
        else:
            examined = fade(name, position - latest)
        probability = examined * CLICK[rating]
        result *= probability if click else 1 - probability
        latest = position if click else latest
    return result


def cascade_joint(stop, ratings, clicks):
    """Sum over where the user is satisfied: after one of the clicks, or never."""
    total, here = 0.0, 1.0
    for position, (rating, click) in enumerate(zip(ratings, clicks, strict=True)):
        here *= CLICK[rating] if click else 1 - CLICK[rating]
        if click and here:
            if not any(clicks[position + 1 :]):
                total += here * stop[rating]
            here *= 1 - stop[rating]
    return total + here


def all_pages():
    """A world of one user per way to rate five items, shown in order: 6^5 = 7,776 pages."""
    relevance = np.array(list(itertools.product(CLICK, repeat=SLOTS)))
    world = World(relevance, candidates=np.ones(relevance.shape, bool), max_grade=5)
    return world, np.arange(len(relevance)), np.tile(np.arange(SLOTS), (len(relevance), 1))


def brute_force(name, ratings):
    """P(click) by position and clicks per position, by all 2^5 click vectors."""
    vectors = np.array(list(itertools.product([0, 1], repeat=SLOTS)))
    probs = np.array([joint(name, ratings, clicks.tolist()) for clicks in vectors])
    assert probs.sum() == pytest.approx(1.0, abs=1e-12)
    return probs @ vectors


@pytest.mark.parametrize("name", NAMES)
def test_exact_click_through_rates_agree_with_enumeration(name):
    world, query, ranking = all_pages()
    user = clickmodels.true_user(name, world, slots=SLOTS)
    rows = np.random.default_rng(0).permutation(len(query))[:250]
    expected = np.array([brute_force(name, world.relevance[row].tolist()) for row in rows])
    got = user.click_probs(query[rows], ranking[rows])
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9)
    rate = user.expected_clicks(query[rows], ranking[rows]) / SLOTS
    np.testing.assert_allclose(rate, expected.sum(axis=1) / SLOTS, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_likelihoods_agree_with_enumeration(name):
    world, _, ranking = all_pages()
    user = clickmodels.true_user(name, world, slots=SLOTS)
    vectors = np.array(list(itertools.product([0, 1], repeat=SLOTS)))
    for row in np.random.default_rng(1).permutation(len(ranking))[:25]:
        ratings = world.relevance[row].tolist()
        expected = [joint(name, ratings, clicks.tolist()) for clicks in vectors]
        query = np.full(len(vectors), row)
        got = np.exp(user.log_likelihood(query, ranking[: len(vectors)], vectors))
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_simulated_click_through_rates_agree_with_exact_ones(name):
    world, query, ranking = all_pages()
    user = clickmodels.true_user(name, world, slots=SLOTS)
    rng = np.random.default_rng(2)
    n_clicks = np.stack([user.sample(query, ranking, rng).sum(axis=1) for _ in range(25)])
    means = n_clicks.mean(axis=1) / SLOTS  # of 25 repetitions
    exact = user.expected_clicks(query, ranking).mean() / SLOTS
    z = (means.mean() - exact) / (means.std(ddof=1) / 5)
    assert abs(z) < 4.5


@pytest.mark.parametrize("name", NAMES)
def test_single_pages_are_sampled_as_batches_are(name):
    user = clickmodels.true_user(name, all_pages()[0], slots=SLOTS)
    uniforms, row = Uniforms(np.random.default_rng(3)), 5000
    pages = np.array([user.sample_page(row, [4, 2, 0, 1, 3], uniforms) for _ in range(4000)])
    exact = user.click_probs([row], [[4, 2, 0, 1, 3]])[0]
    error = np.sqrt(np.maximum(exact * (1 - exact), 1e-12) / 4000)
    assert (np.abs(pages.mean(axis=0) - exact) < 4.5 * error + 1e-12).all()


def test_there_are_seven_and_the_list_of_users_with_grades_stays_as_it_is():
    assert NAMES == (
        "no-bias", "examination-log", "examination-quad", "browsing-log", "browsing-quad",
        "cascade-low", "cascade-high",
    )  # fmt: skip
    assert clickmodels.user_names() == (
        "DBN", "CoCM", "CoCM-mismatch", "PBM", "UBM", "SDBN", "DCM", "CM", "CCM",
    )  # fmt: skip
    with pytest.raises(ValueError, match="worlds must be one of grades, ratings"):
        clickmodels.user_names("stars")


@loop_over("name", NAMES)
def test_no_new_classes_were_needed(name):
    user = clickmodels.true_user(name, small_ratings_world())
    assert type(user).__name__ in ("PBM", "UBM", "SDBN")
    assert user.label == name


@loop_over("name", NAMES)
def test_a_world_with_grades_is_refused_in_one_sentence(name):
    for world in (small_world(), World(small_world().relevance, max_grade=5)):
        with pytest.raises(
            ValueError, match=f"user {name} takes worlds with ratings, and this world has grades"
        ):
            clickmodels.true_user(name, world)
    with pytest.raises(ValueError, match=f"user {name} needs grades, and this world has none"):
        clickmodels.true_user(name, World([[-1, -1]], candidates=[[1, 1]], max_grade=5))


@loop_over("name", clickmodels.user_names())
def test_a_world_with_ratings_is_refused_by_users_with_grades(name):
    with pytest.raises(
        ValueError, match=f"user {name} takes worlds with grades, and this world has ratings"
    ):
        clickmodels.true_user(name, small_ratings_world())


def test_what_a_user_takes_is_declared():
    assert clickmodels.user_takes("cascade-low") == "ratings"
    assert clickmodels.user_takes("DBN") == "grades"
    with pytest.raises(ValueError, match=r"unknown user 'cascade'; known: DBN.*cascade-high"):
        clickmodels.user_takes("cascade")


@loop_over("name", NAMES)
def test_what_is_unrated_or_no_candidate_is_never_clicked(name):
    world = small_ratings_world(short=True)
    user = clickmodels.true_user(name, world)
    without = ~world.candidates | (world.relevance < 2)
    assert without.any()
    assert (user.attractiveness[without] == 0).all()
    assert (user.attractiveness[~without] > 0).all()


@loop_over(
    ("name", "decay", "expected"),
    [
        ("examination-log", "log", [1, 1 / np.log2(3), 0.5]),
        ("examination-log", 0.5, [1, 0.5, 0.25]),
        ("examination-quad", "square", [1, 1 / 4, 1 / 9]),
        ("examination-quad", 0.0, [1, 0, 0]),
        ("examination-quad", [0.9, 0.3, 0.1, 0.0], [0.9, 0.3, 0.1]),
    ],
)
def test_decay_is_a_parameter(name, decay, expected):
    user = clickmodels.true_user(name, small_ratings_world(), slots=3, decay=decay)
    np.testing.assert_allclose(user.examination, expected, rtol=1e-15)


def test_browsing_counts_from_the_latest_click_or_from_position_zero():
    user = clickmodels.true_user(
        "browsing-quad", small_ratings_world(), slots=3, decay=[0.9, 0.5, 0.2]
    )
    expected = [[0.9, np.nan, np.nan], [0.5, 0.9, np.nan], [0.2, 0.5, 0.9]]
    for slot, latest in itertools.product(range(3), repeat=2):
        if latest <= slot:
            assert user.examination[slot, latest] == expected[slot][latest]


def test_attractiveness_and_satisfaction_are_parameters():
    world = World([[1, 2, 3, 4, 5, -1]], candidates=np.ones((1, 6), bool), max_grade=5)
    user = clickmodels.true_user(
        "cascade-low", world, attractiveness=[0.1, 0.2, 0.3, 0.4, 0.5], satisfaction=[1, 0, 1, 0, 1]
    )
    assert user.attractiveness.tolist() == [[0.1, 0.2, 0.3, 0.4, 0.5, 0.0]]
    assert user.satisfaction.tolist() == [[1, 0, 1, 0, 1, 0]]


@loop_over(
    ("name", "params", "error", "message"),
    [
        ("no-bias", {"decay": 0.5}, TypeError, "no-bias has no parameter decay; it has: attract"),
        ("cascade-low", {"decay": 0.5}, TypeError, "decay"),
        ("browsing-log", {"floor": 0.1}, TypeError, "floor"),
        ("browsing-log", {"decay": "quad"}, ValueError, "decay must be one of log, square"),
        ("browsing-log", {"decay": 1.5}, ValueError, "decay"),
        ("browsing-log", {"decay": [0.5]}, ValueError, "decay has 1 numbers for pages of 10 slots"),
        ("no-bias", {"attractiveness": [0.1] * 4}, ValueError, r"attractiveness has shape \(4,\)"),
        ("no-bias", {"attractiveness": [2.0] * 5}, ValueError, "attractiveness must be within"),
        ("cascade-low", {"satisfaction": [-1.0] * 5}, ValueError, "satisfaction must be within"),
        ("no-bias", {"slots": 0}, ValueError, "slots"),
    ],
)
def test_a_bad_parameter_is_named(name, params, error, message):
    with pytest.raises(error, match=message):
        clickmodels.true_user(name, small_ratings_world(), **params)


def test_users_of_one_world_share_a_byte_per_user_and_item():
    world = small_ratings_world()
    tables = [clickmodels.true_user(name, world)._attractiveness for name in NAMES]
    cascade = clickmodels.true_user("cascade-low", world)._reading
    tables += [cascade.satisfied, cascade.satisfying, cascade._goes_on]
    assert {id(table._grades) for table in tables} == {id(tables[0]._grades)}
    assert tables[0]._grades.nbytes == world.n_queries * (world.n_docs + 1)


@loop_over("name", NAMES)
def test_a_user_crosses_to_another_process_without_dense_tables(name):
    train, test = synthetic_ratings(40, 400, seed=0).split()
    world = test.world(train)
    user = clickmodels.true_user(name, world)
    sent = pickle.dumps(user)
    assert len(sent) < 4 * world.n_queries * world.n_docs
    again = pickle.loads(sent)
    assert isinstance(again._attractiveness, GradeTable)
    page = np.flatnonzero(world.candidates[3])[:10]
    np.testing.assert_array_equal(again.click_probs([3], [page]), user.click_probs([3], [page]))
