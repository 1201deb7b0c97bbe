"""The contract of click models, run over every registered class and every true user.

Each model stands against its own joint distribution over all 2^K click vectors; that the joint
is the paper's is the business of test_brute_force.py.
"""

from __future__ import annotations

import copy
import functools
import itertools
import pickle

import numpy as np
import pytest
from conftest import SLOTS, random_models, small_world
from scipy.stats import chisquare

from clickgym import clickmodels, policies
from clickgym.clickmodels import ClickModel, NotCapable, NotExact, registry
from clickgym.common.random import Uniforms
from clickgym.common.storage import save_arrays
from clickgym.data import World
from clickgym.envs import collect

K = 4
# Some 300 tests of fit stand below: at 1e-3 each, one of them would fail by chance in about a
# quarter of all random streams.
ALPHA = 1e-4
VECTORS = np.array(list(itertools.product([False, True], repeat=K)))
NAMES = [
    name
    for name in clickmodels.registered()
    if registry.registered_class(name).__module__.startswith("clickgym.")
]


@functools.cache
def random_model(name):
    """A model of the registered class ``name``: of random parameters, or fitted to a small log."""
    models = random_models(seed=2)
    if name in models:
        return models[name]
    world = small_world()
    user = clickmodels.true_user("CoCM", world)
    log = collect(world, user, policies.Uniform(world, SLOTS), 300, seed=0)
    return clickmodels.fit(name, log, world)


def makers():
    """How each subject is made: every registered class, every user of full and of short lists."""
    found = {f"class {name}": functools.partial(random_model, name) for name in NAMES}
    for kind in ("full", "short"):
        world = small_world(short=kind == "short")
        for name in clickmodels.user_names():
            make = functools.partial(clickmodels.true_user, name, world)
            found[f"user {name} of {kind} lists"] = make
    return found


MAKERS = makers()


@functools.cache
def subject(name):
    """The model ``name``, made when it is first asked for: a broken class fails its own tests."""
    return MAKERS[name]()


def able(capability):
    """Whatever declares ``capability``, as a parameter ``name``."""
    lacking = {
        f"class {name}"
        for name in NAMES
        if capability not in registry.registered_class(name).capabilities
    }
    return pytest.mark.parametrize("name", [name for name in MAKERS if name not in lacking])


PAGES = {  # queries 0 and 1 of the short world have candidates 0, 1 and 0, 1, 2
    "full": (3, [4, 1, 0, 6]),
    "three": (1, [1, 2, 0, -1]),
    "two": (0, [0, 1, -1, -1]),
    "one": (5, [1, -1, -1, -1]),
    "empty": (2, [-1, -1, -1, -1]),
}

every_model = pytest.mark.parametrize("name", MAKERS)
every_class = pytest.mark.parametrize("name", NAMES)
every_page = pytest.mark.parametrize("page", PAGES)
generative, conditional = able("generative"), able("conditional")


def repeated(page, n):
    """The page ``n`` times: query (n,) and ranking (n, K)."""
    query, ranking = PAGES[page]
    return np.full(n, query), np.tile(ranking, (n, 1))


def joint(model, page):
    """P(clicks) of all 2^K click vectors, in the order of VECTORS."""
    return np.exp(model.log_likelihood(*repeated(page, len(VECTORS)), VECTORS))


def all_pages():
    query, ranking = zip(*PAGES.values(), strict=True)
    return np.array(query), np.array(ranking)


def fit_p_value(clicks, probs):
    """P-value of sampled click vectors (n, K) under the joint; 0 if an impossible one was drawn.

    Click vectors that are expected fewer than five times count as one.
    """
    counts = np.bincount(clicks @ (1 << np.arange(K)[::-1]), minlength=1 << K)
    if counts[probs < 1e-12].any():
        return 0.0
    expected = probs * len(clicks)
    rare = expected < 5
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    kept = expected > 0.1
    if kept.sum() == 1:
        return float(counts[kept][0] == len(clicks))
    scale = counts[kept].sum() / expected[kept].sum()
    return chisquare(counts[kept], expected[kept] * scale).pvalue


# The joint and what follows from it


@generative
@every_page
def test_joint_sums_to_one_over_all_click_vectors(name, page):
    assert joint(subject(name), page).sum() == pytest.approx(1.0, abs=1e-12)


