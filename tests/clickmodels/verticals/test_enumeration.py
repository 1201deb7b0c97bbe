"""FCM and VCM against their definition, one page and one user's choices after the other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from clickgym import clickmodels
from clickgym.clickmodels import FCM, UBM, VCM

K, TYPES = 5, 2
CLICKS = np.array(list(itertools.product([False, True], repeat=K)))
VARIANTS = ["page", "slot", "seed", "down page"]
RANKING = [4, 1, 0, 6, 2]


def make(variant, extras=False, seed=0, extreme=False):
    """A model of random parameters; with ``extras`` users are satisfied or blind at times."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return rng.choice([0.0, 0.3, 1.0], shape) if extreme else rng.random(shape)

    values, by_block = draw(3, 7), (TYPES, K + 1)
    more = {"satisfied_without_click": draw(*by_block), "blind": draw(*by_block)} if extras else {}
    if variant in ("page", "slot"):
        return FCM(values, draw(K, K), draw(*by_block), draw(2 * K), variant, **more)
    tables = draw(K, K), draw(K, K), draw(*by_block), draw(*by_block)
    return VCM(values, *tables, down=variant.removeprefix("down "), **more)


CASES = [(variant, False) for variant in VARIANTS]
CASES += [(variant, True) for variant in VARIANTS if variant != "slot"]
cases = pytest.mark.parametrize(("variant", "extras"), CASES)


def read_along(order, values, clicks, examined):
    """P(clicks) of a page that is read in ``order``; ``examined(place, latest, rank)``."""
    prob, latest = 1.0, 0
    for place, rank in enumerate(order):
        chance = values[rank] * examined(place, latest, rank)
        prob *= chance if clicks[rank] else 1 - chance
        latest = place + 1 if clicks[rank] else latest
    return prob


def literal_joint(model, query, ranking, clicks, kind, v):
    """P(clicks) as the models' text has it; no block where ``kind`` is -1."""
    docs = [doc for doc in ranking if doc >= 0]
    if any(clicks[len(docs) :]):
        return 0.0
    values = [model.attractiveness[query, doc] for doc in docs]
    from_top = list(range(len(docs)))
    plain = read_along(from_top, values, clicks, lambda p, j, r: model.examination[p, j])
    if kind < 0:
        return plain
    attention = model.attention[kind, v]
    if getattr(model, "latent", None) == "slot":
        def by_slot(place, latest, rank):
            gamma = model.examination[place, latest]
            return gamma + (1 - gamma) * model.shift[rank - v + K] * attention
        return read_along(from_top, values, clicks, by_slot)
    satisfied, blind = model.satisfied_without_click[kind, v], model.blind[kind, v]
    noticed = satisfied * (not any(clicks))
    for is_blind, share in ((False, 1 - blind), (True, blind)):
        noticed += (1 - satisfied) * share * _noticed(model, values, clicks, kind, v, is_blind)
    return (1 - attention) * plain + attention * noticed


def _noticed(model, values, clicks, kind, v, is_blind):
    ranks = list(range(len(values)))
    if isinstance(model, FCM):
        def near(place, latest, rank):
            gamma = model.examination[place, latest]
            return 0 if is_blind and rank < v else gamma + (1 - gamma) * model.shift[rank - v + K]
        return read_along(ranks, values, clicks, near)

    def vertical(place, latest, rank):
        return 0 if is_blind and rank < v else model.examination_vertical[place, latest]
    above, below = ranks[:v], ranks[v:]
    up = read_along(above[::-1] + below, values, clicks, vertical)
    trail = below + above if model.down == "seed" else ranks
    down = read_along(trail, values, clicks, vertical)
    sigma = model.upwards[kind, v]
    return sigma * up + (1 - sigma) * down


def every_page():
    """Query, ranking, type and position: full pages for every block, and some short ones."""
    for kind, v in itertools.product(range(TYPES), range(K + 1)):
        yield 1, RANKING, kind, v
    yield 1, RANKING, -1, -1
    for length, v in [(0, 0), (1, 0), (1, 1), (3, 2), (3, 3), (3, 5), (4, 1)]:
        yield 2, RANKING[:length] + [-1] * (K - length), 1, v


def asked(page, n=1 << K):
    query, ranking, kind, v = page
    blocks = {"vertical": np.full(n, kind), "vertical_position": np.full(n, v)}
    return (np.full(n, query), np.tile(ranking, (n, 1))), blocks


def literal_table(model, page):
    query, ranking, kind, v = page
    return np.array([literal_joint(model, query, ranking, c, kind, v) for c in CLICKS.tolist()])


@cases
def test_the_joint_is_the_definition(variant, extras):
    for extreme, page in itertools.product((False, True), every_page()):
        model = make(variant, extras, extreme=extreme)
        pages, blocks = asked(page)
        expected = literal_table(model, page)
        assert expected.sum() == pytest.approx(1.0, abs=1e-12)
        got = np.exp(model.log_likelihood(*pages, CLICKS, **blocks))
        np.testing.assert_allclose(got, expected, atol=1e-12, err_msg=str(page))


