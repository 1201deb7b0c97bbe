"""The contract of click models: what holds for every one, whoever wrote it.

``check_model`` takes a model, ``check_fits`` a registered name and a way to fit it. The tests run
both over the whole registry; run them on a model of your own, too.
"""

from __future__ import annotations

import copy
import functools
import itertools
import pickle

import numpy as np
import pytest
from conftest import SLOTS, small_world
from judging import random_log, repeated
from scipy.stats import chisquare

from clickgym import clickmodels
from clickgym.clickmodels import ClickModel, fitting
from clickgym.clickmodels.cells import all_clicks
from clickgym.clickmodels.registry import registered_class
from clickgym.common.random import Uniforms
from clickgym.data import ClickLog

K = 4
# Some 300 tests of fit are run over the registry: at 1e-3 each, one of them would fail by chance
# in about a quarter of all random streams.
ALPHA = 1e-4
VECTORS = np.array(list(itertools.product([False, True], repeat=K)))
PAGES = {  # queries 0 and 1 of the short world have candidates 0, 1 and 0, 1, 2
    "full": (3, [4, 1, 0, 6]),
    "three": (1, [1, 2, 0, -1]),
    "two": (0, [0, 1, -1, -1]),
    "one": (5, [1, -1, -1, -1]),
    "empty": (2, [-1, -1, -1, -1]),
}


def many(page, n):
    """The page ``n`` times: query (n,) and ranking (n, K)."""
    query, ranking = PAGES[page]
    return np.full(n, query), np.tile(ranking, (n, 1))


def all_pages():
    """One row for each of PAGES."""
    query, ranking = zip(*PAGES.values(), strict=True)
    return np.array(query), np.array(ranking)


def joint(model, page):
    """P(clicks) of all 2^K click vectors, in the order of VECTORS."""
    return np.exp(model.log_likelihood(*many(page, len(VECTORS)), VECTORS))


def conditionals(model, page):
    """The conditionals of all 2^K click vectors."""
    return model.conditional_click_probs(*many(page, len(VECTORS)), VECTORS)


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


# The joint and what follows from it: for models that are generative


def check_joint_sums_to_one(model):
    """Over all click vectors."""
    for page in PAGES:
        total = joint(model, page).sum()
        assert total == pytest.approx(1.0, abs=1e-12), (
            f"P(clicks) of all click vectors of the page {page!r} sums to {total}, not to 1"
        )


def check_click_probs_are_sums_of_the_joint(model):
    """And what the base class derives agrees."""
    for page in PAGES:
        expected = joint(model, page) @ VECTORS
        got = model.click_probs(*many(page, 1))[0]
        np.testing.assert_allclose(got, expected, atol=1e-12, err_msg=page)
        base = ClickModel.click_probs(model, *many(page, 1))[0]
        np.testing.assert_allclose(base, got, atol=1e-12, err_msg=page)


def check_conditionals_multiply_to_the_joint(model):
    """So does the log-likelihood that the base class derives from them."""
    for page in PAGES:
        probs = conditionals(model, page)
        product = np.where(VECTORS, probs, 1 - probs).prod(axis=1)
        np.testing.assert_allclose(product, joint(model, page), atol=1e-12, err_msg=page)
        base = ClickModel.log_likelihood(model, *many(page, len(VECTORS)), VECTORS)
        np.testing.assert_allclose(np.exp(base), joint(model, page), atol=1e-12, err_msg=page)


def check_conditionals_are_ratios_of_the_joint(model):
    """P(C_k = 1 | prefix) = P(prefix, C_k = 1) / P(prefix), and 0 where the prefix cannot be."""
    for page in PAGES:
        probs, got = joint(model, page), conditionals(model, page)
        for slot in range(K):
            same_prefix = (VECTORS[:, None, :slot] == VECTORS[None, :, :slot]).all(axis=2)
            before, click = same_prefix @ probs, same_prefix @ (probs * VECTORS[:, slot])
            possible = before > 1e-15
            expected = np.where(possible, click / np.where(possible, before, 1.0), 0.0)
            np.testing.assert_allclose(got[:, slot], expected, atol=1e-9, err_msg=page)


