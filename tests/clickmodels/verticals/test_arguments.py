"""What FCM and VCM take, what they refuse, and what models without verticals say."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SLOTS, random_models
from looping import loop_over

from clickgym import evaluation
from clickgym.clickmodels import FCM, VCM, Ensemble, NotCapable
from clickgym.common.random import Uniforms
from clickgym.data import ClickLog

MODELS = random_models()
PAGES = np.array([0, 1]), np.array([[0, 1, 2, 3, 4], [3, 2, 6, -1, -1]])
CLICKS = np.array([[0, 1, 0, 0, 1], [1, 0, 0, 0, 0]], dtype=bool)
ASK = {
    "click_probs": lambda model, **blocks: model.click_probs(*PAGES, **blocks),
    "conditional": lambda model, **blocks: model.conditional_click_probs(*PAGES, CLICKS, **blocks),
    "log_likelihood": lambda model, **blocks: model.log_likelihood(*PAGES, CLICKS, **blocks),
    "sample": lambda model, **blocks: model.sample(*PAGES, np.random.default_rng(0), **blocks),
}


@loop_over("method", ASK)
@loop_over("name", ["FCM", "VCM"])
@loop_over(
    ("vertical", "position", "message"),
    [
        ([0, 2], [0, 0], r"^vertical\[1\] is 2, but this \w+ knows 2 types"),
        ([0, -2], [0, 0], r"^vertical\[1\] is -2"),
        ([0, 0], [0, 6], r"^vertical_position\[1\] is 6, but this \w+ knows positions 0 to 5"),
        ([0], [0, 1], r"^vertical has shape \(1,\)"),
        ([0.5, 0.0], [0, 1], "^vertical must hold integers"),
        ([0, 0], None, "^vertical is given without vertical_position"),
        (None, [0, 0], "^vertical_position is given without vertical"),
    ],
)
def test_a_bad_block_is_named(method, name, vertical, position, message):
    with pytest.raises(ValueError, match=message):
        ASK[method](MODELS[name], vertical=vertical, vertical_position=position)


def make(cls, **changes):
    return cls(**{**MODELS[cls.name].state(), **changes})


@loop_over(
    ("cls", "changes", "message"),
    [
        (FCM, {"attention": np.zeros((2, SLOTS))}, "attention has shape .* needs 6 positions"),
        (FCM, {"attention": np.full((2, SLOTS + 1), 1.5)}, "attention must be within"),
        (FCM, {"shift": np.zeros(2 * SLOTS - 1)}, "shift has 9 entries, .* need 10"),
        (FCM, {"latent": "result"}, "latent must be one of page, slot"),
        (FCM, {"blind": np.zeros((3, SLOTS + 1))}, "blind has shape"),
        (VCM, {"upwards": np.zeros((1, SLOTS + 1))}, "upwards has shape"),
        (VCM, {"examination_vertical": np.zeros((4, 4))}, "examination_vertical has shape"),
        (VCM, {"down": "top"}, "down must be one of seed, page"),
    ],
)
def test_a_bad_parameter_is_named(cls, changes, message):
    with pytest.raises(ValueError, match=message):
        make(cls, **changes)


@loop_over("name", ["satisfied_without_click", "blind"])
def test_what_belongs_to_a_page_is_refused_by_slots(name):
    some = np.zeros((2, SLOTS + 1))
    some[1, 3] = 0.1
    with pytest.raises(ValueError, match=f"{name} belongs to a whole page"):
        make(FCM, latent="slot", **{name: some})


def test_satisfaction_without_a_click_takes_all_clicks_away():
    model = make(FCM, attention=np.ones((2, 6)), satisfied_without_click=np.ones((2, 6)))
    got = model.click_probs(*PAGES, vertical=[0, 1], vertical_position=[2, 0])
    np.testing.assert_array_equal(got, np.zeros((2, 5)))


@loop_over("cls", [FCM, VCM])
def test_the_blind_never_click_above_the_block(cls):
    model = make(cls, attention=np.ones((2, 6)), blind=np.ones((2, 6)))
    got = model.click_probs(*PAGES, vertical=[0, 1], vertical_position=[2, 1])
    np.testing.assert_array_equal(got > 0, [[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]])


@loop_over("name", sorted({*MODELS} - {"FCM", "VCM"}))
def test_a_model_without_verticals_ignores_them_and_says_so(name):
    model = MODELS[name]
    assert model.vertical_arguments([0], [1]) == {}
    with pytest.raises(NotCapable, match="knows no verticals"):
        model.require_verticals()


def make_log(n=3000):
    rng = np.random.default_rng(0)
    query = rng.integers(0, 6, n)
    ranking = np.argsort(rng.random((n, 7)), axis=1)[:, :SLOTS]
    kinds, places = rng.integers(-1, 2, n), rng.integers(0, SLOTS + 1, n)
    blocks = {"vertical": kinds, "vertical_position": places}
    clicks = MODELS["VCM"].sample(query, ranking, rng, **blocks)
    return ClickLog(query, ranking, clicks, **blocks)


@loop_over("name", ["FCM", "VCM"])
def test_metrics_of_a_log_ask_with_its_blocks(name):
    log, model = make_log(), MODELS[name]
    kind, place = log.vertical, log.vertical_position
    expected = model.log_likelihood(
        log.query, log.ranking, log.clicks, vertical=kind, vertical_position=place
    ).mean()
    assert evaluation.log_likelihood(model, log) == pytest.approx(expected, rel=1e-12)
    bare = ClickLog(log.query, log.ranking, log.clicks)
    assert evaluation.log_likelihood(model, bare) != pytest.approx(expected, rel=1e-6)
    assert evaluation.perplexity(model, log).mean != evaluation.perplexity(model, bare).mean


def test_metrics_of_models_without_verticals_do_not_change():
    log = make_log()
    bare = ClickLog(log.query, log.ranking, log.clicks)
    for name in ("UBM", "CoCM"):
        model = MODELS[name]
        assert evaluation.perplexity(model, log).mean == evaluation.perplexity(model, bare).mean


@loop_over("name", ["FCM", "VCM"])
def test_one_page_is_sampled_like_many(name):
    model = MODELS[name]
    uniforms = Uniforms(np.random.default_rng(3))
    page = [0, 1, 2, 3, 4]
    block = {"vertical": 1, "vertical_position": 3}
    found = np.mean([model.sample_page(0, page, uniforms, **block) for _ in range(4000)], axis=0)
    exact = model.click_probs([0], [page], vertical=[1], vertical_position=[3])[0]
    assert (np.abs(found - exact) < 4.5 * np.sqrt(exact * (1 - exact) / 4000)).all()


@loop_over("name", ["FCM", "VCM"])
def test_estimates_are_near_the_exact_values(name):
    model, blocks = MODELS[name], {"vertical": [1, 0], "vertical_position": [1, 2]}
    exact = model.click_probs(*PAGES, **blocks)
    rng = np.random.default_rng(0)
    found, error = model.estimate_click_probs(*PAGES, 2000, rng, **blocks)
    assert (np.abs(found - exact) <= 4.5 * error + 1e-12).all()


def test_a_misspelt_argument_is_named():
    for name in ("FCM", "VCM"):
        with pytest.raises(TypeError, match="vertical_place"):
            MODELS[name].click_probs(*PAGES, vertical=[0, 0], vertical_place=[1, 1])
    both = Ensemble([MODELS["FCM"], MODELS["FCM"]])
    with pytest.raises(TypeError, match="vertical_place"):
        both.expected_clicks(*PAGES, vertical=[0, 0], vertical_place=[1, 1])