@cases
def test_conditionals_are_ratios_of_prefix_probabilities(variant, extras):
    for extreme, page in itertools.product((False, True), every_page()):
        model = make(variant, extras, extreme=extreme)
        pages, blocks = asked(page)
        table = literal_table(model, page)
        got = model.conditional_click_probs(*pages, CLICKS, **blocks)
        for slot in range(K):
            same = (CLICKS[:, None, :slot] == CLICKS[None, :, :slot]).all(axis=2)
            before, click = same @ table, same @ (table * CLICKS[:, slot])
            possible = before > 1e-14
            expected = np.where(possible, click / np.where(possible, before, 1.0), 0.0)
            found = np.where(possible, got[:, slot], 0.0)
            np.testing.assert_allclose(found, expected, atol=1e-9, err_msg=str((page, slot)))


@cases
def test_click_probs_are_sums_of_the_joint(variant, extras):
    model = make(variant, extras)
    for page in every_page():
        pages, blocks = asked(page, 1)
        expected = literal_table(model, page) @ CLICKS
        got = model.click_probs(*pages, **blocks)[0]
        np.testing.assert_allclose(got, expected, atol=1e-12, err_msg=str(page))


@cases
def test_a_page_satisfies_by_a_click_or_without_one(variant, extras):
    model = make(variant, extras)
    for page in every_page():
        pages, blocks = asked(page, 1)
        expected = literal_table(model, page) @ CLICKS.any(axis=1)
        _, _, kind, v = page
        if kind >= 0:
            expected += model.attention[kind, v] * model.satisfied_without_click[kind, v]
        got = model.satisfied_probs(*pages, **blocks)[0]
        assert got == pytest.approx(expected, abs=1e-12), page
        both = clickmodels.Ensemble([model, UBM(model.attractiveness, model.examination)])
        mean = (expected + UBM.satisfied_probs(both.members[1], *pages)[0]) / 2
        assert both.satisfied_probs(*pages, **blocks)[0] == pytest.approx(mean, abs=1e-12), page


@cases
def test_sampled_clicks_fit_the_joint(variant, extras):
    model, n = make(variant, extras), 6000
    every = list(every_page())
    query, ranking, kind, v = (np.repeat([page[i] for page in every], n, axis=0) for i in range(4))
    rng = np.random.default_rng(5)
    clicks = model.sample(query, ranking, rng, vertical=kind, vertical_position=v)
    for number, page in enumerate(every):
        own = clicks[number * n : (number + 1) * n] @ (1 << np.arange(K)[::-1])
        counts, expected = np.bincount(own, minlength=1 << K), literal_table(model, page) * n
        assert not counts[expected == 0].any(), page
        rare = expected < 5
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        kept = expected > 1e-9
        if kept.sum() > 1:
            assert chisquare(counts[kept], expected[kept]).pvalue > 1e-4, page


def asks(model, **blocks):
    """All that the model says about pages, with and without documents at the end."""
    ranking = np.tile([RANKING, [*RANKING[:3], -1, -1]], (len(CLICKS), 1))
    clicks = np.repeat(CLICKS, 2, axis=0) & (ranking >= 0)
    query = np.arange(len(clicks)) % 3
    return [
        model.conditional_click_probs(query, ranking, clicks, **blocks),
        model.log_likelihood(query, ranking, clicks, **blocks),
        model.click_probs(query, ranking, **blocks),
        model.expected_clicks(query, ranking, **blocks),
    ]


@cases
def test_without_attention_or_block_it_is_ubm(variant, extras):
    model, n = make(variant, extras), 2 * len(CLICKS)
    state = model.state()
    unaware = type(model)(**state | {"attention": np.zeros((TYPES, K + 1))})
    kinds, places = np.arange(n) % TYPES, np.arange(n) % (K + 1)
    ubm = UBM(model.attractiveness, model.examination)
    for same, blocks in (
        (unaware, {"vertical": kinds, "vertical_position": places}),
        (model, {"vertical": np.full(n, -1), "vertical_position": places}),
        (model, {"vertical": kinds, "vertical_position": np.full(n, -1)}),
        (model, {}),
    ):
        for got, expected in zip(asks(same, **blocks), asks(ubm), strict=True):
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


@cases
def test_pages_of_one_call_are_answered_each_by_its_own_block(variant, extras):
    model = make(variant, extras)
    every = list(every_page())
    query, ranking, kind, v = (np.array([page[i] for page in every]) for i in range(4))
    got = model.click_probs(query, ranking, vertical=kind, vertical_position=v)
    for row, page in enumerate(every):
        pages, blocks = asked(page, 1)
        np.testing.assert_allclose(got[row], model.click_probs(*pages, **blocks)[0], atol=1e-15)


@cases
def test_a_loaded_model_says_the_same(variant, extras, tmp_path):
    model = make(variant, extras)
    model.save(tmp_path / "model.safetensors")
    again = clickmodels.ClickModel.load(tmp_path / "model.safetensors")
    blocks = {"vertical": np.ones(64, int), "vertical_position": np.arange(64) % (K + 1)}
    for got, expected in zip(asks(again, **blocks), asks(model, **blocks), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_the_two_readings_of_fcm_differ():
    every = [asked(page, 1) for page in every_page()]
    page, slot = (
        np.concatenate([make(variant).click_probs(*pages, **blocks) for pages, blocks in every])
        for variant in ("page", "slot")
    )
    np.testing.assert_allclose(page[:, 0], slot[:, 0], atol=1e-12)  # the first rank's marginal
    assert np.abs(page - slot).max() > 1e-3


def test_seeds_decide_the_samples():
    model = make("seed", extras=True)
    pages, blocks = asked((1, RANKING, 0, 2), 200)
    first, again, other = (
        model.sample(*pages, np.random.default_rng(seed), **blocks) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