@generative
@every_page
def test_click_probs_are_sums_of_the_joint(name, page):
    expected = joint(subject(name), page) @ VECTORS
    got = subject(name).click_probs(*repeated(page, 1))[0]
    np.testing.assert_allclose(got, expected, atol=1e-12)


@generative
@every_page
def test_conditionals_multiply_to_the_joint(name, page):
    probs = subject(name).conditional_click_probs(*repeated(page, len(VECTORS)), VECTORS)
    product = np.where(VECTORS, probs, 1 - probs).prod(axis=1)
    np.testing.assert_allclose(product, joint(subject(name), page), atol=1e-12)


@generative
@every_page
def test_conditionals_are_ratios_of_the_joint(name, page):
    probs = joint(subject(name), page)
    got = subject(name).conditional_click_probs(*repeated(page, len(VECTORS)), VECTORS)
    for slot in range(K):
        same_prefix = (VECTORS[:, None, :slot] == VECTORS[None, :, :slot]).all(axis=2)
        before, click = same_prefix @ probs, same_prefix @ (probs * VECTORS[:, slot])
        possible = before > 1e-15
        expected = np.where(possible, click / np.where(possible, before, 1.0), 0.0)
        np.testing.assert_allclose(got[:, slot], expected, atol=1e-9)


def assert_reads_only(model, page, n_after):
    """Assert that the conditional of slot k does not change with clicks from k + n_after on."""
    got = model.conditional_click_probs(*repeated(page, len(VECTORS)), VECTORS)
    for slot in range(K):
        read = VECTORS.copy()
        read[:, slot + n_after :] = False
        alone = model.conditional_click_probs(*repeated(page, len(VECTORS)), read)
        np.testing.assert_allclose(got[:, slot], alone[:, slot], atol=1e-12)


@conditional
@every_page
def test_conditionals_do_not_look_at_later_clicks(name, page):
    assert_reads_only(subject(name), page, n_after=1)


@generative
@every_page
def test_conditionals_do_not_look_at_the_click_that_they_predict(name, page):
    assert_reads_only(subject(name), page, n_after=0)


@generative
def test_expected_clicks_are_the_sum_of_click_probs(name):
    model = subject(name)
    expected = model.click_probs(*all_pages()).sum(axis=1)
    np.testing.assert_allclose(model.expected_clicks(*all_pages()), expected, atol=1e-12)


@generative
def test_a_batch_gives_what_its_pages_give_alone(name):
    model = subject(name)
    query, ranking = all_pages()
    alone = [model.click_probs([q], [r])[0] for q, r in zip(query, ranking, strict=True)]
    np.testing.assert_allclose(model.click_probs(query, ranking), alone, atol=1e-15)


@generative
def test_click_probs_do_not_depend_on_the_integer_type(name):
    model = subject(name)
    query, ranking = all_pages()
    narrow = model.click_probs(query.astype(np.int32), ranking.astype(np.int16))
    np.testing.assert_array_equal(narrow, model.click_probs(query, ranking))


# What the base class derives


@generative
@every_page
def test_base_click_probs_agree(name, page):
    model, pages = subject(name), repeated(page, 1)
    np.testing.assert_allclose(
        ClickModel.click_probs(model, *pages), model.click_probs(*pages), atol=1e-12
    )


@generative
@every_page
def test_base_log_likelihood_agrees(name, page):
    got = ClickModel.log_likelihood(
        subject(name), *repeated(page, len(VECTORS)), VECTORS
    )
    np.testing.assert_allclose(np.exp(got), joint(subject(name), page), atol=1e-12)


# Sampling


def by_sample(model, page, n):
    return model.sample(*repeated(page, n), np.random.default_rng(0))


def by_sample_page(model, page, n):
    query, ranking = PAGES[page]
    uniforms = Uniforms(np.random.default_rng(1))
    return np.array([model.sample_page(query, ranking, uniforms) for _ in range(n)])


def by_base_class(model, page, n):
    query, ranking = repeated(page, n)
    return ClickModel.sample_columns(model, query, ranking.T, np.random.default_rng(2)).T


SAMPLERS = {"sample": by_sample, "sample_page": by_sample_page, "base class": by_base_class}
every_sampler = pytest.mark.parametrize("sampler", SAMPLERS)


