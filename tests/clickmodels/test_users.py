"""True users: the papers' parameters, and how they are changed."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import small_world
from looping import loop_over

from clickgym import clickmodels
from clickgym.data import ClickLog, World
from clickgym.scripts import collect

GRADES = World([[0, 1, 2, 3, 4], [4, -1, 0, -1, 1]])
GAIN = np.array([[0, 1 / 15, 3 / 15, 7 / 15, 1], [1, 0, 0, 0, 1 / 15]])


@loop_over(
    ("name", "parameter", "expected"),
    [
        ("DBN", "attractiveness", 0.95 * GAIN),
        ("DBN", "satisfaction", 0.9 * GAIN),
        ("DBN", "continuation", 0.9),
        ("PBM", "attractiveness", 0.95 * GAIN),
        ("PBM", "examination", [1, 0.9, 0.81, 0.729, *(0.9 ** (r - 1) for r in range(5, 11))]),
        ("UBM", "attractiveness", 0.95 * GAIN),
        ("SDBN", "attractiveness", 0.95 * GAIN),
        ("SDBN", "satisfaction", 0.9 * GAIN),
        ("DCM", "attractiveness", 0.95 * GAIN),
        ("DCM", "continuation", [0.9**rank for rank in range(1, 11)]),
        ("CM", "attractiveness", 0.95 * GAIN),
        ("CCM", "attractiveness", 0.95 * GAIN),
        ("CCM", "continuation", [0.9, 0.8, 0.1]),
        ("CoCM", "attractiveness", GAIN),
        ("CoCM", "satisfaction", 0.7),
        ("CoCM", "continuation", 0.9),
        ("CoCM", "modes", (0.6, 0.3, 0.1)),
        ("CoCM-mismatch", "attractiveness", GAIN),
        ("CoCM-mismatch", "satisfaction", 0.7),
        ("CoCM-mismatch", "continuation", 0.9),
        ("CoCM-mismatch", "modes", (0.2, 0.7, 0.1)),
    ],
)  # fmt: skip
def test_users_have_the_papers_parameters(name, parameter, expected):
    user = clickmodels.true_user(name, GRADES)
    np.testing.assert_allclose(getattr(user, parameter), expected, rtol=1e-14)


def test_examination_of_the_ubm_user_fades_from_the_latest_click():
    examination = clickmodels.true_user("UBM", GRADES).examination
    for rank in range(1, 11):
        for latest in range(rank):
            assert examination[rank - 1, latest] == pytest.approx(0.9 ** (rank - latest - 1))


@loop_over("name", ["CoCM", "CoCM-mismatch"])
def test_blind_clicks_of_the_cocm_users_are_a_fifth_fading_by_nine_tenths(name):
    user = clickmodels.true_user(name, World(np.zeros((1, 10), dtype=int)), modes=(0, 0, 1))
    got = user.click_probs([0], [np.arange(10)])[0]
    np.testing.assert_allclose(got, [0.2 * 0.9**k for k in range(10)])


@loop_over("name", clickmodels.user_names())
def test_floor_lifts_candidates_alone(name):
    user = clickmodels.true_user(name, GRADES, floor=0.02)
    assert user.attractiveness[0, 0] == user.attractiveness[1, 2] == 0.02
    assert user.attractiveness[1, 1] == 0.0


@loop_over("name", clickmodels.user_names())
def test_users_carry_the_worlds_fingerprint(name):
    assert clickmodels.true_user(name, GRADES).fingerprint == GRADES.fingerprint


@loop_over(
    ("name", "params", "attribute", "expected"),
    [
        ("DBN", {"satisfaction_scale": 0.5}, "satisfaction", 0.5 * GAIN),
        ("DBN", {"continuation": 0.4}, "continuation", 0.4),
        ("DBN", {"attractiveness_scale": 0.5}, "attractiveness", 0.5 * GAIN),
        ("PBM", {"decay": 0.5, "slots": 3}, "examination", [1, 0.5, 0.25]),
        ("UBM", {"decay": 0.5, "slots": 2}, "examination", [[1, 1], [0.5, 1]]),
        ("SDBN", {"satisfaction_scale": 0.5}, "satisfaction", 0.5 * GAIN),
        ("DCM", {"decay": 0.5, "slots": 3}, "continuation", [0.5, 0.25, 0.125]),
        ("CM", {"attractiveness_scale": 0.5}, "attractiveness", 0.5 * GAIN),
        ("CCM", {"continuation": (0.3, 0.2, 0.1)}, "continuation", (0.3, 0.2, 0.1)),
        ("CoCM", {"modes": (0.1, 0.2, 0.7)}, "modes", (0.1, 0.2, 0.7)),
        ("CoCM-mismatch", {"satisfaction": 0.1}, "satisfaction", 0.1),
        ("CoCM", {"no_look": [0.5, 0.4]}, "no_look", [0.5, 0.4]),
    ],
)
def test_a_users_parameters_can_be_changed(name, params, attribute, expected):
    user = clickmodels.true_user(name, GRADES, **params)
    np.testing.assert_allclose(getattr(user, attribute), expected)


def test_an_unknown_user_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown user 'cocm'; known: .*CoCM-mismatch"):
        clickmodels.true_user("cocm", GRADES)


@loop_over("name", clickmodels.user_names())
def test_an_unknown_user_parameter_is_an_error(name):
    with pytest.raises(TypeError, match="patience"):
        clickmodels.true_user(name, GRADES, patience=1)


@loop_over(
    ("name", "argument", "value"),
    [
        *((name, "floor", 1.5) for name in clickmodels.user_names()),
        ("DBN", "attractiveness_scale", 1.5),
        ("DBN", "satisfaction_scale", -1.0),
        ("DBN", "continuation", 2.0),
        ("PBM", "slots", 0),
        ("PBM", "decay", 1.5),
        ("UBM", "slots", 2.5),
        ("UBM", "decay", np.nan),
        ("DCM", "slots", 0),
        ("DCM", "decay", 1.5),
        ("SDBN", "satisfaction_scale", 1.1),
        ("CCM", "continuation", (1.0, 0.5)),
        ("CoCM", "modes", (1.0, 1.0, 1.0)),
        ("CoCM-mismatch", "modes", (1.0, 1.0, 1.0)),
    ],
)
def test_a_bad_user_parameter_is_named(name, argument, value):
    with pytest.raises(ValueError, match=rf"^{argument}\b"):
        clickmodels.true_user(name, GRADES, **{argument: value})


@loop_over("name", clickmodels.user_names())
def test_a_user_of_another_world_is_refused(name):
    with pytest.raises(ValueError, match=f"{name.split('-')[0]} belongs to another world"):
        clickmodels.true_user(name, small_world()).check_world(small_world(short=True))


@loop_over("name", clickmodels.user_names())
def test_every_user_takes_slots_and_reads_pages_of_so_many(name):
    world = small_world(2, 14)
    for slots in (3, 12):
        user = clickmodels.true_user(name, world, slots=slots)
        assert user.max_slots in (None, slots)
        assert user.click_probs([0], [np.arange(slots)]).shape == (1, slots)


@loop_over("name", clickmodels.user_names())
def test_a_bad_number_of_slots_is_named_whether_or_not_the_user_needs_it(name):
    for slots in (0, 2.5, -1):
        with pytest.raises(ValueError, match=r"^slots\b"):
            clickmodels.true_user(name, GRADES, slots=slots)


@loop_over("name", clickmodels.user_names())
def test_the_command_collects_long_pages_of_every_user(name, tmp_path):
    out = tmp_path / "log.parquet"
    options = {"user": name, "slots": 12, "logging": "random", "docs": 14, "queries": 5,
               "impressions": 20, "out": out}  # fmt: skip
    assert collect.main([f"--{key}={value}" for key, value in options.items()]) == 0
    assert ClickLog.load(out).slots == 12
