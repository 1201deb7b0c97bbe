"""World: frozen, validated, fingerprinted, shared, and restricted to what a log showed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from conftest import small_world
from looping import loop_over

from clickgym.data import ClickLog, World

RELEVANCE = np.array([[0, 4, 2], [3, 1, -1]])
FEATURES = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
ARRAYS = ("relevance", "features", "query_probs", "candidates", "query_ids", "doc_ids", "gain")


def arguments(**changes):
    """All arguments of a small world, with some of them changed."""
    given = {
        "relevance": RELEVANCE.copy(),
        "features": FEATURES.copy(),
        "query_probs": np.array([0.25, 0.75]),
        "candidates": RELEVANCE >= 0,
        "query_ids": np.array(["q1", "q2"]),
        "doc_ids": np.array([["a", "b", "c"], ["d", "e", "-"]]),
        "max_grade": 4,
        "name": "tiny",
    }
    return given | changes


def log_of(query, ranking, weight=None, **more):
    ranking = np.array(ranking)
    return ClickLog(query, ranking, np.zeros(ranking.shape, dtype=bool), weight=weight, **more)


# Frozen


@loop_over("name", [*ARRAYS, "max_grade", "name", "fingerprint", "something_new"])
def test_attributes_cannot_be_set(name):
    with pytest.raises(AttributeError, match=name):
        setattr(World(**arguments()), name, 1)


@loop_over("name", ["relevance", "features", "name"])
def test_attributes_cannot_be_deleted(name):
    with pytest.raises(AttributeError, match=name):
        delattr(World(**arguments()), name)


@loop_over("name", [*ARRAYS, "standardised_features"])
def test_arrays_cannot_be_written_into(name):
    array = getattr(World(**arguments()), name)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = array[1]


@loop_over("name", [name for name in ARRAYS if name != "gain"])
def test_the_callers_arrays_stay_writable(name):
    given = arguments()
    World(**given)
    assert given[name].flags.writeable


@loop_over("name", [name for name in ARRAYS if name != "gain"])
def test_changing_the_callers_array_later_does_not_change_the_world(name):
    given = arguments(relevance=RELEVANCE.astype(np.int8))
    world = World(**given)
    before = np.array(getattr(world, name))
    given[name][0] = given[name][1]
    np.testing.assert_array_equal(getattr(world, name), before)


def test_changing_features_of_an_array_subclass_later_does_not_change_the_world():
    class Annotated(np.ndarray):
        pass

    features = FEATURES.copy().view(Annotated)
    world = World(RELEVANCE, features)
    features[:] = 99
    np.testing.assert_array_equal(world.features, FEATURES)


def test_read_only_features_are_shared():
    features = FEATURES.copy()
    features.flags.writeable = False
    assert np.shares_memory(World(RELEVANCE, features).features, features)


# Validated


@loop_over(
    ("name", "value"),
    [
        ("relevance", RELEVANCE[0]),  # 1d
        ("relevance", RELEVANCE.astype(float)),  # float
        ("relevance", RELEVANCE >= 0),  # bool
        ("relevance", [[0, 1], [2]]),  # ragged
        ("relevance", np.zeros((0, 3), dtype=int)),  # no queries
        ("relevance", np.zeros((2, 0), dtype=int)),  # no docs
        ("relevance", RELEVANCE + 1),  # above max grade
        ("relevance", RELEVANCE - 1),  # below minus one
        ("features", FEATURES[:, :, 0]),  # 2d
        ("features", FEATURES[:1]),  # too few queries
        ("features", FEATURES[:, :2]),  # too few docs
        ("features", FEATURES[:, :, :0]),  # none at all
        ("features", np.where(FEATURES == 5, np.nan, FEATURES)),  # nan
        ("features", np.where(FEATURES == 5, np.inf, FEATURES)),  # inf
        ("features", np.full((2, 3, 1), 1e300)),  # beyond float32
        ("features", FEATURES.astype(str)),  # text
        ("query_probs", [1.0]),  # too short
        ("query_probs", [[0.5, 0.5]]),  # 2d
        ("query_probs", [0.5, 0.4]),  # sum below one
        ("query_probs", [0.7, 0.7]),  # sum above one
        ("query_probs", [-0.5, 1.0]),  # negative
        ("query_probs", [np.nan, 1.0]),  # nan
        ("candidates", [True, False, True]),  # 1d
        ("candidates", np.ones((2, 2), dtype=bool)),  # shape
        ("candidates", np.full((2, 3), 2)),  # not boolean
        ("candidates", [[0, 0, 0], [1, 1, 1]]),  # asked query has none
        ("query_ids", ["q1"]),  # too short
        ("doc_ids", [["a", "b", "c"]]),  # too few queries
        ("doc_ids", [["a", "b", "c"], ["d"]]),  # ragged
        ("max_grade", 0),  # zero
        ("max_grade", 31),  # too high
        ("max_grade", 4.0),  # float
        ("max_grade", True),  # bool
    ],
)
def test_a_bad_argument_is_named(name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        World(**arguments(**{name: value}))


def test_an_unknown_argument_is_an_error():
    with pytest.raises(TypeError, match="querry_probs"):
        World(RELEVANCE, querry_probs=[0.5, 0.5])


def test_a_bad_grade_is_located():
    relevance = RELEVANCE.copy()
    relevance[1, 2] = 9
    with pytest.raises(ValueError, match=r"relevance\[1, 2\] is 9"):
        World(relevance)


def test_a_query_that_is_never_asked_needs_no_candidates():
    world = World(RELEVANCE, query_probs=[0.0, 1.0], candidates=[[0, 0, 0], [1, 1, 0]])
    assert world.n_candidates.tolist() == [0, 2]


# Sizes, defaults, gain


def test_sizes_are_those_of_relevance():
    world = World(RELEVANCE)
    assert (world.n_queries, world.n_docs) == (2, 3)


def test_default_query_probs_are_uniform():
    np.testing.assert_array_equal(World(RELEVANCE).query_probs, [0.5, 0.5])


def test_default_candidates_are_the_judged_documents():
    np.testing.assert_array_equal(World(RELEVANCE).candidates, RELEVANCE >= 0)


@loop_over("name", ["features", "query_ids", "doc_ids"])
def test_optional_arrays_are_none_by_default(name):
    assert getattr(World(RELEVANCE), name) is None


@loop_over(
    ("name", "dtype"),
    [("relevance", np.int8), ("features", np.float32), ("query_probs", np.float64),
     ("candidates", np.bool_)],
)  # fmt: skip
def test_dtypes_are_those_of_the_design(name, dtype):
    given = arguments(features=FEATURES.astype(np.float64), candidates=(RELEVANCE >= 0).astype(int))
    assert getattr(World(**given), name).dtype == dtype


def test_ids_are_kept_as_strings():
    world = World(RELEVANCE, query_ids=[10, 20])
    assert world.query_ids.tolist() == ["10", "20"]


def test_query_probs_that_sum_to_one_nearly_are_made_to_sum_exactly():
    world = World(np.zeros((3, 2), dtype=int), query_probs=[0.3333333, 0.3333333, 0.3333333])
    assert world.query_probs.sum() == pytest.approx(1.0, abs=1e-15)


def test_gain_of_grades_zero_to_four_is_fifteenths():
    gain = World([[0, 1, 2, 3, 4]]).gain
    np.testing.assert_allclose(gain, [[0, 1 / 15, 3 / 15, 7 / 15, 1]], rtol=1e-15)


def test_gain_scales_with_max_grade():
    np.testing.assert_allclose(World([[0, 1, 2]], max_grade=2).gain, [[0, 1 / 3, 1]], rtol=1e-15)


def test_gain_of_an_unjudged_candidate_is_zero():
    assert World([[-1, 4]], candidates=[[1, 1]]).gain[0, 0] == 0


def test_n_candidates_counts_each_query():
    assert small_world(short=True).n_candidates.tolist() == [2, 3, 7, 7, 7, 7]


# Fingerprint


CHANGES = {
    "relevance": np.where(RELEVANCE == 4, 3, RELEVANCE),
    "features": np.where(FEATURES == 5, 6, FEATURES),
    "no features": None,
    "candidates": [[1, 1, 0], [1, 1, 0]],
    "query_ids": ["q1", "q3"],
    "doc_ids": [["a", "b", "c"], ["d", "f", "-"]],
    "max_grade": 5,
}


@loop_over("change", CHANGES)
def test_fingerprint_changes_with(change):
    changed = arguments(**{change.removeprefix("no "): CHANGES[change]})
    assert World(**changed).fingerprint != World(**arguments()).fingerprint


@loop_over("change", [{"name": "other"}, {"query_probs": [0.5, 0.5]}])
def test_fingerprint_does_not_change_with(change):
    assert World(**arguments(**change)).fingerprint == World(**arguments()).fingerprint


@loop_over(
    "change",
    [
        {},  # same arguments
        {"relevance": RELEVANCE.tolist()},  # lists
        {"relevance": np.asfortranarray(RELEVANCE)},  # memory order
        {"features": FEATURES.astype(np.float64)},  # float64 features
        {"query_ids": np.array(["q1", "q2"], dtype="U50")},  # wide ids
        {"candidates": None},  # default candidates
    ],
)
def test_equal_worlds_have_equal_fingerprints(change):
    assert World(**arguments(**change)).fingerprint == World(**arguments()).fingerprint


def test_fingerprint_tells_the_same_values_in_another_shape_apart():
    values = np.arange(4)
    assert World(values.reshape(1, 4)).fingerprint != World(values.reshape(2, 2)).fingerprint


def test_fingerprint_is_64_hexadecimal_digits():
    assert len(bytes.fromhex(World(**arguments()).fingerprint)) == 32


def test_another_worlds_fingerprint_is_refused_by_name():
    world = World(**arguments())
    with pytest.raises(ValueError, match="the thing belongs to another world"):
        world.check_fingerprint("0" * 64, "the thing")


@loop_over("known", [True, False])
def test_its_own_fingerprint_or_none_is_accepted(known):
    world = World(**arguments())
    assert world.check_fingerprint(world.fingerprint if known else None, "the thing") is None


# Sharing and pickling


@loop_over("make", [copy.copy, copy.deepcopy])
def test_copies_are_the_same_object(make):
    world = World(**arguments())
    assert make(world) is world


def test_a_deep_copy_of_what_holds_a_world_shares_it():
    world = World(**arguments())
    assert copy.deepcopy({"world": [world]})["world"][0] is world


@loop_over("name", [*ARRAYS, "max_grade", "name", "fingerprint"])
def test_pickling_keeps(name):
    world = World(**arguments())
    again = pickle.loads(pickle.dumps(world))
    np.testing.assert_array_equal(getattr(again, name), getattr(world, name))


@loop_over("name", ARRAYS)
def test_arrays_stay_read_only_through_pickling(name):
    again = getattr(pickle.loads(pickle.dumps(World(**arguments()))), name)
    parts = [again.names, again.codes, again.starts] if name == "doc_ids" else [again]
    assert not any(part.flags.writeable for part in parts)


@loop_over("copied", [copy.copy, copy.deepcopy, lambda ids: pickle.loads(pickle.dumps(ids))])
def test_ids_of_documents_stay_read_only_in_copies(copied):
    ids = copied(World(**arguments()).doc_ids)
    with pytest.raises(ValueError, match="read-only"):
        ids[0] = ids[1]


def test_pickling_leaves_out_what_can_be_worked_out_again():
    world = World(**arguments())
    small = len(pickle.dumps(world))
    assert world.gain.shape == world.standardised_features.shape[:2]
    assert len(pickle.dumps(world)) == small


def test_a_restricted_world_keeps_its_fingerprint_through_pickling():
    world = World(**arguments())
    restricted = world.restricted_to(log_of([0], [[0, 1]]))
    assert pickle.loads(pickle.dumps(restricted)).fingerprint == world.fingerprint


# Restricted to a log


def restricted(weight=None):
    """The small world after a log that shows documents 0, 3 and 5 of query 1 and 2 of query 4."""
    log = log_of([1, 4, 1, 1], [[0, 3], [2, -1], [3, 0], [5, 0]], weight)
    return small_world().restricted_to(log)


def test_restricted_world_has_the_shown_documents_as_candidates():
    expected = np.zeros((6, 7), dtype=bool)
    expected[1, [0, 3, 5]] = True
    expected[4, 2] = True
    np.testing.assert_array_equal(restricted().candidates, expected)


@loop_over("name", ["relevance", "features", "gain", "max_grade", "name"])
def test_restricted_world_keeps(name):
    np.testing.assert_array_equal(getattr(restricted(), name), getattr(small_world(), name))


def test_restricted_world_keeps_the_fingerprint():
    assert restricted().fingerprint == small_world().fingerprint


def test_restricted_query_probs_are_the_logs_frequencies():
    np.testing.assert_allclose(restricted().query_probs, [0, 0.75, 0, 0, 0.25, 0])


def test_restricted_query_probs_honour_weights():
    probs = restricted(weight=[1.0, 6.0, 2.5, 0.5]).query_probs
    np.testing.assert_allclose(probs, [0, 0.4, 0, 0, 0.6, 0])


def test_a_row_of_weight_zero_shows_nothing():
    assert not restricted(weight=[1.0, 1.0, 1.0, 0.0]).candidates[1, 5]


def test_what_was_no_candidate_does_not_become_one():
    world = small_world(short=True)  # query 0 has candidates 0 and 1
    assert not world.restricted_to(log_of([0], [[0, 5]])).candidates[0, 5]


def test_restricting_does_not_change_the_world():
    world = small_world()
    before = world.candidates.copy()
    world.restricted_to(log_of([0], [[0]]))
    np.testing.assert_array_equal(world.candidates, before)


def test_restricting_shares_the_features():
    world = small_world()
    assert np.shares_memory(world.restricted_to(log_of([0], [[0]])).features, world.features)


@loop_over("weight", [None, []])
def test_restricting_to_an_empty_log_is_an_error(weight):
    with pytest.raises(ValueError, match="log has no impressions"):
        small_world().restricted_to(log_of([], np.zeros((0, 2), dtype=int), weight))


def test_restricting_to_another_worlds_log_is_an_error():
    log = log_of([0], [[0]], fingerprint="0" * 64)
    with pytest.raises(ValueError, match="another world"):
        small_world().restricted_to(log)


@loop_over(("query", "ranking", "name"), [(6, 0, "query"), (0, 7, "ranking")])
def test_restricting_to_a_log_of_unknown_things_is_an_error(query, ranking, name):
    with pytest.raises(ValueError, match=rf"^{name}\["):
        small_world().restricted_to(log_of([query], [[ranking]]))


# Standardised features


def test_standardised_features_have_mean_0_and_variance_1_over_candidates():
    world = small_world(short=True)
    rows = world.standardised_features[world.candidates]
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(rows.std(axis=0), 1, atol=1e-6)


def test_standardised_features_are_zero_without_a_candidate():
    world = small_world(short=True)
    assert (world.standardised_features[~world.candidates] == 0).all()


def test_what_is_no_candidate_does_not_influence_the_others():
    world = small_world(short=True)
    features = np.where(world.candidates[:, :, None], world.features, 1e6)
    other = World(world.relevance, features)
    np.testing.assert_array_equal(other.standardised_features, world.standardised_features)


def test_constant_features_become_zero():
    features = np.full((2, 3, 1), 0.1, dtype=np.float32)
    assert (World(RELEVANCE, features).standardised_features == 0).all()


def test_standardised_features_are_clipped_to_ten():
    features = np.zeros((1, 1000, 1), dtype=np.float32)
    features[0, 3] = 1.0  # 31.6 standard deviations above the mean
    world = World(np.zeros((1, 1000), dtype=int), features)
    assert world.standardised_features.max() == 10.0


def test_standardised_features_of_a_world_without_features_is_an_error():
    with pytest.raises(ValueError, match="no features"):
        _ = World(RELEVANCE).standardised_features


def test_repr_names_the_world():
    assert "tiny" in repr(World(**arguments()))


def test_documents_shown_too_rarely_are_left_out():
    world = small_world()
    log = log_of([0, 0, 1], [[0, 1], [0, 2], [0, 1]], np.array([2.0, 1.0, 1.0]))
    restricted = world.restricted_to(log, at_least=2)
    assert np.flatnonzero(restricted.candidates[0]).tolist() == [0, 1]
    assert not restricted.candidates[1:].any()
    assert restricted.query_probs[0] == 1.0
    with pytest.raises(ValueError, match="shows no document 9 times"):
        world.restricted_to(log, at_least=9)