@generative
@every_page
@every_sampler
def test_sampled_clicks_fit_the_joint(name, page, sampler):
    clicks = SAMPLERS[sampler](subject(name), page, 3000 if sampler == "sample_page" else 10_000)
    assert fit_p_value(clicks, joint(subject(name), page)) > ALPHA


@generative
def test_pages_of_one_batch_are_sampled_each_from_its_own_joint(name):
    """Full and short pages side by side: the short ones must not disturb the others."""
    pages = list(PAGES)
    query, ranking = (np.tile(part, (4000, 1)[: part.ndim]) for part in all_pages())
    clicks = subject(name).sample(query, ranking, np.random.default_rng(3))
    for index, page in enumerate(pages):
        own = clicks[index :: len(pages)]
        assert fit_p_value(own, joint(subject(name), page)) > ALPHA, page


@generative
@every_sampler
def test_empty_slots_are_never_clicked_in_samples(name, sampler):
    assert not SAMPLERS[sampler](subject(name), "two", 500)[:, 2:].any()


@generative
def test_empty_slots_have_click_probability_zero(name):
    query, ranking = all_pages()
    assert (subject(name).click_probs(query, ranking)[ranking < 0] == 0).all()


@conditional
def test_empty_slots_have_conditional_zero(name):
    query, ranking = repeated("two", len(VECTORS))
    got = subject(name).conditional_click_probs(query, ranking, VECTORS)
    assert (got[:, 2:] == 0).all()


@generative
def test_a_click_on_an_empty_slot_is_impossible(name):
    impossible = VECTORS[:, 2:].any(axis=1)
    got = subject(name).log_likelihood(*repeated("two", len(VECTORS)), VECTORS)
    assert (got[impossible] == -np.inf).all()


@generative
def test_samples_are_boolean_and_shaped_like_the_ranking(name):
    query, ranking = all_pages()
    clicks = subject(name).sample(query, ranking, np.random.default_rng(0))
    assert (clicks.dtype, clicks.shape) == (np.bool_, ranking.shape)


@generative
def test_sample_page_gives_plain_booleans(name):
    clicks = subject(name).sample_page(*PAGES["full"], Uniforms(np.random.default_rng(0)))
    assert {type(click) for click in clicks} == {bool}


