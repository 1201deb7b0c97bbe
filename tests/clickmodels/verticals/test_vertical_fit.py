"""Fits of FCM and VCM: their derivatives, what they recover, and what a log leaves open."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from judging import repeated
from looping import loop_over
from vertical_users import make_log, make_user, plain_world

from clickgym import clickmodels, evaluation
from clickgym.clickmodels.verticals import mixture_fit
from clickgym.clickmodels.verticals.fcm_fit import FCMWays, mirror_unseen
from clickgym.clickmodels.verticals.vcm_fit import VCMWays
from clickgym.data import ClickLog, World

KINDS = ["FCM", "VCM"]


def small(kind, n=300, seed=1, **more):
    """A user of 4 queries of 6 documents on 4 slots, its log and its world."""
    user = make_user(kind, queries=4, docs=6, slots=4)
    return user, make_log(user, n, seed, without=0.2, **more), plain_world(user)


def make_posterior(kind, log, world, pool, down="seed"):
    ways = FCMWays(4, 4) if kind == "FCM" else VCMWays(4, 4, down)
    shown, pages = mixture_fit._make_pages(ways, log, world)
    prior = mixture_fit.BetaPrior(0.7, 1.9)
    return shown, mixture_fit._Posterior(ways, pages, prior, pool)


@loop_over(("kind", "down"), [("FCM", ""), ("VCM", "seed"), ("VCM", "page")])
def test_the_likelihood_of_a_fit_is_the_models(kind, down):
    _, log, world = small(kind, short=True)
    log = replace(log, weight=np.random.default_rng(0).random(len(log)))
    with ThreadPoolExecutor(1) as pool:
        shown, posterior = make_posterior(kind, log, world, pool, down)
        probs = np.random.default_rng(3).random(len(posterior.scale))
        slopes, parts = posterior.slopes(probs)
    values = np.zeros(world.relevance.size)
    values[shown] = probs[: len(shown)]
    tables = {name: part.reshape(4, -1) for name, part in parts.items() if name != "shift"}
    if kind == "FCM":
        tables["shift"] = parts["shift"]
    else:
        tables["down"] = down
    model = clickmodels.registry.registered_class(kind)(values.reshape(4, 6), **tables)
    each = model.log_likelihood(
        log.query, log.ranking, log.clicks,
        vertical=log.vertical, vertical_position=log.vertical_position,
    )  # fmt: skip
    assert slopes.value == pytest.approx(log.weight @ each, rel=1e-12)


@loop_over("kind", KINDS)
def test_gradients_are_those_of_differences(kind):
    _, log, world = small(kind, n=120, short=True)
    rng = np.random.default_rng(4)
    with ThreadPoolExecutor(1) as pool:
        _, posterior = make_posterior(kind, log, world, pool)
        point = rng.normal(size=len(posterior.scale)) / posterior.scale
        _, gradient = posterior(point)
        for place in range(len(point)):
            step = np.zeros(len(point))
            step[place] = 1e-4
            difference = (posterior(point + step)[0] - posterior(point - step)[0]) / 2e-4
            assert gradient[place] == pytest.approx(difference, rel=1e-5, abs=1e-5), place


def test_pages_that_went_up_or_down_or_noticed_nothing_are_all_pages():
    _, log, world = small("VCM", n=200, short=True)
    with ThreadPoolExecutor(1) as pool:
        _, posterior = make_posterior("VCM", log, world, pool)
        probs = np.random.default_rng(3).random(len(posterior.scale))
        slopes, parts = posterior.slopes(probs)
        up, down = posterior.ways.trials(parts, slopes)["upwards"]
        plain = (1 - parts["attention"]) * slopes.shares[:, 0]
        pages = posterior.pages.pages_by_group(len(up))
        top = np.arange(len(up)) % 5 == 0  # v = 0, where both trails are the same
        np.testing.assert_allclose((up + down + plain)[~top], pages[~top], rtol=1e-10)
        assert (up > 0)[~top].all()
        assert not (up + down)[top].any()
        before = posterior._successes.copy()
        posterior.learn_kinds(np.zeros(len(probs)))
    changed = np.flatnonzero(posterior._successes != before)
    upwards = posterior.parts(np.arange(len(probs)))["upwards"]
    np.testing.assert_array_equal(changed, upwards[~top])


@loop_over("kind", KINDS)
def test_a_log_without_blocks_gives_ubm(kind):
    _, log, world = small(kind)
    none = np.full(len(log), -1)
    for plain in (
        ClickLog(log.query, log.ranking, log.clicks),
        replace(log, vertical=none, vertical_position=none),
    ):
        model, ubm = (clickmodels.fit(name, plain, world) for name in (kind, "UBM"))
        np.testing.assert_array_equal(model.attractiveness, ubm.attractiveness)
        np.testing.assert_array_equal(model.examination, ubm.examination)
        np.testing.assert_array_equal(model.attention, np.zeros((1, 5)))


@loop_over("kind", KINDS)
def test_a_fit_finds_attention(kind):
    user, log, world = small(kind, n=40_000)
    model = clickmodels.fit(kind, log, world)
    found, true = model.attention[:, 1:], user.attention[:, 1:]
    assert np.abs(found - true).mean() < 0.1
    assert np.corrcoef(found.ravel(), true.ravel())[0, 1] > 0.9
    test = make_log(user, 20_000, seed=9)
    scores = [
        evaluation.perplexity(one, test).mean
        for one in (user, model, clickmodels.fit("UBM", log, world))
    ]
    assert scores[1] < scores[0] * 1.001
    assert scores[1] < scores[2]


@loop_over("kind", KINDS)
def test_a_weighted_row_is_a_repeated_row(kind):
    _, log, world = small(kind)
    weighted = replace(log, weight=np.arange(len(log)) % 3 + 1.0)
    rows = np.repeat(np.arange(len(log)), weighted.weight.astype(int))
    assert len(repeated(weighted)) == len(rows)
    first, second = (clickmodels.fit(kind, one, world) for one in (weighted, log[rows]))
    for name, value in first.state().items():
        if isinstance(value, np.ndarray):
            np.testing.assert_allclose(value, second.state()[name], atol=1e-4, err_msg=name)


@loop_over("kind", KINDS)
def test_columns_of_ones_own_are_left_out_without_a_warning(kind):
    _, log, world = small(kind, n=50)
    own = replace(log, extra={"user": np.arange(50)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = clickmodels.fit(kind, own, world)
    expected = clickmodels.fit(kind, log, world)
    np.testing.assert_array_equal(model.attention, expected.attention)


def odd_logs():
    """Logs with blocks that leave much open."""
    _, log, _ = small("FCM", n=60)
    page = {"vertical": [1], "vertical_position": [4]}
    every = {"vertical": np.full(60, 2), "vertical_position": np.full(60, 4)}
    return {
        "no clicks": replace(log, clicks=np.zeros_like(log.clicks)),
        "nothing but clicks": replace(log, clicks=np.ones_like(log.clicks)),
        "one impression": ClickLog([1], [[4, 0, 2, 1]], [[0, 1, 0, 0]], **page),
        "one slot": ClickLog([1], [[4]], [[1]], vertical=[0], vertical_position=[1]),
        "one block": replace(log, **every),
        "empty pages beside others": small("FCM", n=60, short=True)[1],
        "a row of huge weight": replace(log, weight=np.where(np.arange(60) == 0, 1e7, 1.0)),
    }


@loop_over("kind", KINDS)
def test_an_odd_log_gives_a_valid_model(kind):
    world = World(np.zeros((4, 6), int), vertical=[0, 1, -1, 3])
    for what, log in odd_logs().items():
        model = clickmodels.fit(kind, log, world)
        assert model.attention.shape == (4, log.slots + 1), what
        blocks = {"vertical": log.vertical, "vertical_position": log.vertical_position}
        each = model.log_likelihood(log.query, log.ranking, log.clicks, **blocks)
        assert np.isfinite(each).all(), what


def test_blocks_that_a_log_does_not_show_have_the_mean_of_their_type():
    log = ClickLog(
        [0] * 4, [[0, 1]] * 4, [[0, 0]] * 4, weight=[1.0, 3.0, 1.0, 5.0],
        vertical=[0, 0, 1, -1], vertical_position=[0, 2, 1, -1],
    )  # fmt: skip
    attention = np.array([[0.2, 0.5, 0.6], [0.5, 0.9, 0.5], [0.5, 0.5, 0.5]])
    got = mixture_fit.fill_attention(attention, log)
    np.testing.assert_allclose(got, [[0.2, 0.5, 0.6], [0.9] * 3, [0.58] * 3])


def test_distances_that_a_log_does_not_show_have_the_opposite_ones_shift():
    shift = np.array([0.5, 0.5, 0.3, 0.9, 0.2, 0.5])  # distances -3 to 2
    seen = np.array([0, 0, 1, 1, 0, 1], dtype=bool)
    np.testing.assert_array_equal(mirror_unseen(shift, seen), [0, 0.5, 0.3, 0.9, 0.3, 0.5])


def test_the_other_down_trail_is_fitted_when_asked_for():
    _, log, world = small("VCM")
    model = clickmodels.fit("VCM", log, world, down="page")
    assert model.down == "page"
    with pytest.raises(ValueError, match="down must be one of"):
        clickmodels.fit("VCM", log, world, down="top")


@loop_over("kind", KINDS)
def test_an_ensemble_asks_its_members_with_the_blocks(kind):
    _, log, world = small(kind, n=200)
    model = clickmodels.fit(kind, log, world, members=2)
    pages, blocks = (log.query, log.ranking), model.vertical_arguments(*log.blocks(slice(None)))
    assert set(blocks) == {"vertical", "vertical_position"}
    expected = np.mean([one.click_probs(*pages, **blocks) for one in model.members], axis=0)
    np.testing.assert_allclose(model.click_probs(*pages, **blocks), expected, atol=1e-12)
    probs = model.conditional_click_probs(*pages, log.clicks, **blocks)
    joint = np.where(log.clicks, probs, 1 - probs).prod(axis=1)
    likelihood = model.log_likelihood(*pages, log.clicks, **blocks)
    np.testing.assert_allclose(np.log(joint), likelihood, atol=1e-9)
    assert evaluation.log_likelihood(model, log) == pytest.approx(likelihood.mean())
    drawn = model.estimate_click_probs(*pages, 400, np.random.default_rng(0), **blocks)[0]
    assert np.abs(drawn - expected).mean() < 0.03


# The bars: 500,000 impressions, four types, positions uniform

BARS = [("FCM", "published", 0.02), ("FCM", "decaying", 0.04), ("VCM", "decaying", 0.03)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "gamma", "bar"), BARS)
def test_a_long_log_gives_its_user_back(kind, gamma, bar):
    user = make_user(kind, gamma)
    log, test, world = make_log(user, 500_000), make_log(user, 100_000, 2), plain_world(user)
    model = clickmodels.fit(kind, log, world)
    assert np.abs(model.attention - user.attention).mean() < bar  # positions are uniform
    if kind == "VCM":
        assert np.abs(model.upwards - user.upwards)[:, 1:].mean() < bar
    ubm = clickmodels.fit("UBM", log, world)
    oracle, own, plain = (evaluation.perplexity(one, test).mean for one in (user, model, ubm))
    assert own < 1.001 * oracle
    assert plain > 1.001 * oracle
    assert plain > 1.001 * own