def _assert_reads_only(model, n_after):
    """Assert that the conditional of slot k does not change with clicks from k + n_after on."""
    for page in PAGES:
        got = conditionals(model, page)
        for slot in range(K):
            read = VECTORS.copy()
            read[:, slot + n_after :] = False
            alone = model.conditional_click_probs(*many(page, len(VECTORS)), read)
            np.testing.assert_allclose(got[:, slot], alone[:, slot], atol=1e-12, err_msg=page)


def check_conditionals_do_not_look_at_the_click_that_they_predict(model):
    """Nor at later ones."""
    _assert_reads_only(model, n_after=0)


def check_expected_clicks_are_the_sum_of_click_probs(model):
    """And so are the scores of pages laid out slot by slot."""
    expected = model.click_probs(*all_pages()).sum(axis=1)
    np.testing.assert_allclose(model.expected_clicks(*all_pages()), expected, atol=1e-12)
    for page in PAGES:
        query, ranking = many(page, 2)
        expected = ClickModel.click_probs(model, query, ranking).sum(axis=1)
        got = model.score_columns(query, np.ascontiguousarray(ranking.T))
        np.testing.assert_allclose(got, expected, atol=1e-12, err_msg=page)


def check_what_stands_below_changes_nothing_above_if_the_model_reads_down(model):
    """Neither clicks that are expected, nor those given a prefix."""
    if not model.reads_down:
        return
    query, ranking = many("full", len(VECTORS))
    probs, given = model.click_probs(query, ranking), conditionals(model, "full")
    for slot in range(1, K):
        for below in (-1, np.setdiff1d(np.arange(7), ranking[0])[: K - slot][::-1]):
            page = ranking.copy()
            page[:, slot:] = below
            other = model.click_probs(query, page)[:, :slot]
            np.testing.assert_allclose(other, probs[:, :slot], atol=1e-12)
            other = model.conditional_click_probs(query, page, VECTORS)[:, :slot]
            np.testing.assert_allclose(other, given[:, :slot], atol=1e-12)


def check_a_batch_gives_what_its_pages_give_alone(model):
    """Whatever integers the pages are made of."""
    query, ranking = all_pages()
    alone = [model.click_probs([q], [r])[0] for q, r in zip(query, ranking, strict=True)]
    np.testing.assert_allclose(model.click_probs(query, ranking), alone, atol=1e-15)
    narrow = model.click_probs(query.astype(np.int32), ranking.astype(np.int16))
    np.testing.assert_array_equal(narrow, model.click_probs(query, ranking))


# Sampling


def by_sample(model, page, n):
    """Clicks (n, K) of the page by ``sample``."""
    return model.sample(*many(page, n), np.random.default_rng(0))


def by_sample_page(model, page, n):
    """Clicks (n, K) of the page by ``sample_page``."""
    query, ranking = PAGES[page]
    uniforms = Uniforms(np.random.default_rng(1))
    return np.array([model.sample_page(query, ranking, uniforms) for _ in range(n)])


def by_base_class(model, page, n):
    """Clicks (n, K) of the page by what the base class derives from the conditionals."""
    query, ranking = many(page, n)
    return ClickModel.sample_columns(model, query, ranking.T, np.random.default_rng(2)).T


SAMPLERS = {"sample": by_sample, "sample_page": by_sample_page, "base class": by_base_class}


def check_sampled_clicks_fit_the_joint(model):
    """By all ways to sample."""
    for (name, sampler), page in itertools.product(SAMPLERS.items(), PAGES):
        clicks = sampler(model, page, 3000 if name == "sample_page" else 10_000)
        assert fit_p_value(clicks, joint(model, page)) > ALPHA, (
            f"clicks drawn by {name} on the page {page!r} do not follow exp(log_likelihood)"
        )