@generative
@every_sampler
def test_same_seed_gives_the_same_clicks(name, sampler):
    first, second = (SAMPLERS[sampler](subject(name), "full", 100) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@generative
def test_estimates_are_within_a_few_standard_errors(name):
    model, pages = subject(name), all_pages()
    exact = model.click_probs(*pages)
    estimate, _ = model.estimate_click_probs(*pages, 1000, np.random.default_rng(0))
    assert (np.abs(estimate - exact) <= 4.0 * np.sqrt(exact * (1 - exact) / 1000) + 1e-12).all()


@generative
def test_estimated_standard_errors_are_those_of_a_mean(name):
    probs, stderr = subject(name).estimate_click_probs(
        *all_pages(), 50, np.random.default_rng(0)
    )
    np.testing.assert_allclose(stderr, np.sqrt(probs * (1 - probs) / 49))


@pytest.mark.parametrize("samples", [0, 1, 2.5])
def test_a_bad_number_of_samples_is_named(samples):
    with pytest.raises(ValueError, match="samples"):
        random_models()["PBM"].estimate_click_probs([0], [[1]], samples, np.random.default_rng(0))


@generative
def test_no_pages_give_no_clicks(name):
    no_pages = np.zeros(0, dtype=int), np.zeros((0, K), dtype=int)
    assert subject(name).sample(*no_pages, np.random.default_rng(0)).shape == (0, K)


@conditional
def test_no_pages_give_no_conditionals(name):
    no_pages = np.zeros(0, dtype=int), np.zeros((0, K), dtype=int)
    got = subject(name).conditional_click_probs(*no_pages, np.zeros((0, K), dtype=bool))
    assert got.shape == (0, K)


# Shape, sharing, world


@able("rank")
def test_relevance_has_the_shape_of_the_world(name):
    assert subject(name).relevance().shape == subject(name).shape == (6, 7)


@every_model
def test_capabilities_are_known(name):
    assert subject(name).capabilities <= {"rank", "conditional", "generative"}


@every_model
@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_copies_are_the_same_object(name, make):
    assert make(subject(name)) is subject(name)


@generative
def test_parameters_do_not_follow_the_callers_arrays(name):
    model = subject(name)
    state = {
        key: value.copy() if isinstance(value, np.ndarray) else value
        for key, value in model.state().items()
    }
    again = type(model).from_state(**state)
    for value in state.values():
        if isinstance(value, np.ndarray):
            value[:] = 0.123
    np.testing.assert_array_equal(again.relevance(), model.relevance())
    np.testing.assert_array_equal(again.click_probs(*all_pages()), model.click_probs(*all_pages()))


@pytest.mark.parametrize("name", clickmodels.user_names())
def test_a_user_of_another_world_is_refused(name):
    with pytest.raises(ValueError, match=f"{name.split('-')[0]} belongs to another world"):
        clickmodels.true_user(name, small_world()).check_world(small_world(short=True))


@every_class
def test_a_model_of_another_shape_is_refused(name):
    with pytest.raises(ValueError, match=r"for 6 queries of 7|another world"):
        random_model(name).check_world(small_world(n_docs=8))


@pytest.mark.parametrize("name", sorted(random_models()))
def test_a_model_without_fingerprint_fits_any_world_of_its_shape(name):
    assert random_models()[name].check_world(small_world()) is None


# Bad pages


BAD_PAGES = {
    "query-unknown": ("query", [6], [[0, 1]]),
    "query-negative": ("query", [-1], [[0, 1]]),
    "query-float": ("query", [0.0], [[0, 1]]),
    "query-2d": ("query", [[0]], [[0, 1]]),
    "ranking-unknown-document": ("ranking", [0], [[0, 7]]),
    "ranking-below-minus-one": ("ranking", [0], [[0, -2]]),
    "ranking-gap": ("ranking", [0], [[-1, 0]]),
    "ranking-float": ("ranking", [0], [[0.0, 1.0]]),
    "ranking-1d": ("ranking", [0], [0]),
    "ranking-rows": ("ranking", [0], [[0, 1], [1, 0]]),
    "ranking-ragged": ("ranking", [0, 0], [[0, 1], [1]]),
    "ranking-no-slots": ("ranking", [0], [[]]),
}
ASK = {
    "click_probs": lambda model, query, ranking: model.click_probs(query, ranking),
    "sample": lambda model, query, ranking: model.sample(
        query, ranking, np.random.default_rng(0)
    ),
    "conditional_click_probs": lambda model, query, ranking: model.conditional_click_probs(
        query, ranking, np.zeros((len(query), 2))
    ),
    "log_likelihood": lambda model, query, ranking: model.log_likelihood(
        query, ranking, np.zeros((len(query), 2))
    ),
}


@generative
@pytest.mark.parametrize("bad", BAD_PAGES)
@pytest.mark.parametrize("method", ASK)
def test_a_bad_page_is_named(name, bad, method):
    argument, query, ranking = BAD_PAGES[bad]
    with pytest.raises(ValueError, match=rf"^{argument}\b"):
        ASK[method](subject(name), query, ranking)


@generative
@pytest.mark.parametrize(
    "clicks",
    [[[0, 1, 0]], [[0, 1], [0, 0]], [0, 1], [[0, 2]], [[0, np.nan]]],
    ids=["slots", "rows", "1d", "two", "nan"],
)
@pytest.mark.parametrize("method", ["conditional_click_probs", "log_likelihood"])
def test_bad_clicks_are_named(name, clicks, method):
    with pytest.raises(ValueError, match=r"^clicks\b"):
        getattr(subject(name), method)([0], [[0, 1]], clicks)


@pytest.mark.parametrize("name", ["PBM", "UBM", "DCM", "CoCM"])
def test_a_page_longer_than_the_model_knows_is_refused(name):
    with pytest.raises(ValueError, match=rf"ranking has 6 slots, but this {name} knows {SLOTS}"):
        random_models()[name].click_probs([0], [[0, 1, 2, 3, 4, 5]])


# Bad parameters

TABLE = np.full((2, 3), 0.5)
SPOILT = np.array([[0.5, 0.5, 0.5], [0.5, np.nan, 0.5]])


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        *((name, "attractiveness", value) for name in (
            "PBM", "UBM", "DBN", "SDBN", "CM", "DCM", "CCM", "CoCM")
          for value in (TABLE + 0.6, TABLE - 0.6, SPOILT, TABLE[0], TABLE[:0], TABLE.astype(str))),
        ("PBM", "examination", [0.5, 1.1]),
        ("PBM", "examination", [0.5, -0.1]),
        ("PBM", "examination", [0.5, np.nan]),
        ("PBM", "examination", [[0.5]]),
        ("UBM", "examination", [0.5, 0.5]),
        ("UBM", "examination", [[0.5, 0.5]]),
        ("UBM", "examination", np.zeros((0, 0))),
        ("UBM", "examination", [[0.5, 0.5], [0.5, 2.0]]),
        ("DBN", "satisfaction", TABLE + 0.6),
        ("DBN", "satisfaction", SPOILT),
        ("DBN", "satisfaction", TABLE[:1]),
        ("DBN", "continuation", 1.1),
        ("DBN", "continuation", np.nan),
        ("DBN", "continuation", [0.9]),
        ("SDBN", "satisfaction", SPOILT),
        ("SDBN", "satisfaction", TABLE[:1]),
        ("DCM", "continuation", [0.5, 1.1]),
        ("DCM", "continuation", []),
        ("DCM", "continuation", 0.5),
        ("CCM", "continuation", [0.5, 0.5]),
        ("CCM", "continuation", [0.5, 0.5, np.nan]),
        ("CoCM", "satisfaction", -0.1),
        ("CoCM", "continuation", 1.1),
        ("CoCM", "modes", (0.6, 0.4)),
        ("CoCM", "modes", (0.2, 0.7, 0.3)),
        ("CoCM", "modes", (1.5, -0.5, 0.0)),
        ("CoCM", "modes", (0.5, np.nan, 0.5)),
        ("CoCM", "no_look", [0.5, 1.5]),
        ("CoCM", "no_look", 0.2),
    ],
)  # fmt: skip
def test_a_bad_parameter_is_named(name, argument, value):
    good = {
        "PBM": {"attractiveness": TABLE, "examination": [0.5]},
        "UBM": {"attractiveness": TABLE, "examination": [[0.5]]},
        "DBN": {"attractiveness": TABLE, "satisfaction": TABLE, "continuation": 0.9},
        "SDBN": {"attractiveness": TABLE, "satisfaction": TABLE},
        "CM": {"attractiveness": TABLE},
        "DCM": {"attractiveness": TABLE, "continuation": [0.9]},
        "CCM": {"attractiveness": TABLE, "continuation": [0.9, 0.5, 0.1]},
        "CoCM": {"attractiveness": TABLE},
    }
    with pytest.raises(ValueError, match=rf"^{argument}\b"):
        registry.registered_class(name)(**good[name] | {argument: value})


