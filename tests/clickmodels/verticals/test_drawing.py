"""Who is satisfied by the block without a click, as the sampler tells it."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import small_vertical_world
from looping import loop_over
from model_contract import ALPHA, PAGES, VECTORS, fit_p_value, many
from scipy import stats

from clickgym import clickmodels
from clickgym.common.random import Uniforms

WORLD = small_vertical_world(short=True)
LOCATION, PLACE, N = 3, 2, 4000
NAMES = clickmodels.user_names("verticals")


def draw(model, **blocks):
    """Clicks (n, K) and satisfaction (n,) of one page with a location, many times."""
    query = np.full(N, 3)
    columns = np.tile([[1], [4], [0], [6]], N)
    settings = {"vertical": np.full(N, LOCATION), "vertical_position": np.full(N, PLACE)}
    clicks, satisfied = model.read_columns(
        query, columns, np.random.default_rng(0), **(settings | blocks)
    )
    return clicks.T, satisfied


@loop_over("name", NAMES)
def test_as_many_are_satisfied_without_a_click_as_the_user_says(name):
    user = clickmodels.true_user(name, WORLD)
    _, satisfied = draw(user)
    share = user.attention[LOCATION, PLACE] * user.satisfied_without_click[LOCATION, PLACE]
    assert stats.binomtest(int(satisfied.sum()), N, share).pvalue > 1e-3


@loop_over("name", NAMES)
def test_who_is_satisfied_by_the_block_does_not_click(name):
    clicks, satisfied = draw(clickmodels.true_user(name, WORLD))
    assert satisfied.any()
    assert not clicks[satisfied].any()
    assert clicks[~satisfied].any()


@loop_over("name", NAMES)
def test_nobody_is_satisfied_by_a_block_that_is_not_there(name):
    user = clickmodels.true_user(name, WORLD)
    types, places = np.full(N, LOCATION), np.full(N, PLACE)
    types[::2] = -1
    places[1::4] = -1
    _, satisfied = draw(user, vertical=types, vertical_position=places)
    assert satisfied[3::4].any()
    assert not satisfied[::2].any()
    assert not satisfied[1::4].any()
    assert not draw(user, vertical=None, vertical_position=None)[1].any()


@loop_over("name", NAMES)
def test_clicks_are_those_of_sample_columns(name):
    user = clickmodels.true_user(name, WORLD)
    query, columns = np.full(3, 3), np.tile([[1], [4], [0], [6]], 3)
    blocks = {"vertical": np.array([3, -1, 1]), "vertical_position": np.array([0, 2, 4])}
    for one in (user, clickmodels.Ensemble([user, clickmodels.true_user("DBN", WORLD)])):
        first, second = (np.random.default_rng(5) for _ in range(2))
        clicks = one.read_columns(query, columns, first, **blocks)[0]
        np.testing.assert_array_equal(clicks, one.sample_columns(query, columns, second, **blocks))


@loop_over("name", NAMES)
def test_single_pages_satisfy_as_often_as_a_batch(name):
    user = clickmodels.true_user(name, WORLD)
    uniforms = Uniforms(np.random.default_rng(1))
    block = {"vertical": LOCATION, "vertical_position": PLACE}
    pages = [user.read_page(3, [1, 4, 0, 6], uniforms, **block) for _ in range(1000)]
    share = user.attention[LOCATION, PLACE] * user.satisfied_without_click[LOCATION, PLACE]
    assert stats.binomtest(sum(done for _, done in pages), 1000, share).pvalue > 1e-3
    assert not any(any(clicks) for clicks, done in pages if done)
    assert user.read_page(3, [1, 4, 0, 6], uniforms)[1] is False


def test_a_member_that_satisfies_does_so_in_an_ensemble():
    users = [clickmodels.true_user(name, WORLD) for name in ("FCM", "DBN")]
    _, satisfied = draw(clickmodels.Ensemble(users))
    share = users[0].attention[LOCATION, PLACE] * users[0].satisfied_without_click[LOCATION, PLACE]
    assert satisfied.mean() == pytest.approx(share / 2, abs=0.03)


def test_a_model_without_verticals_ignores_the_block():
    user = clickmodels.true_user("DBN", WORLD)
    clicks, satisfied = draw(user)
    np.testing.assert_array_equal(clicks, draw(user, vertical=None, vertical_position=None)[0])
    assert not satisfied.any()


def models():
    """Users of all kinds, with satisfaction and blindness for two types."""
    tables = {"satisfied": [0, 0.3, 0, 0.4], "blind": [0, 0.6, 0, 0.3]}
    for name, more in (("FCM", {}), ("VCM", {}), ("VCM", {"down": "page"})):
        yield clickmodels.true_user(name, WORLD, slots=4, memory=0.9, **tables, **more)
    yield clickmodels.true_user("FCM", WORLD, slots=4, latent="slot", satisfied=False, blind=False)


@loop_over("number", range(4))
@loop_over("page", ["full", "three", "empty"])
def test_single_pages_are_drawn_from_their_joint(number, page):
    model = list(models())[number]
    query, ranking = PAGES[page]
    for kind, place in ((1, 0), (1, 2), (3, 4), (-1, 2)):
        block = {"vertical": kind, "vertical_position": place}
        uniforms = Uniforms(np.random.default_rng(place))
        pages = [model.sample_page(query, ranking, uniforms, **block) for _ in range(800)]
        blocks = {name: np.full(len(VECTORS), value) for name, value in block.items()}
        logs = model.log_likelihood(*many(page, len(VECTORS)), VECTORS, **blocks)
        assert fit_p_value(np.array(pages), np.exp(logs)) > ALPHA, (kind, place)