def check_pages_of_one_batch_are_sampled_each_from_its_own_joint(model):
    """Full and short pages side by side: the short ones must not disturb the others."""
    pages = list(PAGES)
    query, ranking = (np.tile(part, (4000, 1)[: part.ndim]) for part in all_pages())
    clicks = model.sample(query, ranking, np.random.default_rng(3))
    for index, page in enumerate(pages):
        assert fit_p_value(clicks[index :: len(pages)], joint(model, page)) > ALPHA, (
            f"clicks of the page {page!r}, drawn beside other pages, do not follow its own joint"
        )


def check_empty_slots_are_never_clicked(model):
    """They have probability 0, are impossible to click, and are not clicked in samples."""
    for name, sampler in SAMPLERS.items():
        assert not sampler(model, "two", 500)[:, 2:].any(), f"{name} clicks on an empty slot"
    query, ranking = all_pages()
    empty = model.click_probs(query, ranking)[ranking < 0]
    assert (empty == 0).all(), "click_probs of an empty slot (-1) must be 0"
    impossible = VECTORS[:, 2:].any(axis=1)
    got = model.log_likelihood(*many("two", len(VECTORS)), VECTORS)
    assert (got[impossible] == -np.inf).all(), "a click on an empty slot must be impossible: -inf"


def check_samples_are_booleans_laid_out_like_the_ranking(model):
    """Also those of single pages, and of none."""
    query, ranking = all_pages()
    clicks = model.sample(query, ranking, np.random.default_rng(0))
    assert (clicks.dtype, clicks.shape) == (np.bool_, ranking.shape), (
        f"sample must return booleans of shape {ranking.shape}, not {clicks.dtype} {clicks.shape}"
    )
    page = model.sample_page(*PAGES["full"], Uniforms(np.random.default_rng(0)))
    assert {type(click) for click in page} == {bool}, "sample_page must return a list of bool"
    no_pages = np.zeros(0, dtype=int), np.zeros((0, K), dtype=int)
    none = model.sample(*no_pages, np.random.default_rng(0))
    assert none.shape == (0, K), f"no pages have clicks of shape (0, {K}), not {none.shape}"


def check_the_same_seed_gives_the_same_clicks(model):
    """By all ways to sample."""
    for name, sampler in SAMPLERS.items():
        first, second = (sampler(model, "full", 100) for _ in range(2))
        np.testing.assert_array_equal(first, second, err_msg=name)