@every_class
def test_an_unknown_parameter_is_an_error(name):
    model = random_model(name)
    with pytest.raises(TypeError, match="patience"):
        type(model).from_state(**model.state(), patience=1)


# True users, against the design's section 4

GRADES = World([[0, 1, 2, 3, 4], [4, -1, 0, -1, 1]])
GAIN = np.array([[0, 1 / 15, 3 / 15, 7 / 15, 1], [1, 0, 0, 0, 1 / 15]])


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("name", ["CoCM", "CoCM-mismatch"])
def test_blind_clicks_of_the_cocm_users_are_a_fifth_fading_by_nine_tenths(name):
    user = clickmodels.true_user(name, World(np.zeros((1, 10), dtype=int)), modes=(0, 0, 1))
    got = user.click_probs([0], [np.arange(10)])[0]
    np.testing.assert_allclose(got, [0.2 * 0.9**k for k in range(10)])


@pytest.mark.parametrize("name", clickmodels.user_names())
def test_floor_lifts_candidates_alone(name):
    user = clickmodels.true_user(name, GRADES, floor=0.02)
    assert user.attractiveness[0, 0] == user.attractiveness[1, 2] == 0.02
    assert user.attractiveness[1, 1] == 0.0


@pytest.mark.parametrize("name", clickmodels.user_names())
def test_users_carry_the_worlds_fingerprint(name):
    assert clickmodels.true_user(name, GRADES).fingerprint == GRADES.fingerprint


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("name", clickmodels.user_names())
def test_an_unknown_user_parameter_is_an_error(name):
    with pytest.raises(TypeError, match="patience"):
        clickmodels.true_user(name, GRADES, patience=1)


