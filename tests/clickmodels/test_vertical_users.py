"""True users of worlds with verticals: what each type does, and how the users are changed."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import small_ratings_world, small_vertical_world, small_world
from looping import loop_over

from clickgym import clickmodels, data
from clickgym.clickmodels import vertical_users

NAMES = clickmodels.user_names("verticals")
NEWS, IMAGES, VIDEO, LOCATION = range(4)
WORLD = small_vertical_world(n_docs=12)


def expect(user, kind, place):
    """Expected clicks of one page with a block."""
    page = [0], [np.argsort(-user.attractiveness[0])[: user.max_slots]]
    block = {"vertical": [kind], "vertical_position": [place]}
    return float(user.expected_clicks(*page, **block)[0])


def test_there_are_two_and_they_are_declared():
    assert NAMES == ("FCM", "VCM")
    assert [clickmodels.user_takes(name) for name in NAMES] == ["verticals"] * 2


@loop_over("name", NAMES)
def test_a_world_without_verticals_is_refused_in_one_sentence(name):
    refused = rf"^the true user {name} takes worlds with verticals, and this world has none[^.]*$"
    with pytest.raises(ValueError, match=refused):
        clickmodels.true_user(name, small_world())
    with pytest.raises(ValueError, match="takes worlds with verticals, and this world has ratings"):
        clickmodels.true_user(name, small_ratings_world())
    bare = data.World([[-1, -1]], candidates=[[1, 1]], vertical=[0])
    with pytest.raises(ValueError, match="needs grades, and this world has none"):
        clickmodels.true_user(name, bare)


@loop_over("name", clickmodels.user_names())
def test_users_with_grades_take_a_world_with_verticals(name):
    user, plain = (clickmodels.true_user(name, world) for world in (WORLD, small_world(6, 12)))
    page = [0], [[3, 1, 2]]
    np.testing.assert_array_equal(user.click_probs(*page), plain.click_probs(*page))
    assert user.fingerprint == WORLD.fingerprint


@loop_over("name", NAMES)
def test_constants_are_the_published_ones(name):
    user = clickmodels.true_user(name, WORLD)
    np.testing.assert_allclose(
        user.attention[IMAGES], [0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.3, 0.25, 0.2, 0.15, 0.1]
    )
    np.testing.assert_array_equal(user.attention[VIDEO], user.attention[IMAGES])
    np.testing.assert_allclose(user.attention[NEWS, :7], [0.95, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05])
    np.testing.assert_allclose(
        user.examination[:, 0], [0.68, 0.61, 0.48, 0.34, 0.28, 0.2, 0.11, 0.1, 0.08, 0.06]
    )
    np.testing.assert_allclose(user.attractiveness, 0.95 * WORLD.gain)
    assert user.label == name
    assert user.fingerprint == WORLD.fingerprint


def test_the_shift_fades_with_the_distance_from_the_block():
    shift = clickmodels.true_user("FCM", WORLD, slots=3).shift
    np.testing.assert_allclose(shift, [1 / 4, 1 / 3, 1 / 2, 1, 1 / 2, 1 / 3])


@loop_over("name", NAMES)
def test_a_click_makes_what_follows_more_likely_to_be_examined(name):
    table = clickmodels.true_user(name, WORLD).examination
    assert table[5, 5] == pytest.approx(np.sqrt(0.2 * 0.68))
    by_rank = clickmodels.true_user(name, WORLD, memory=0).examination
    np.testing.assert_array_equal(by_rank, np.repeat(by_rank[:, :1], 10, axis=1))


@loop_over("name", NAMES)
def test_only_a_location_satisfies_without_a_click_and_only_it_makes_blind(name):
    user = clickmodels.true_user(name, WORLD)
    for table in (user.satisfied_without_click, user.blind):
        assert (table[:LOCATION] == 0).all()
        assert (table[LOCATION] > 0).all()


@loop_over("name", NAMES)
def test_images_draw_clicks_and_a_location_takes_them_away(name):
    user = clickmodels.true_user(name, WORLD)
    none = expect(user, -1, -1)
    assert expect(user, IMAGES, 0) > none + 0.2
    assert expect(user, LOCATION, 0) < none
    assert abs(expect(user, NEWS, 3) - none) < abs(expect(user, IMAGES, 3) - none) / 2


@loop_over("name", NAMES)
def test_satisfaction_and_blindness_are_turned_off(name):
    user = clickmodels.true_user(name, WORLD, satisfied=False, blind=False)
    assert not user.satisfied_without_click.any()
    assert not user.blind.any()
    np.testing.assert_allclose(expect(user, LOCATION, 4), expect(user, IMAGES, 4))
    half = clickmodels.true_user(name, WORLD, satisfied=[0, 0.5, 0, 0])
    assert (half.satisfied_without_click[IMAGES] == 0.5).all()
    assert half.blind.any()


@loop_over(
    ("name", "parameter", "value", "attribute", "expected"),
    [
        ("FCM", "spread", 2.0, "shift", [1 / 4, 1 / 3, 1 / 2, 1 / 3]),
        ("FCM", "examination", [0.5], "examination", [[0.5, 0.5], [0.375, np.sqrt(0.5 * 0.375)]]),
        ("FCM", "attention", np.full((4, 9), 0.3), "attention", np.full((4, 3), 0.3)),
        ("VCM", "upwards", [0, 0.2, 0.3, 1], "upwards", np.tile([[0], [0.2], [0.3], [1]], 3)),
        ("VCM", "blind", np.full((4, 3), 0.3), "blind", np.full((4, 3), 0.3)),
    ],
)  # fmt: skip
def test_a_users_parameters_can_be_changed(name, parameter, value, attribute, expected):
    user = clickmodels.true_user(name, WORLD, slots=2, **{parameter: value})
    np.testing.assert_allclose(getattr(user, attribute), expected)


@loop_over(
    ("name", "parameter", "value"),
    [
        ("FCM", "spread", 0.0),
        ("FCM", "memory", 2.0),
        ("FCM", "examination", []),
        ("FCM", "satisfied", [0.5]),
        ("VCM", "satisfied", 0.5),
        ("VCM", "blind", [[0.1]]),
        ("VCM", "attention", np.full((4, 2), 0.5)),
        ("VCM", "upwards", [2.0, 0, 0, 0]),
    ],
)
def test_a_bad_parameter_is_named(name, parameter, value):
    with pytest.raises(ValueError, match=rf"^{parameter}\b"):
        clickmodels.true_user(name, WORLD, **{parameter: value})


@loop_over("name", NAMES)
def test_a_type_without_constants_is_named(name):
    world = small_world().with_vertical([0, 4, -1, 0, 0, 0])
    with pytest.raises(ValueError, match=r"world.vertical has the type 4, but .* knows 4 types"):
        clickmodels.true_user(name, world)
    user = clickmodels.true_user(name, world, slots=3, attention=np.full((5, 4), 0.5))
    assert user.satisfied_without_click.shape == (5, 4)


@loop_over("name", NAMES)
def test_long_pages_go_on_fading(name):
    user = clickmodels.true_user(name, WORLD, slots=12)
    assert user.max_slots == 12
    assert user.examination[11, 0] == pytest.approx(0.06 * vertical_users.FADING**2)
    assert user.attention[IMAGES, 12] == 0.1


def test_the_embedded_world_has_all_types_and_queries_without_one():
    world = data.embedded_vertical_world()
    assert set(np.unique(world.vertical)) == {-1, 0, 1, 2, 3}
    assert world.features is data.embedded_world().features
    assert world.fingerprint != data.embedded_world().fingerprint
    assert (data.embedded_vertical_world(1).vertical != world.vertical).any()
    assert data.embedded_vertical_world() is world


@loop_over("name", NAMES)
def test_not_nearly_every_page_is_clicked(name):
    world = data.embedded_vertical_world()
    user = clickmodels.true_user(name, world)
    query = np.flatnonzero(world.vertical >= 0)[:200]
    best = np.argsort(-user.attractiveness[query], axis=1)[:, :10]
    blocks = {"vertical": world.vertical[query], "vertical_position": np.arange(200) % 11}
    nothing = np.exp(user.log_likelihood(query, best, np.zeros(best.shape, bool), **blocks))
    assert 0.2 < nothing.mean() < 0.6


@loop_over("name", NAMES)
def test_attractiveness_may_be_given_by_grade(name):
    table = np.array([0.02, 0.06, 0.4, 0.6, 0.8])
    user = clickmodels.true_user(name, WORLD, attractiveness=table)
    np.testing.assert_array_equal(user.attractiveness, table[WORLD.relevance])
    with pytest.raises(ValueError, match="attractiveness has 4 numbers, but there are the grades"):
        clickmodels.true_user(name, WORLD, attractiveness=table[1:])