def check_estimates_are_those_of_means(model):
    """Within a few standard errors of the exact values, and with a mean's standard error."""
    exact = model.click_probs(*all_pages())
    rng = np.random.default_rng(0)
    estimate, _ = model.estimate_click_probs(*all_pages(), 1000, rng)
    near = np.abs(estimate - exact) <= 4.0 * np.sqrt(exact * (1 - exact) / 1000) + 1e-12
    assert near.all(), f"the estimates {estimate} are far from click_probs, {exact}"
    probs, stderr = model.estimate_click_probs(*all_pages(), 50, np.random.default_rng(0))
    np.testing.assert_allclose(stderr, np.sqrt(probs * (1 - probs) / 49))


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
BAD_CLICKS = {
    "slots": [[0, 1, 0]],
    "rows": [[0, 1], [0, 0]],
    "1d": [0, 1],
    "two": [[0, 2]],
    "nan": [[0, np.nan]],
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


def _assert_names(argument, ask, case):
    """Assert that ``ask()`` raises an error that begins with the name of the argument."""
    try:
        with pytest.raises(ValueError, match=rf"^{argument}\b"):
            ask()
    except BaseException as error:
        error.add_note(f"in the case {case}")
        raise


def check_a_bad_page_is_named(model):
    """In whatever is asked about it."""
    for (bad, (argument, query, ranking)), (method, ask) in itertools.product(
        BAD_PAGES.items(), ASK.items()
    ):
        _assert_names(argument, functools.partial(ask, model, query, ranking), (bad, method))


def check_bad_clicks_are_named(model):
    """Of the wrong shape or no truth values."""
    for (bad, clicks), method in itertools.product(
        BAD_CLICKS.items(), ("conditional_click_probs", "log_likelihood")
    ):
        ask = functools.partial(getattr(model, method), [0], [[0, 1]], clicks)
        _assert_names("clicks", ask, (bad, method))


# Sharing and saving


def check_parameters_do_not_follow_the_callers_arrays(model):
    """What the caller does with an array after giving it changes nothing."""
    state = {
        key: value.copy() if isinstance(value, np.ndarray) else value
        for key, value in model.state().items()
    }
    again = type(model).from_state(**state)
    for value in state.values():
        if isinstance(value, np.ndarray):
            value[:] = 0.123
    words = "the model changed with the caller's array: copy it (np.array, not np.asarray)"
    np.testing.assert_array_equal(again.relevance(), model.relevance(), err_msg=words)
    found, expected = (one.click_probs(*all_pages()) for one in (again, model))
    np.testing.assert_array_equal(found, expected, err_msg=words)


def check_a_loaded_model_gives_identical_numbers(model, path):
    """To the last bit, samples included."""
    model.save(path)
    again = ClickModel.load(path)
    for what, number in {
        "click_probs": lambda one: one.click_probs(*all_pages()),
        "conditional_click_probs": lambda one: conditionals(one, "full"),
        "log_likelihood": lambda one: one.log_likelihood(*many("full", len(VECTORS)), VECTORS),
        "sample": lambda one: by_sample(one, "full", 1000),
        "sample_page": lambda one: by_sample_page(one, "full", 200),
    }.items():
        words = f"{what} of the loaded model is not what it was before saving: see state()"
        np.testing.assert_array_equal(number(again), number(model), err_msg=words)


# For models that are conditional, and for all


def check_conditionals_do_not_look_at_later_clicks(model):
    """But perhaps at the click itself."""
    _assert_reads_only(model, n_after=1)


def check_empty_slots_have_conditional_zero(model):
    """And no pages have no conditionals."""
    empty = conditionals(model, "two")[:, 2:]
    assert (empty == 0).all(), "conditional_click_probs of an empty slot (-1) must be 0"
    no_pages = np.zeros(0, dtype=int), np.zeros((0, K), dtype=int)
    got = model.conditional_click_probs(*no_pages, np.zeros((0, K), dtype=bool))
    assert got.shape == (0, K), f"no pages have conditionals of shape (0, {K}), not {got.shape}"


def check_shape_and_capabilities(model):
    """Relevance has the world's shape; capabilities are known; another shape is refused."""
    assert model.relevance().shape == model.shape == (6, 7), (
        f"relevance() has shape {model.relevance().shape} and the model {model.shape}; both must "
        "be 6 queries of 7 documents, those of the small world"
    )
    known = {"rank", "conditional", "generative"}
    assert model.capabilities <= known, f"capabilities beyond {sorted(known)}"
    with pytest.raises(ValueError, match=r"for 6 queries of 7|another world"):
        model.check_world(small_world(n_docs=8))


def check_an_unknown_parameter_is_an_error(model):
    """Of the constructor."""
    with pytest.raises(TypeError, match="patience"):
        type(model).from_state(**model.state(), patience=1)


def check_copies_are_the_same_object(model):
    """Models are shared; a pickled one keeps its numbers, and its tables stay read-only."""
    assert copy.copy(model) is copy.deepcopy(model) is model, "a copy must be the model itself"
    again = pickle.loads(pickle.dumps(model))
    words = "relevance() of the pickled model is another"
    np.testing.assert_array_equal(again.relevance(), model.relevance(), err_msg=words)
    assert not again.relevance().flags.writeable, "a pickled model's tables must stay read-only"


def check_a_loaded_model_is_the_same(model, path):
    """It has the same class, name, world and longest page, and ranks alike."""
    model.save(path)
    again = ClickModel.load(path)
    for attribute in ("__class__", "name", "fingerprint", "max_slots"):
        found, expected = getattr(again, attribute), getattr(model, attribute)
        assert found == expected, f"{attribute} was {expected}, and is {found} once loaded"
    words = "relevance() of the loaded model is another: see state()"
    np.testing.assert_array_equal(again.relevance(), model.relevance(), err_msg=words)


GENERATIVE_CHECKS = (
    check_joint_sums_to_one,
    check_click_probs_are_sums_of_the_joint,
    check_conditionals_multiply_to_the_joint,
    check_conditionals_are_ratios_of_the_joint,
    check_conditionals_do_not_look_at_the_click_that_they_predict,
    check_expected_clicks_are_the_sum_of_click_probs,
    check_what_stands_below_changes_nothing_above_if_the_model_reads_down,
    check_a_batch_gives_what_its_pages_give_alone,
    check_sampled_clicks_fit_the_joint,
    check_pages_of_one_batch_are_sampled_each_from_its_own_joint,
    check_empty_slots_are_never_clicked,
    check_samples_are_booleans_laid_out_like_the_ranking,
    check_the_same_seed_gives_the_same_clicks,
    check_estimates_are_those_of_means,
    check_a_bad_page_is_named,
    check_bad_clicks_are_named,
    check_parameters_do_not_follow_the_callers_arrays,
    check_a_loaded_model_gives_identical_numbers,
)
CONDITIONAL_CHECKS = (
    check_conditionals_do_not_look_at_later_clicks,
    check_empty_slots_have_conditional_zero,
)
CHECKS = (
    check_shape_and_capabilities,
    check_an_unknown_parameter_is_an_error,
    check_copies_are_the_same_object,
    check_a_loaded_model_is_the_same,
)


def choose_checks(capabilities, checks=(*GENERATIVE_CHECKS, *CONDITIONAL_CHECKS, *CHECKS)):
    """Those of the checks that a model of such capabilities has to keep."""
    needs = dict.fromkeys(GENERATIVE_CHECKS, "generative")
    needs |= dict.fromkeys(CONDITIONAL_CHECKS, "conditional")
    return tuple(check for check in checks if check not in needs or needs[check] in capabilities)


def check_model(model, tmp_path, checks=None):
    """Run the checks on a model of the small world (6 queries of 7): all that it has to keep."""
    for check in choose_checks(model.capabilities) if checks is None else checks:
        try:
            if check.__code__.co_argcount == 2:
                check(model, tmp_path / "model.safetensors")
            else:
                check(model)
        except BaseException as error:
            error.add_note(f"in {check.__name__} of {model!r}")
            raise


# Fits

SMALL = {"epochs": 1, "embedding": 4, "hidden": 4}  # of fits by mini-batches


def variants(names):
    """The ways to fit each of the names: (name, parameters)."""
    takes = {"embedding": fitting.takes_parameters, "grade": fitting.takes_grades}
    return [
        (name, parameters)
        for name in names
        for parameters in fitting.PARAMETERS
        if parameters == "table" or takes[parameters](name)
    ]


def fit_variant(variant, log, world, seed=0, **settings):
    """The model ``(name, parameters)``, trained briefly where it is trained by mini-batches."""
    name, parameters = variant
    if parameters == "embedding" or registered_class(name).network:
        settings = {**SMALL, **settings}
    return clickmodels.fit(name, log, world, seed=seed, parameters=parameters, **settings)


def assert_same_state(model, other, tolerance=0.0):
    """Assert that two models have the same parameters."""
    first, second = model.state(), other.state()
    assert first.keys() == second.keys(), "the two models have other parameters in state()"
    for key, value in first.items():
        if isinstance(value, str):
            assert value == second[key], key
        else:
            np.testing.assert_allclose(value, second[key], rtol=0, atol=tolerance, err_msg=key)


def simulate(n=60, short=False, weighted=False, user="DBN"):
    """A log of the small world."""
    world = small_world(short=short)
    return random_log(world, clickmodels.true_user(user, world), n, weighted=weighted)


def _different_lengths():
    """Pages of 0 to 5 documents."""
    log = simulate()
    kept = np.arange(SLOTS) < np.random.default_rng(0).integers(SLOTS + 1, size=len(log))[:, None]
    return ClickLog(log.query, np.where(kept, log.ranking, -1), log.clicks & kept)


def degenerate_logs():
    """Logs that leave much open, by what is odd about them."""
    log = simulate()
    query, ranking, clicks = log.query, log.ranking, log.clicks
    page, click = [[4, 0, 2, 1, 6]], [[0, 1, 0, 0, 0]]
    huge = np.where(np.arange(len(log)) == 0, 1e7, 1.0)
    return {
        "no clicks": ClickLog(query, ranking, np.zeros_like(clicks)),
        "nothing but clicks": ClickLog(query, ranking, np.ones_like(clicks)),
        "one impression": ClickLog([1], page, click),
        "one impression without a click": ClickLog([1], page, [[0] * 5]),
        "one query": ClickLog(np.full(len(log), 3), ranking, clicks),
        "one slot": ClickLog(query, ranking[:, :1], clicks[:, :1]),
        "one document": ClickLog(
            np.zeros(30, int), np.full((30, 1), 4), np.arange(30)[:, None] % 3 == 0
        ),
        "a document always clicked": ClickLog(query, ranking, clicks | (ranking == 2)),
        "different lengths": _different_lengths(),
        "weights, some of them 0": simulate(weighted=True),
        "a row of huge weight": ClickLog(query, ranking, clicks, weight=huge),
    }


def assert_valid(model, slots):
    """Assert that all the model says about full and short pages is a probability."""
    assert np.isfinite(model.relevance()).all(), "relevance() must be finite"
    clicks = all_clicks(slots)
    pages = [list(range(6, 6 - slots, -1)), [2] + [-1] * (slots - 1)]
    for query, page in itertools.product((0, 3), pages):
        asked = np.full(len(clicks), query), np.tile(page, (len(clicks), 1))
        if "conditional" in model.capabilities:
            probs = model.conditional_click_probs(*asked, clicks)
            assert ((probs >= 0) & (probs <= 1)).all(), f"conditionals must be in 0 to 1: {probs}"
        if "generative" in model.capabilities:
            total = np.exp(model.log_likelihood(*asked, clicks)).sum()
            assert total == pytest.approx(1.0, abs=1e-9), (
                f"P(clicks) of all click vectors of the page {page} sums to {total}, not to 1"
            )


def check_a_degenerate_log_gives_a_valid_model(variant):
    """All that the model then says is a probability."""
    for kind, log in degenerate_logs().items():
        try:
            assert_valid(fit_variant(variant, log, small_world()), log.slots)
        except BaseException as error:
            error.add_note(f"in the log with {kind}")
            raise


def check_a_log_without_impressions_is_refused(variant):
    """An empty log, and one of empty pages."""
    empty = ClickLog([0, 1], [[-1, -1], [-1, -1]], [[0, 0], [0, 0]])
    for log in (empty, simulate()[:0]):
        with pytest.raises(ValueError, match="no impressions"):
            fit_variant(variant, log, small_world())


def check_the_seed_decides(variant):
    """The same one gives the same model; another one another model, if the fit is random."""
    world, log = small_world(), simulate()
    first, again, other = (fit_variant(variant, log, world, seed).state() for seed in (3, 3, 4))
    assert _same(first, again), "two fits with the same seed are not equal"
    if fitting.is_random(*variant):
        assert not _same(first, other), (
            "fits with seeds 3 and 4 are equal; a fit that does not use its seed says so on its "
            'class: deterministic = frozenset({"table"})'
        )
    else:
        assert _same(first, other), (
            "fits with seeds 3 and 4 differ, but the class says that fit does not use its seed "
            "(deterministic)"
        )


def _same(first, second):
    """Whether two states are equal."""
    return first.keys() == second.keys() and all(
        np.array_equal(value, second[key]) for key, value in first.items()
    )


def check_a_weighted_row_is_a_repeated_row(variant):
    """And a compressed log gives the same model: where fits are deterministic."""
    world, log = small_world(short=True), simulate(300, short=True, weighted=True)
    model = fit_variant(variant, log, world)
    assert_same_state(model, fit_variant(variant, repeated(log), world), 1e-6)
    log = simulate(300, short=True)
    log = ClickLog(log.query, log.ranking[:, :2], log.clicks[:, :2])
    assert len(log.compress()) < 0.8 * len(log)
    model = fit_variant(variant, log.compress(), world)
    assert_same_state(model, fit_variant(variant, log, world), 1e-6)


def check_a_fitted_model_knows_its_log_and_world(variant):
    """``seen`` are the documents of rows with weight."""
    log = simulate(5)
    shown = {(int(q), int(d)) for q, page in zip(log.query, log.ranking, strict=True) for d in page}
    model = fit_variant(variant, log, small_world())
    assert {tuple(pair) for pair in np.argwhere(model.seen).tolist()} == shown, (
        "seen must be the documents that the log shows"
    )
    assert model.fingerprint == small_world().fingerprint, "the fingerprint must be the world's"
    log = ClickLog([0, 1], [[0, 1], [2, 3]], [[1, 0], [0, 1]], weight=[0.0, 1.0])
    seen = fit_variant(variant, log, small_world()).seen
    assert np.argwhere(seen).tolist() == [[1, 2], [1, 3]], "a row of weight 0 shows nothing"


def check_bad_arguments_of_a_fit_are_refused(variant):
    """Settings, parameters and logs of another world."""
    name, world, log = variant[0], small_world(), simulate()
    with pytest.raises(TypeError, match="patience"):
        fit_variant(variant, log, world, patience=3)
    match, other = f"{name} has no parameters='embedding'", "embedding"
    if fitting.takes_parameters(name):
        match, other = "parameters must be one of table, embedding", "tables"
    with pytest.raises(ValueError, match=match):
        clickmodels.fit(name, log, world, parameters=other)
    elsewhere = small_world(n_docs=8).fingerprint
    stranger = ClickLog(log.query, log.ranking, log.clicks, fingerprint=elsewhere)
    with pytest.raises(ValueError, match="the log belongs to another world"):
        fit_variant(variant, stranger, world)
    with pytest.raises(ValueError, match="belongs to another world"):
        fit_variant(variant, log, world, validation=stranger)


def check_members_know_their_bootstraps(variant):
    """Each has seen what its own bootstrap shows; together they can do what the model can."""
    world, log = small_world(), simulate(30)
    ensemble = fit_variant(variant, log, world, members=2)
    for number, member in enumerate(ensemble.members):
        weight = clickmodels.bootstrap_weights(log, clickmodels.member_seed(0, number))
        drawn = ClickLog(log.query, log.ranking, log.clicks, weight=weight)
        expected = fit_variant(variant, drawn, world).seen
        words = "a member must have seen what its own bootstrap shows"
        np.testing.assert_array_equal(member.seen, expected, err_msg=words)
    expected = registered_class(variant[0]).capabilities
    assert ensemble.capabilities == expected, "an ensemble can do what its members can"


FIT_CHECKS = (
    check_a_degenerate_log_gives_a_valid_model,
    check_a_log_without_impressions_is_refused,
    check_the_seed_decides,
    check_a_weighted_row_is_a_repeated_row,
    check_a_fitted_model_knows_its_log_and_world,
    check_bad_arguments_of_a_fit_are_refused,
    check_members_know_their_bootstraps,
)


def check_fits(variant, checks=FIT_CHECKS):
    """Run the checks on a way ``(name, parameters)`` to fit a registered model.

    A random fit to a weighted row is another draw than one to repeated rows: nothing to check.
    """
    random = fitting.is_random(*variant)
    chosen = [c for c in checks if not (random and c is check_a_weighted_row_is_a_repeated_row)]
    assert chosen, "there must be a check"
    for check in chosen:
        try:
            check(variant)
        except BaseException as error:
            error.add_note(f"in {check.__name__} of {variant}")
            raise