@pytest.mark.parametrize(
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


# Saving and loading


def saved(model, tmp_path):
    path = tmp_path / "model.safetensors"
    model.save(path)
    return path


NUMBERS = {
    "click_probs": lambda model: model.click_probs(*all_pages()),
    "conditional_click_probs": lambda model: model.conditional_click_probs(
        *repeated("full", len(VECTORS)), VECTORS
    ),
    "log_likelihood": lambda model: model.log_likelihood(
        *repeated("full", len(VECTORS)), VECTORS
    ),
    "sample": lambda model: by_sample(model, "full", 1000),
    "sample_page": lambda model: by_sample_page(model, "full", 200),
}


@able("rank")
def test_a_loaded_model_ranks_alike(name, tmp_path):
    again = ClickModel.load(saved(subject(name), tmp_path))
    np.testing.assert_array_equal(again.relevance(), subject(name).relevance())


@generative
@pytest.mark.parametrize("number", NUMBERS)
def test_a_loaded_model_gives_identical_numbers(name, number, tmp_path):
    again = ClickModel.load(saved(subject(name), tmp_path))
    np.testing.assert_array_equal(NUMBERS[number](again), NUMBERS[number](subject(name)))


@every_model
@pytest.mark.parametrize("attribute", ["__class__", "name", "fingerprint", "max_slots"])
def test_a_loaded_model_has_the_same(name, attribute, tmp_path):
    again = ClickModel.load(saved(subject(name), tmp_path))
    assert getattr(again, attribute) == getattr(subject(name), attribute)


def test_modes_of_a_loaded_cocm_are_the_same_to_the_last_bit(tmp_path):
    for seed in range(30):
        modes = np.random.default_rng(seed).dirichlet(np.ones(3))
        model = clickmodels.CoCM(TABLE, modes=modes)
        assert ClickModel.load(saved(model, tmp_path)).modes == model.modes


def test_which_documents_a_model_has_seen_is_saved(tmp_path):
    model = random_models()["PBM"]
    model.seen = np.random.default_rng(0).random((6, 7)) < 0.5
    np.testing.assert_array_equal(ClickModel.load(saved(model, tmp_path)).seen, model.seen)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_truncated_model_file_is_named(tmp_path, share):
    path = saved(random_models()["DBN"], tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"model\.safetensors: not a whole safetensors file"):
        ClickModel.load(path)


def test_a_flipped_bit_anywhere_is_an_error_that_names_the_file(tmp_path):
    path = saved(clickmodels.PBM([[0.3, 0.6]], [1.0, 0.5]), tmp_path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        if whole[place : place + 1] == b" ":
            continue  # padding and JSON's spaces
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            ClickModel.load(path)


def test_a_missing_model_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.safetensors"):
        ClickModel.load(tmp_path / "nowhere.safetensors")


def test_a_policys_file_is_not_a_model(tmp_path):
    path = tmp_path / "policy.safetensors"
    policies.Ranker(TABLE, slots=2).save(path)
    with pytest.raises(ValueError, match=r"policy\.safetensors: holds a policy, not a click model"):
        ClickModel.load(path)


def test_a_file_with_an_unknown_name_is_refused_by_name(tmp_path):
    path = tmp_path / "strange.safetensors"
    header = {"name": "Strange", "settings": {}, "fingerprint": None}
    save_arrays(path, "click model", header, {"attractiveness": TABLE})
    with pytest.raises(ValueError, match=r"strange\.safetensors: unknown click model 'Strange'"):
        ClickModel.load(path)


def test_a_file_whose_parameters_are_bad_is_named(tmp_path):
    path = tmp_path / "odd.safetensors"
    header = {"name": "CoCM", "settings": {"modes": [1.0, 1.0, 1.0]}, "fingerprint": None}
    save_arrays(path, "click model", header, {"attractiveness": TABLE})
    with pytest.raises(ValueError, match=r"odd\.safetensors: .*modes"):
        ClickModel.load(path)


def test_a_foreign_safetensors_file_is_named(tmp_path):
    from safetensors.numpy import save_file

    save_file({"attractiveness": TABLE}, tmp_path / "foreign.safetensors")
    with pytest.raises(ValueError, match=r"foreign\.safetensors: .* not one that clickgym wrote"):
        ClickModel.load(tmp_path / "foreign.safetensors")


def test_a_failed_save_leaves_the_old_model(tmp_path, monkeypatch):
    path = saved(random_models()["PBM"], tmp_path)
    before = path.read_bytes()

    def fail(arrays, where, metadata):
        where.write_bytes(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr("clickgym.common.storage.save_file", fail)
    with pytest.raises(OSError, match="no space"):
        random_models()["DBN"].save(path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [before]


# Models of one's own


@pytest.fixture
def own_registry(monkeypatch):
    """Names that a test registers are forgotten after it."""
    monkeypatch.setattr(registry, "_CLASSES", dict(registry._CLASSES))


class Tiring(ClickModel):
    """Each click halves the attractiveness of what follows: depends on the whole prefix."""

    def __init__(self, attractiveness, fatigue=0.5):
        self.attractiveness = np.asarray(attractiveness)
        self.fatigue = fatigue

    def relevance(self):
        return self.attractiveness

    def conditional_click_probs(self, query, ranking, clicks):
        query, ranking, clicks = self.checked_clicks(query, ranking, clicks)
        before = np.cumsum(clicks, axis=1) - clicks
        values = np.where(ranking >= 0, self.attractiveness[query[:, None], ranking], 0.0)
        return values * self.fatigue**before

    def state(self):
        return {"attractiveness": self.attractiveness, "fatigue": self.fatigue}


class Popular(ClickModel):
    """Ranks, and can do nothing else."""

    capabilities = frozenset({"rank"})

    def relevance(self):
        return TABLE


OWN = Tiring(np.random.default_rng(5).random((6, 7)))


def tiring_joint(clicks, values):
    prob, factor = 1.0, 1.0
    for click, value in zip(clicks, values, strict=True):
        prob *= value * factor if click else 1 - value * factor
        factor *= 0.5 if click else 1.0
    return prob


def own_joint(page):
    query, ranking = PAGES[page]
    values = [OWN.attractiveness[query, document] if document >= 0 else 0 for document in ranking]
    return np.array([tiring_joint(clicks, values) for clicks in VECTORS.tolist()])


@every_page
def test_an_own_models_log_likelihood_follows_from_its_conditionals(page):
    np.testing.assert_allclose(joint(OWN, page), own_joint(page), atol=1e-14)


@every_page
def test_an_own_models_click_probs_follow_from_its_conditionals(page):
    got = OWN.click_probs(*repeated(page, 1))[0]
    np.testing.assert_allclose(got, own_joint(page) @ VECTORS, atol=1e-14)


@every_page
@pytest.mark.parametrize("sampler", ["sample", "sample_page"])
def test_an_own_models_samples_follow_from_its_conditionals(page, sampler):
    clicks = SAMPLERS[sampler](OWN, page, 10_000 if sampler == "sample" else 1000)
    assert fit_p_value(clicks, own_joint(page)) > ALPHA


def test_an_own_models_shape_follows_from_its_relevance():
    assert OWN.shape == (6, 7)


def test_an_own_model_is_saved_and_loaded_once_registered(own_registry, tmp_path):
    clickmodels.register("Tiring")(Tiring)
    again = ClickModel.load(saved(OWN, tmp_path))
    assert type(again) is Tiring
    np.testing.assert_array_equal(joint(again, "full"), joint(OWN, "full"))


def test_an_own_model_that_is_not_registered_cannot_be_saved(monkeypatch, tmp_path):
    monkeypatch.setattr(Tiring, "name", "")
    with pytest.raises(ValueError, match="unknown click model"):
        OWN.save(tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_a_subclass_that_is_not_registered_is_not_saved_as_its_parent(tmp_path):
    class Patient(clickmodels.PBM):
        pass

    with pytest.raises(ValueError, match="Patient is not registered"):
        Patient(TABLE, [1.0]).save(tmp_path / "model.safetensors")


@pytest.mark.parametrize("slots", [1, 13, 14])
def test_click_probs_by_prefixes_are_exact_up_to_fourteen_slots(slots):
    model = Tiring(np.full((1, 14), 0.5), fatigue=1.0)
    got = model.click_probs([0], [np.arange(slots)])
    np.testing.assert_allclose(got, np.full((1, slots), 0.5), atol=1e-12)


def test_click_probs_by_prefixes_beyond_fourteen_slots_are_not_exact():
    model = Tiring(np.full((1, 15), 0.5))
    with pytest.raises(NotExact, match="14 slots, not 15"):
        model.click_probs([0], [np.arange(15)])


def test_click_probs_by_prefixes_are_the_same_for_many_pages_as_for_few(monkeypatch):
    monkeypatch.setattr("clickgym.clickmodels.pages._PREFIX_ROWS", 16)  # two pages at a time
    query, ranking = all_pages()
    expected = [own_joint(page) @ VECTORS for page in PAGES]
    np.testing.assert_allclose(OWN.click_probs(query, ranking), expected, atol=1e-14)


def test_a_model_beyond_the_prefix_limit_can_be_estimated():
    model = Tiring(np.full((1, 20), 0.5), fatigue=1.0)
    probs, stderr = model.estimate_click_probs([0], [np.arange(20)], 400, np.random.default_rng(0))
    assert (np.abs(probs - 0.5) < 4 * stderr).all()


@pytest.mark.parametrize("method", ["log_likelihood", "sample", "click_probs", "expected_clicks"])
def test_a_model_that_only_ranks_is_not_capable_of(method):
    arguments = {
        "log_likelihood": ([0], [[0]], [[False]]),
        "sample": ([0], [[0]], np.random.default_rng(0)),
    }
    with pytest.raises(NotCapable, match="Popular is not generative: only rank"):
        getattr(Popular(), method)(*arguments.get(method, ([0], [[0]])))


def test_a_model_that_only_ranks_has_no_conditionals():
    with pytest.raises(NotCapable, match="Popular does not define conditional_click_probs"):
        Popular().conditional_click_probs([0], [[0]], [[False]])


def test_a_model_that_only_ranks_cannot_be_estimated():
    with pytest.raises(NotCapable, match="Popular is not generative"):
        Popular().estimate_click_probs([0], [[0]], 10, np.random.default_rng(0))


def test_a_model_without_fit_cannot_be_fitted():
    with pytest.raises(NotCapable, match="Popular does not define fit"):
        Popular.fit(None, None)


# The registry


def test_a_name_cannot_be_taken_by_another_class(own_registry):
    with pytest.raises(ValueError, match=r"'PBM' is taken by clickgym\.clickmodels\.pbm\.PBM"):
        clickmodels.register("PBM")(Tiring)


def test_a_name_cannot_be_taken_by_a_class_of_the_same_name_elsewhere(own_registry):
    other = type("PBM", (ClickModel,), {})
    with pytest.raises(ValueError, match="'PBM' is taken"):
        clickmodels.register("PBM")(other)


def test_a_refused_class_leaves_the_name_as_it_was(own_registry):
    with pytest.raises(ValueError, match="taken"):
        clickmodels.register("PBM")(Tiring)
    assert registry.registered_class("PBM") is clickmodels.PBM


def test_a_class_made_again_replaces_itself(own_registry):
    def cell():
        class Mine(ClickModel):
            pass

        return clickmodels.register("Mine")(Mine)

    cell()
    second = cell()
    assert registry.registered_class("Mine") is second


def test_registering_gives_the_class_its_name(own_registry):
    class Named(ClickModel):
        pass

    clickmodels.register("Very Named")(Named)
    assert Named.name == "Very Named"


def test_an_unknown_class_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown click model 'pbm'; known: .*PBM"):
        registry.registered_class("pbm")


@generative
@every_page
def test_scores_of_columns_are_expected_clicks(name, page):
    model = subject(name)
    query, ranking = (np.asarray(part) for part in repeated(page, 2))
    expected = ClickModel.click_probs(model, query, ranking).sum(axis=1)
    got = model.score_columns(query, np.ascontiguousarray(ranking.T))
    np.testing.assert_allclose(got, expected, atol=1e-12)


@every_model
def test_pickling_keeps_numbers_and_read_only_tables(name):
    model = subject(name)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.relevance(), model.relevance())
    assert not again.relevance().flags.writeable
